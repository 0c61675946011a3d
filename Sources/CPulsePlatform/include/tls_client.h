// SPDX-License-Identifier: MIT
//
// Client-side TLS over sockets, using the system's OpenSSL. Contexts and stores are thread-safe; only one thread at a
// time may use a session.

#ifndef PULSE_TLS_CLIENT_H
#define PULSE_TLS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Whether all used functions are present: OpenSSL 1.1.1 or later. Call the functions below only after it has returned
/// true.
bool pulse_tls_client_load(void);

// MARK: Authorities

/// The authorities of a file and a directory, which contexts share: reading a system's takes twenty times as long as
/// the rest of a handshake.
struct pulse_tls_store;

/// An environment variable; NULL if it is unset or empty, or if the program runs with more privileges than its caller.
const char *pulse_tls_variable(const char *name);

/// Where OpenSSL or the distribution keeps the system's authorities. Either may become NULL.
void pulse_tls_usual_store(const char **file, const char **directory);

/// Either path may be NULL. Returns NULL if out of memory.
struct pulse_tls_store *pulse_tls_store_new(const char *file, const char *directory);
void pulse_tls_store_free(struct pulse_tls_store *store);

// MARK: Contexts

/// The settings of connections, and the sessions that new connections resume.
struct pulse_tls_context;

/// A context; NULL if out of memory.
///
/// - `minimum_minor`: 2 for TLS 1.2, 3 for TLS 1.3.
/// - `resumes`: false if every handshake must provide a verified chain.
/// - `store`: outlives the context.
struct pulse_tls_context *pulse_tls_context_new(
    int minimum_minor, bool offers_http2, bool resumes, struct pulse_tls_store *store);
void pulse_tls_context_free(struct pulse_tls_context *context);

/// Adds an authority in DER; the store no longer applies after that. Only before the first session. False if it is
/// unreadable.
bool pulse_tls_context_trust(struct pulse_tls_context *context, const void *bytes, size_t count);

/// Sets the client's certificate and key, in PKCS #12. Only before the first session. Returns the problem, or NULL.
const char *pulse_tls_context_present(
    struct pulse_tls_context *context, const void *bytes, size_t count, const char *password);

// MARK: Sessions

/// The TLS session of one connection. No function blocks, or raises SIGPIPE.
struct pulse_tls_session;

enum pulse_tls_problem {
    PULSE_TLS_NO_MEMORY,
    /// The store cannot be read.
    PULSE_TLS_NO_AUTHORITIES,
};

/// A session over a connected socket, which it does not close. NULL if there is a problem.
///
/// - `host`: the name or IP address that the server's certificate must have; without brackets, zone and final dot.
/// - `now`: ``pulse_tls_now()``, except in tests. A session of an earlier connection is resumed for 24 hours after the
///   handshake that has verified its chain, and not beyond the expiry of the server's certificate. If the handshake
///   fails with it, no earlier session of the host is resumed after that.
struct pulse_tls_session *pulse_tls_session_new(
    struct pulse_tls_context *context, const char *host, int socket, double now, enum pulse_tls_problem *problem);

/// The seconds of a clock that keeps running while the machine sleeps.
double pulse_tls_now(void);

/// Sends the close alert, if the socket has room for it. Only `pulse_tls_session_free` may follow.
void pulse_tls_session_end(struct pulse_tls_session *session);

/// Frees the session without using the socket, which may already be closed.
void pulse_tls_session_free(struct pulse_tls_session *session);

enum {
    /// The server has ended its side with the close alert.
    PULSE_TLS_CLOSED = 0,
    /// Call again after the next event of the socket, in either direction.
    PULSE_TLS_BLOCKED = -1,
    PULSE_TLS_FAILED = -2,
};

/// Continues the handshake. Returns 1 once it is complete, with a verified chain and name.
int pulse_tls_session_handshake(struct pulse_tls_session *session);

/// Returns the count of bytes, or one of the values above.
ptrdiff_t pulse_tls_session_read(struct pulse_tls_session *session, void *bytes, size_t count);

/// Sends some of the bytes. Returns their count, or one of the values above. After `PULSE_TLS_BLOCKED` the next call
/// must begin with the same bytes, since some of them may be encrypted; after fewer bytes than offered, with the rest.
/// Reads continue after a failure: a server that refuses a request may respond before it closes.
ptrdiff_t pulse_tls_session_write(struct pulse_tls_session *session, const void *bytes, size_t count);

/// Whether a part of the bytes that the last write has not reported as sent was handed to the socket, or will be.
bool pulse_tls_session_may_have_sent(const struct pulse_tls_session *session);

/// The protocol that ALPN has selected, not null-terminated; its length is 0 without one.
const unsigned char *pulse_tls_session_protocol(const struct pulse_tls_session *session, unsigned int *length);

/// Whether the handshake has resumed an earlier session.
bool pulse_tls_session_is_resumed(const struct pulse_tls_session *session);

enum { PULSE_TLS_KEY_HASH_LENGTH = 32 };

/// Writes the SHA-256 of the SubjectPublicKeyInfo of each certificate in the verified chain, leaf first. Returns the
/// number of hashes; 0 in a resumed session, which has no such chain. At most `capacity` are written.
int pulse_tls_session_key_hashes(const struct pulse_tls_session *session, uint8_t *hashes, int capacity);

/// Why a call has failed.
struct pulse_tls_failure {
    /// A code of openssl/x509_vfy.h; 0 if the chain is verified, or was not received.
    long verify_result;
    /// The latest fatal alert of the server (RFC 8446, section 6); 0 without one.
    int alert;
    /// Whether the server has requested a certificate and the client had none.
    bool lacks_certificate;
    /// The errno of the socket if it has failed; otherwise 0.
    int number;
    /// The message; NULL if `number` says it all. The text is never freed.
    const char *reason;
};

/// The reason of the latest `PULSE_TLS_FAILED`.
struct pulse_tls_failure pulse_tls_session_failure(const struct pulse_tls_session *session);

#endif
