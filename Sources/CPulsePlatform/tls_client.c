// SPDX-License-Identifier: MIT

#if defined(__linux__)

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "tls_client_abi.h"

#define ssl pulse_tls_client

enum {
    // The maximum plaintext size of a record (RFC 8446, section 5.1).
    RECORD = 16 << 10,
    // The most bytes of one write, so that a large one leaves the owner's lock to readers.
    TURN = 64 << 10,
    // The most bytes of TLS's own messages, such as tickets and key updates, between two pieces of data. A server that
    // sends more is trying to keep the client busy.
    MOST_SILENT = 128 << 10,
    // The most bytes that wait for the socket: a record, and replies to such messages.
    MOST_WAITING = 128 << 10,
};

// How long resumed sessions may rely on the verdict on a chain, in seconds: RFC 8446, section 4.6.1, allows seven days.
static const double MOST_AGE = 24 * 60 * 60;

struct pulse_tls_session {
    struct pulse_tls_context *context;
    // An `SSL *`, which owns the BIO.
    void *tls;
    int socket;
    char *host;
    // The store's change count when the session was made.
    unsigned long changes;
    // When the session was made, and when the verdict that its tickets keep expires: that of an earlier handshake if
    // one is resumed.
    double start, expiry;
    // Whether a ticket was offered, and no data was received since.
    bool is_doubtful;
    // Encrypted bytes that the socket has not accepted yet. OpenSSL itself never sees a blocked write: in the middle of
    // one it could not reply to a key update (openssl/openssl#13729).
    unsigned char *waiting;
    size_t waiting_start, waiting_end;
    // The number of bytes of a write that are encrypted, and at most sent in part.
    size_t unreturned;
    // The errno of a failed write. Later bytes are discarded, and reads continue.
    int write_error;
    int read_error;
    unsigned long sent_count;
    // The number of bytes received since the last data.
    size_t silent_count;
    // Whether the socket had nothing to read, and whether its peer has ended it.
    bool is_starved, has_ended;
    bool lacks_certificate;
    // Whether OpenSSL has given up.
    bool is_broken;
    int alert;
    struct pulse_tls_failure failure;
};

// MARK: The socket

// Sends as much as the socket accepts; returns the count.
static size_t put(struct pulse_tls_session *session, const unsigned char *bytes, size_t count) {
    size_t sent = 0;
    // Continues until the socket is full: only then does it report room later.
    while (sent < count && session->write_error == 0) {
        ssize_t result = send(session->socket, bytes + sent, count - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (result >= 0) {
            sent += (size_t)result;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            break;
        } else if (errno != EINTR) {
            session->write_error = errno;
        }
    }
    session->sent_count += sent;
    return sent;
}

static void discard(struct pulse_tls_session *session) {
    free(session->waiting);
    session->waiting = NULL;
    session->waiting_start = session->waiting_end = 0;
}

// Sends the waiting bytes. Returns whether none are left, even because the socket has failed.
static bool flush(struct pulse_tls_session *session) {
    if (session->waiting == NULL) return true;
    size_t count = session->waiting_end - session->waiting_start;
    size_t sent = put(session, session->waiting + session->waiting_start, count);
    session->waiting_start += sent;
    if (sent < count && session->write_error == 0) return false;
    discard(session);
    return true;
}

static void wait_for_room(struct pulse_tls_session *session, const char *bytes, size_t count) {
    size_t end = session->waiting_end + count;
    unsigned char *grown = end > MOST_WAITING ? NULL : realloc(session->waiting, end);
    if (grown == NULL) {
        session->write_error = ENOBUFS;
        return;
    }
    memcpy(grown + session->waiting_end, bytes, count);
    session->waiting = grown;
    session->waiting_end = end;
}

static int write_bytes(void *bio, const char *bytes, int count) {
    struct pulse_tls_session *session = ssl.BIO_get_data(bio);
    size_t sent = flush(session) ? put(session, (const unsigned char *)bytes, (size_t)count) : 0;
    if (sent < (size_t)count && session->write_error == 0) wait_for_room(session, bytes + sent, (size_t)count - sent);
    return count;
}

static int read_bytes(void *bio, char *bytes, int count) {
    struct pulse_tls_session *session = ssl.BIO_get_data(bio);
    ssl.BIO_clear_flags(bio, PULSE_BIO_FLAGS_READ | PULSE_BIO_FLAGS_SHOULD_RETRY);
    ssize_t result;
    do {
        result = recv(session->socket, bytes, (size_t)count, MSG_DONTWAIT);
    } while (result < 0 && errno == EINTR);
    if (result > 0) {
        session->silent_count += (size_t)result;
        return (int)result;
    }
    if (result == 0) {
        session->has_ended = true;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        session->is_starved = true;
        ssl.BIO_set_flags(bio, PULSE_BIO_FLAGS_READ | PULSE_BIO_FLAGS_SHOULD_RETRY);
    } else {
        session->read_error = errno;
    }
    return (int)result;
}

static long control(void *bio, int command, long number, void *pointer) {
    (void)bio, (void)number, (void)pointer;
    return command == PULSE_BIO_CTRL_FLUSH;
}

// Never freed.
static void *method;

bool pulse_tls_session_load(void) {
    int index = ssl.BIO_get_new_index();
    if (index < 0) return false;
    method = ssl.BIO_meth_new(index | PULSE_BIO_TYPE_SOURCE_SINK, "PulseKit");
    if (method == NULL) return false;
    return ssl.BIO_meth_set_write(method, write_bytes) == 1 && ssl.BIO_meth_set_read(method, read_bytes) == 1
        && ssl.BIO_meth_set_ctrl(method, control) == 1;
}

// MARK: Callbacks

// The index of the only application data.
enum { NOTES = 0 };

// Called when the server requests a certificate and the context has none: this callback provides none either.
int pulse_tls_session_note_request(void *tls, void **certificate, void **key) {
    (void)certificate, (void)key;
    struct pulse_tls_session *session = ssl.SSL_get_ex_data(tls, NOTES);
    if (session != NULL) session->lacks_certificate = true;
    return 0;
}

void pulse_tls_session_note_alert(const void *tls, int event, int value) {
    struct pulse_tls_session *session =
        event == PULSE_SSL_CB_READ_ALERT ? ssl.SSL_get_ex_data(tls, NOTES) : NULL;
    if (session != NULL && value >> 8 == PULSE_SSL3_AL_FATAL) session->alert = value & 0xff;
}

// The expiry of a ticket: no later than that of the server's certificate, since a resumed handshake sends none.
static double expiry(const struct pulse_tls_session *session, void *ticket) {
    double latest = session->start + MOST_AGE;
    if (ssl.SSL_session_reused(session->tls) == 1 && session->expiry < latest) latest = session->expiry;
    const void *certificate = ssl.SSL_SESSION_get0_peer(ticket);
    const void *end = certificate == NULL ? NULL : ssl.X509_get0_notAfter(certificate);
    int days = 0, seconds = 0;
    if (end == NULL || ssl.ASN1_TIME_diff(&days, &seconds, NULL, end) != 1) return session->start;
    double left = days * 86400.0 + seconds;
    return session->start + left < latest ? session->start + left : latest;
}

int pulse_tls_session_note_ticket(void *tls, void *ticket) {
    struct pulse_tls_session *session = ssl.SSL_get_ex_data(tls, NOTES);
    return session != NULL
        && pulse_tls_context_add(session->context, session->host, ticket, session->changes, expiry(session, ticket));
}

// MARK: Sessions

static bool is_address(const char *host) {
    unsigned char address[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

static bool expect(void *tls, const char *host) {
    void *parameters = ssl.SSL_get0_param(tls);
    unsigned int flags = PULSE_X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | PULSE_X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;
    ssl.X509_VERIFY_PARAM_set_hostflags(parameters, flags);
    if (ssl.X509_VERIFY_PARAM_set_flags(
            parameters, PULSE_X509_V_FLAG_TRUSTED_FIRST | PULSE_X509_V_FLAG_PARTIAL_CHAIN) != 1) return false;
    // An empty name would turn off the check.
    if (*host == '\0') return false;
    if (is_address(host)) return ssl.X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1;
    // RFC 6066, section 3: names only.
    return ssl.X509_VERIFY_PARAM_set1_host(parameters, host, 0) == 1
        && ssl.SSL_ctrl(tls, PULSE_SSL_CTRL_SET_TLSEXT_HOSTNAME, 0, (void *)host) == 1;
}

static bool connect_to(struct pulse_tls_session *session) {
    void *bio = ssl.BIO_new(method);
    if (bio == NULL) return false;
    ssl.BIO_set_data(bio, session);
    ssl.BIO_set_init(bio, 1);
    ssl.SSL_set_bio(session->tls, bio, bio);
    ssl.SSL_set_connect_state(session->tls);
    return ssl.SSL_set_ex_data(session->tls, NOTES, session) == 1;
}

static bool trust(struct pulse_tls_session *session, enum pulse_tls_problem *problem) {
    void *authorities = pulse_tls_context_authorities(session->context, &session->changes);
    if (authorities == NULL) {
        *problem = PULSE_TLS_NO_AUTHORITIES;
        return false;
    }
    // Takes its own reference. Contexts are shared, and the store of another session must stay.
    bool is_set = ssl.SSL_ctrl(session->tls, PULSE_SSL_CTRL_SET_VERIFY_CERT_STORE, 1, authorities) == 1;
    ssl.X509_STORE_free(authorities);
    return is_set;
}

static void resume(struct pulse_tls_session *session) {
    void *ticket = pulse_tls_context_take(
        session->context, session->host, session->changes, session->start, &session->expiry);
    if (ticket == NULL) return;
    session->is_doubtful = ssl.SSL_set_session(session->tls, ticket) == 1;
    ssl.SSL_SESSION_free(ticket);
}

// Some servers fail on a ticket that they no longer know: the next connection performs a full handshake.
static void forget_tickets(struct pulse_tls_session *session) {
    if (session->is_doubtful) pulse_tls_context_forget(session->context, session->host);
    session->is_doubtful = false;
}

double pulse_tls_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct pulse_tls_session *pulse_tls_session_new(
    struct pulse_tls_context *context, const char *host, int socket, double now, enum pulse_tls_problem *problem) {
    *problem = PULSE_TLS_NO_MEMORY;
    ssl.ERR_clear_error();
    struct pulse_tls_session *session = calloc(1, sizeof *session);
    if (session == NULL) return NULL;
    session->context = context;
    session->socket = socket;
    session->start = now;
    session->host = strdup(host);
    session->tls = ssl.SSL_new(context->context);
    if (session->host != NULL && session->tls != NULL && connect_to(session) && expect(session->tls, host)
        && trust(session, problem)) {
        resume(session);
        return session;
    }
    ssl.ERR_clear_error();
    pulse_tls_session_free(session);
    return NULL;
}

void pulse_tls_session_end(struct pulse_tls_session *session) {
    ssl.ERR_clear_error();
    if (!session->is_broken && flush(session) && ssl.SSL_is_init_finished(session->tls)) {
        ssl.SSL_shutdown(session->tls);
    }
    ssl.ERR_clear_error();
}

void pulse_tls_session_free(struct pulse_tls_session *session) {
    ssl.ERR_clear_error();
    if (session->tls != NULL) {
        // A silent server may have failed on a ticket, too.
        if (!ssl.SSL_is_init_finished(session->tls)) forget_tickets(session);
        ssl.SSL_free(session->tls);
    }
    ssl.ERR_clear_error();
    discard(session);
    free(session->host);
    free(session);
}

// Notes why OpenSSL has failed, and clears the error queue for the next function on this thread.
static int fail(struct pulse_tls_session *session, const char *reason) {
    forget_tickets(session);
    unsigned long code = ssl.ERR_peek_error();
    long result = ssl.SSL_get_verify_result(session->tls);
    int number = session->write_error != 0 ? session->write_error : session->read_error;
    if (reason == NULL && result != PULSE_X509_V_OK) reason = ssl.X509_verify_cert_error_string(result);
    if (reason == NULL && code != 0) reason = ssl.ERR_reason_error_string(code);
    if (reason == NULL && session->has_ended) reason = "the connection has ended without the close alert";
    ssl.ERR_clear_error();
    session->failure = (struct pulse_tls_failure){
        .verify_result = result, .alert = session->alert, .lacks_certificate = session->lacks_certificate,
        .number = number, .reason = reason,
    };
    return PULSE_TLS_FAILED;
}

// The meaning of an OpenSSL call that did not succeed.
static int outcome(struct pulse_tls_session *session, int result) {
    switch (ssl.SSL_get_error(session->tls, result)) {
    case PULSE_SSL_ERROR_WANT_READ: return PULSE_TLS_BLOCKED;
    case PULSE_SSL_ERROR_ZERO_RETURN: return PULSE_TLS_CLOSED;
    default:
        session->is_broken = true;
        return fail(session, NULL);
    }
}

// Whether ALPN has selected no protocol, or one that was offered; not every version of OpenSSL checks this.
static bool is_protocol_offered(const struct pulse_tls_session *session) {
    unsigned int length = 0;
    const unsigned char *protocol = pulse_tls_session_protocol(session, &length);
    if (length == 2) return session->context->offers_http2 && memcmp(protocol, "h2", 2) == 0;
    return length == 0 || (length == 8 && memcmp(protocol, "http/1.1", 8) == 0);
}

int pulse_tls_session_handshake(struct pulse_tls_session *session) {
    ssl.ERR_clear_error();
    flush(session);
    int result = ssl.SSL_do_handshake(session->tls);
    if (result != 1) {
        result = outcome(session, result);
        if (result == PULSE_TLS_CLOSED) return fail(session, "the server has closed the connection");
        // The server waits for what was discarded.
        return result == PULSE_TLS_BLOCKED && session->write_error != 0 ? fail(session, NULL) : result;
    }
    if (!is_protocol_offered(session)) return fail(session, "the server has chosen a protocol that was not offered");
    session->silent_count = 0;
    return flush(session) ? 1 : PULSE_TLS_BLOCKED;
}

ptrdiff_t pulse_tls_session_read(struct pulse_tls_session *session, void *bytes, size_t count) {
    flush(session);
    if (count == 0) return PULSE_TLS_BLOCKED;
    while (session->silent_count <= MOST_SILENT) {
        ssl.ERR_clear_error();
        session->is_starved = false;
        int result = ssl.SSL_read(session->tls, bytes, count > INT_MAX ? INT_MAX : (int)count);
        if (result > 0) {
            session->silent_count = 0;
            session->is_doubtful = false;
            return result;
        }
        result = outcome(session, result);
        // Otherwise a message of TLS was read, and no event announces what follows it.
        if (result != PULSE_TLS_BLOCKED || session->is_starved) return result;
    }
    session->is_broken = true;
    return fail(session, "the server sends messages of TLS without data");
}

// Encrypts and sends a record. Returns the result of OpenSSL, and notes bytes that are neither sent nor unsent.
static int write_record(struct pulse_tls_session *session, const unsigned char *bytes, size_t count) {
    unsigned long earlier = session->sent_count;
    ssl.ERR_clear_error();
    int result = ssl.SSL_write(session->tls, bytes, count > RECORD ? RECORD : (int)count);
    bool is_begun = session->waiting != NULL || (session->write_error != 0 && session->sent_count != earlier);
    if (result > 0 && is_begun) session->unreturned = (size_t)result;
    return result;
}

ptrdiff_t pulse_tls_session_write(struct pulse_tls_session *session, const void *bytes, size_t count) {
    if (!flush(session)) return PULSE_TLS_BLOCKED;
    size_t done = 0;
    if (session->write_error == 0) {
        done = session->unreturned;
        session->unreturned = 0;
    }
    while (done < count && done < TURN && session->write_error == 0 && session->unreturned == 0) {
        int result = write_record(session, (const unsigned char *)bytes + done, count - done);
        if (result <= 0) {
            if (done > 0) break;
            result = outcome(session, result);
            return result == PULSE_TLS_CLOSED ? fail(session, NULL) : result;
        }
        if (session->write_error == 0 && session->unreturned == 0) done += (size_t)result;
    }
    if (done > 0) return (ptrdiff_t)done;
    return session->write_error != 0 ? fail(session, NULL) : PULSE_TLS_BLOCKED;
}

bool pulse_tls_session_may_have_sent(const struct pulse_tls_session *session) { return session->unreturned > 0; }

const unsigned char *pulse_tls_session_protocol(const struct pulse_tls_session *session, unsigned int *length) {
    const unsigned char *protocol = NULL;
    ssl.SSL_get0_alpn_selected(session->tls, &protocol, length);
    return protocol;
}

bool pulse_tls_session_is_resumed(const struct pulse_tls_session *session) {
    return ssl.SSL_session_reused(session->tls) == 1;
}

static bool hash_key(const void *certificate, uint8_t *hash) {
    unsigned char *encoded = NULL;
    int length = ssl.i2d_X509_PUBKEY(ssl.X509_get_X509_PUBKEY(certificate), &encoded);
    if (length <= 0 || encoded == NULL) return false;
    bool is_hashed = ssl.EVP_Digest(encoded, (size_t)length, hash, NULL, ssl.EVP_sha256(), NULL) == 1;
    ssl.CRYPTO_free(encoded, __FILE__, __LINE__);
    return is_hashed;
}

int pulse_tls_session_key_hashes(const struct pulse_tls_session *session, uint8_t *hashes, int capacity) {
    if (ssl.SSL_get_verify_result(session->tls) != PULSE_X509_V_OK) return 0;
    // Never uses the chain as sent by the peer: anybody can append the pinned certificate to that.
    const void *chain = ssl.SSL_get0_verified_chain(session->tls);
    if (chain == NULL) return 0;
    int count = ssl.OPENSSL_sk_num(chain);
    if (count > capacity) count = capacity;
    for (int index = 0; index < count; index++) {
        if (!hash_key(ssl.OPENSSL_sk_value(chain, index), hashes + index * PULSE_TLS_KEY_HASH_LENGTH)) return 0;
    }
    return count < 0 ? 0 : count;
}

struct pulse_tls_failure pulse_tls_session_failure(const struct pulse_tls_session *session) {
    return session->failure;
}

#endif
