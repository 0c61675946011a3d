// SPDX-License-Identifier: MIT
//
// The server's side of TLS over memory, for tests, by the libssl that libcurl has loaded: the caller carries the bytes.

#ifndef PULSE_TLS_SERVER_H
#define PULSE_TLS_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Whether all functions that are used are there. The functions below may be called only after it has given true.
bool pulse_tls_can_serve(void);

/// What a server does about the certificates of clients.
enum pulse_tls_clients {
    /// Asks for none.
    PULSE_TLS_CLIENTS_IGNORED,
    /// Asks, and takes a client without one.
    PULSE_TLS_CLIENTS_REQUESTED,
    /// Asks, and refuses a client without one.
    PULSE_TLS_CLIENTS_REQUIRED,
};

struct pulse_tls_server_settings {
    /// PEM, each with a NUL at its end: the server's certificate with the chain behind it, its key, and the authorities
    /// of clients.
    const char *certificates, *key, *client_authorities;
    enum pulse_tls_clients clients;
    /// 2 for TLS 1.2, 3 for TLS 1.3.
    int minimum_minor, maximum_minor;
};

/// What the connections of a server share; thread-safe.
struct pulse_tls_server;

/// NULL for what is unreadable, with the name of that setting in `problem`.
struct pulse_tls_server *pulse_tls_server_new(const struct pulse_tls_server_settings *settings, const char **problem);
void pulse_tls_server_free(struct pulse_tls_server *server);

/// The TLS of one connection, for one thread at a time.
struct pulse_tls_stream;

/// NULL without memory. Outlives the server.
struct pulse_tls_stream *pulse_tls_stream_new(struct pulse_tls_server *server);
void pulse_tls_stream_free(struct pulse_tls_stream *stream);

/// Takes in what has come from the client; false without memory.
bool pulse_tls_stream_feed(struct pulse_tls_stream *stream, const void *bytes, size_t count);

/// Takes out what is to be sent to the client; 0 if there is nothing.
size_t pulse_tls_stream_take(struct pulse_tls_stream *stream, void *bytes, size_t capacity);

enum {
    /// There is nothing to be read before more has come.
    PULSE_TLS_STREAM_EMPTY = 0,
    /// The client has ended its side with a closure alert.
    PULSE_TLS_STREAM_ENDED = -1,
    /// The client has sent an alert.
    PULSE_TLS_STREAM_REFUSED = -2,
    /// The handshake or a record is not in order.
    PULSE_TLS_STREAM_FAILED = -3,
};

/// Goes on with the handshake, or decrypts: gives the count of bytes, or one of the values above.
int pulse_tls_stream_read(struct pulse_tls_stream *stream, void *bytes, size_t capacity);

/// Whether the handshake is over, so that bytes can be written.
bool pulse_tls_stream_is_established(struct pulse_tls_stream *stream);

/// Encrypts all bytes, of which there must be some.
bool pulse_tls_stream_write(struct pulse_tls_stream *stream, const void *bytes, size_t count);

/// Ends the sending side with a closure alert, if the handshake is over.
void pulse_tls_stream_end(struct pulse_tls_stream *stream);

/// What has failed, in OpenSSL's words.
const char *pulse_tls_stream_problem(const struct pulse_tls_stream *stream);

#endif
