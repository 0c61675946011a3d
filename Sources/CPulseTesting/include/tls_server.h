// SPDX-License-Identifier: MIT
//
// Server-side TLS over memory buffers, for tests, by the system's libssl: the caller transports the bytes.

#ifndef PULSE_TLS_SERVER_H
#define PULSE_TLS_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Whether all used functions are present. Call the functions below only after it has returned true.
bool pulse_tls_can_serve(void);

/// How a server handles client certificates.
enum pulse_tls_clients {
    /// Requests none.
    PULSE_TLS_CLIENTS_IGNORED,
    /// Requests one, and accepts a client without one.
    PULSE_TLS_CLIENTS_REQUESTED,
    /// Requests one, and rejects a client without one.
    PULSE_TLS_CLIENTS_REQUIRED,
};

struct pulse_tls_server_settings {
    /// NUL-terminated PEM: the server's certificate followed by its chain, its key, and the authorities of clients.
    const char *certificates, *key, *client_authorities;
    enum pulse_tls_clients clients;
    /// 2 for TLS 1.2, 3 for TLS 1.3.
    int minimum_minor, maximum_minor;
    /// The protocol that ALPN selects, whatever the client offers; NULL to select none. It is not copied.
    const char *alpn;
};

/// The state shared by a server's connections; thread-safe.
struct pulse_tls_server;

/// NULL for a refused setting, whose name is then in `problem`, or if out of memory.
struct pulse_tls_server *pulse_tls_server_new(const struct pulse_tls_server_settings *settings, const char **problem);
void pulse_tls_server_free(struct pulse_tls_server *server);

/// Makes ALPN select this protocol for clients that offer it, and none for others. It is not copied. Call it before the
/// first connection.
void pulse_tls_server_prefer(struct pulse_tls_server *server, const char *protocol);

/// The TLS of one connection, for one thread at a time.
struct pulse_tls_stream;

/// NULL if out of memory. It may outlive the server.
struct pulse_tls_stream *pulse_tls_stream_new(struct pulse_tls_server *server);
void pulse_tls_stream_free(struct pulse_tls_stream *stream);

/// Consumes bytes from the client; false if out of memory.
bool pulse_tls_stream_feed(struct pulse_tls_stream *stream, const void *bytes, size_t count);

/// Copies bytes to send to the client; returns their count.
size_t pulse_tls_stream_take(struct pulse_tls_stream *stream, void *bytes, size_t capacity);

enum {
    /// Nothing to read until more bytes arrive.
    PULSE_TLS_STREAM_EMPTY = 0,
    /// The client has ended its side with a close alert.
    PULSE_TLS_STREAM_ENDED = -1,
    /// The client has sent an alert.
    PULSE_TLS_STREAM_REFUSED = -2,
    /// The handshake or a record is invalid.
    PULSE_TLS_STREAM_FAILED = -3,
};

/// Continues the handshake, or decrypts. Returns the number of bytes, or one of the values above.
int pulse_tls_stream_read(struct pulse_tls_stream *stream, void *bytes, size_t capacity);

/// Whether the handshake is complete, so that bytes can be written.
bool pulse_tls_stream_is_established(struct pulse_tls_stream *stream);

/// Whether ALPN has selected a protocol.
bool pulse_tls_stream_has_protocol(const struct pulse_tls_stream *stream);

/// Encrypts all bytes; the count must not be 0.
bool pulse_tls_stream_write(struct pulse_tls_stream *stream, const void *bytes, size_t count);

/// Updates the keys and asks the client to do so; in TLS 1.2, asks it to renegotiate.
bool pulse_tls_stream_renew(struct pulse_tls_stream *stream);

/// Ends the sending side with a close alert, if the handshake is complete.
void pulse_tls_stream_end(struct pulse_tls_stream *stream);

/// The failure, in OpenSSL's words.
const char *pulse_tls_stream_problem(const struct pulse_tls_stream *stream);

#endif
