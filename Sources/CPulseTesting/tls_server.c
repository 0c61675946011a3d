// SPDX-License-Identifier: MIT

#if defined(__linux__)

#include "tls_server.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tls_library.h"

// openssl/bio.h, openssl/err.h, openssl/evp.h, openssl/pem.h, openssl/ssl.h, openssl/x509_vfy.h of OpenSSL 1.1 and
// later; result, name, parameters.
#define PULSE_SERVER_FUNCTIONS(X) \
    X(const void *, TLS_server_method, (void)) \
    X(void *, SSL_CTX_new, (const void *)) \
    X(void, SSL_CTX_free, (void *)) \
    X(long, SSL_CTX_ctrl, (void *, int, long, void *)) \
    X(int, SSL_CTX_use_certificate, (void *, void *)) \
    X(int, SSL_CTX_use_PrivateKey, (void *, void *)) \
    X(int, SSL_CTX_check_private_key, (const void *)) \
    X(void *, SSL_CTX_get_cert_store, (const void *)) \
    X(int, SSL_CTX_add_client_CA, (void *, void *)) \
    X(void, SSL_CTX_set_verify, (void *, int, void *)) \
    X(int, SSL_CTX_set_session_id_context, (void *, const unsigned char *, unsigned int)) \
    X(void, SSL_CTX_set_security_level, (void *, int)) \
    X(void, SSL_CTX_set_alpn_select_cb, \
        (void *, \
            int (*)(void *, const unsigned char **, unsigned char *, const unsigned char *, unsigned int, void *), \
            void *)) \
    X(void, SSL_get0_alpn_selected, (const void *, const unsigned char **, unsigned int *)) \
    X(int, X509_STORE_add_cert, (void *, void *)) \
    X(void, X509_free, (void *)) \
    X(void, EVP_PKEY_free, (void *)) \
    X(void *, PEM_read_bio_X509, (void *, void **, int (*)(char *, int, int, void *), void *)) \
    X(void *, PEM_read_bio_PrivateKey, (void *, void **, int (*)(char *, int, int, void *), void *)) \
    X(void *, SSL_new, (void *)) \
    X(void, SSL_free, (void *)) \
    X(void, SSL_set_accept_state, (void *)) \
    X(void, SSL_set_bio, (void *, void *, void *)) \
    X(int, SSL_read, (void *, void *, int)) \
    X(int, SSL_write, (void *, const void *, int)) \
    X(int, SSL_shutdown, (void *)) \
    X(int, SSL_version, (const void *)) \
    X(int, SSL_key_update, (void *, int)) \
    X(int, SSL_renegotiate, (void *)) \
    X(int, SSL_do_handshake, (void *)) \
    X(int, SSL_is_init_finished, (const void *)) \
    X(int, SSL_get_error, (const void *, int)) \
    X(const void *, BIO_s_mem, (void)) \
    X(void *, BIO_new, (const void *)) \
    X(void *, BIO_new_mem_buf, (const void *, int)) \
    X(int, BIO_read, (void *, void *, int)) \
    X(int, BIO_write, (void *, const void *, int)) \
    X(int, BIO_free, (void *)) \
    X(void, ERR_clear_error, (void)) \
    X(unsigned long, ERR_peek_error, (void)) \
    X(const char *, ERR_reason_error_string, (unsigned long))

static struct {
#define PULSE_SERVER_MEMBER(result, name, parameters) result(*name) parameters;
    PULSE_SERVER_FUNCTIONS(PULSE_SERVER_MEMBER)
#undef PULSE_SERVER_MEMBER
} ssl;

// openssl/ssl.h, openssl/tls1.h
#define PULSE_SERVER_VALUES(X) \
    X(SSL_CTRL_EXTRA_CHAIN_CERT, 14) \
    X(SSL_CTRL_MODE, 33) \
    X(SSL_CTRL_SET_MIN_PROTO_VERSION, 123) \
    X(SSL_CTRL_SET_MAX_PROTO_VERSION, 124) \
    X(SSL_MODE_RELEASE_BUFFERS, 0x10) \
    X(SSL_VERIFY_PEER, 1) \
    X(SSL_VERIFY_FAIL_IF_NO_PEER_CERT, 2) \
    X(SSL_ERROR_WANT_READ, 2) \
    X(SSL_ERROR_WANT_WRITE, 3) \
    X(SSL_ERROR_ZERO_RETURN, 6) \
    X(SSL_AD_REASON_OFFSET, 1000) \
    X(SSL_KEY_UPDATE_REQUESTED, 1) \
    X(SSL_TLSEXT_ERR_OK, 0) \
    X(SSL_TLSEXT_ERR_NOACK, 3) \
    X(TLS1_VERSION, 0x0301) \
    X(TLS1_3_VERSION, 0x0304)

enum {
#define PULSE_SERVER_VALUE(name, value) PULSE_##name = value,
    PULSE_SERVER_VALUES(PULSE_SERVER_VALUE)
#undef PULSE_SERVER_VALUE
};

static bool is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
#define PULSE_SERVER_RESOLVE(result, name, parameters) \
    *(void **)&ssl.name = pulse_openssl_symbol(#name); \
    if (ssl.name == NULL) return;
    PULSE_SERVER_FUNCTIONS(PULSE_SERVER_RESOLVE)
#undef PULSE_SERVER_RESOLVE
    is_loaded = true;
}

bool pulse_tls_can_serve(void) {
    pthread_once(&once, load);
    return is_loaded;
}

// MARK: The server

struct pulse_tls_server {
    // An `SSL_CTX *`.
    void *context;
};

// Replaces OpenSSL's default, which prompts at the terminal.
static int no_password(char *buffer, int size, int is_written, void *context) {
    (void)buffer, (void)size, (void)is_written, (void)context;
    return 0;
}

typedef bool (*certificate_taker)(void *context, void *certificate, int index);

// Passes each certificate of the text to `take`, which then owns it. Returns their count; -1 if one was refused.
static int each_certificate(const char *text, certificate_taker take, void *context) {
    void *bio = ssl.BIO_new_mem_buf(text, -1);
    if (bio == NULL) return -1;
    int count = 0;
    void *certificate = NULL;
    while (count >= 0 && (certificate = ssl.PEM_read_bio_X509(bio, NULL, no_password, NULL)) != NULL) {
        count = take(context, certificate, count) ? count + 1 : -1;
    }
    ssl.BIO_free(bio);
    return count;
}

static bool show(void *context, void *certificate, int index) {
    if (index > 0) {
        // Owned by the context if it succeeds.
        if (ssl.SSL_CTX_ctrl(context, PULSE_SSL_CTRL_EXTRA_CHAIN_CERT, 0, certificate) == 1) return true;
        ssl.X509_free(certificate);
        return false;
    }
    bool is_used = ssl.SSL_CTX_use_certificate(context, certificate) == 1;
    ssl.X509_free(certificate);
    return is_used;
}

static bool trust(void *context, void *certificate, int index) {
    (void)index;
    bool is_trusted = ssl.X509_STORE_add_cert(ssl.SSL_CTX_get_cert_store(context), certificate) == 1
        && ssl.SSL_CTX_add_client_CA(context, certificate) == 1;
    ssl.X509_free(certificate);
    return is_trusted;
}

static bool use_key(void *context, const char *text) {
    void *bio = ssl.BIO_new_mem_buf(text, -1);
    if (bio == NULL) return false;
    void *key = ssl.PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);
    ssl.BIO_free(bio);
    if (key == NULL) return false;
    bool is_used = ssl.SSL_CTX_use_PrivateKey(context, key) == 1 && ssl.SSL_CTX_check_private_key(context) == 1;
    ssl.EVP_PKEY_free(key);
    return is_used;
}

static bool ask_clients(void *context, const struct pulse_tls_server_settings *settings) {
    static const unsigned char name[] = "PulseTesting";
    if (settings->clients == PULSE_TLS_CLIENTS_IGNORED) return true;
    int mode = PULSE_SSL_VERIFY_PEER;
    if (settings->clients == PULSE_TLS_CLIENTS_REQUIRED) mode |= PULSE_SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    ssl.SSL_CTX_set_verify(context, mode, NULL);
    // Otherwise clients that were asked for a certificate cannot resume sessions, and attempts fail.
    return ssl.SSL_CTX_set_session_id_context(context, name, sizeof name - 1) == 1
        && each_certificate(settings->client_authorities, trust, context) > 0;
}

static int choose(
    void *session, const unsigned char **chosen, unsigned char *length, const unsigned char *offered,
    unsigned int count, void *protocol) {
    (void)session, (void)offered, (void)count;
    *chosen = protocol;
    *length = (unsigned char)strlen(protocol);
    return PULSE_SSL_TLSEXT_ERR_OK;
}

// In the offer, each name follows its length.
static int choose_if_offered(
    void *session, const unsigned char **chosen, unsigned char *length, const unsigned char *offered,
    unsigned int count, void *protocol) {
    (void)session;
    size_t wanted = strlen(protocol);
    for (unsigned int index = 0; index < count && index + 1 + offered[index] <= count; index += 1 + offered[index]) {
        if (offered[index] != wanted || memcmp(&offered[index + 1], protocol, wanted) != 0) continue;
        *chosen = protocol;
        *length = (unsigned char)wanted;
        return PULSE_SSL_TLSEXT_ERR_OK;
    }
    return PULSE_SSL_TLSEXT_ERR_NOACK;
}

// Returns the name of the setting that the context refuses, or NULL.
static const char *set_up(void *context, const struct pulse_tls_server_settings *settings) {
    ssl.SSL_CTX_ctrl(context, PULSE_SSL_CTRL_MODE, PULSE_SSL_MODE_RELEASE_BUFFERS, NULL);
    // The client decides which certificates are too weak.
    ssl.SSL_CTX_set_security_level(context, 0);
    if (settings->alpn != NULL) ssl.SSL_CTX_set_alpn_select_cb(context, choose, (void *)settings->alpn);
    long minimum = PULSE_TLS1_VERSION + settings->minimum_minor;
    long maximum = PULSE_TLS1_VERSION + settings->maximum_minor;
    if (ssl.SSL_CTX_ctrl(context, PULSE_SSL_CTRL_SET_MIN_PROTO_VERSION, minimum, NULL) != 1
        || ssl.SSL_CTX_ctrl(context, PULSE_SSL_CTRL_SET_MAX_PROTO_VERSION, maximum, NULL) != 1) {
        return "version";
    }
    if (each_certificate(settings->certificates, show, context) < 1) return "certificate";
    if (!use_key(context, settings->key)) return "key";
    return ask_clients(context, settings) ? NULL : "authority of clients";
}

struct pulse_tls_server *pulse_tls_server_new(const struct pulse_tls_server_settings *settings, const char **problem) {
    struct pulse_tls_server *server = calloc(1, sizeof *server);
    void *context = server == NULL ? NULL : ssl.SSL_CTX_new(ssl.TLS_server_method());
    *problem = context == NULL ? "memory" : set_up(context, settings);
    // The end of each text is also an error, which the next function on this thread would report.
    ssl.ERR_clear_error();
    if (*problem == NULL) {
        server->context = context;
        return server;
    }
    if (context != NULL) ssl.SSL_CTX_free(context);
    free(server);
    return NULL;
}

void pulse_tls_server_free(struct pulse_tls_server *server) {
    ssl.SSL_CTX_free(server->context);
    free(server);
}

void pulse_tls_server_prefer(struct pulse_tls_server *server, const char *protocol) {
    ssl.SSL_CTX_set_alpn_select_cb(server->context, choose_if_offered, (void *)protocol);
}

// MARK: A connection

struct pulse_tls_stream {
    // An `SSL *`, which owns the BIOs.
    void *session, *incoming, *outgoing;
    const char *problem;
};

struct pulse_tls_stream *pulse_tls_stream_new(struct pulse_tls_server *server) {
    struct pulse_tls_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) return NULL;
    stream->session = ssl.SSL_new(server->context);
    stream->incoming = ssl.BIO_new(ssl.BIO_s_mem());
    stream->outgoing = ssl.BIO_new(ssl.BIO_s_mem());
    if (stream->session == NULL || stream->incoming == NULL || stream->outgoing == NULL) {
        ssl.BIO_free(stream->incoming);
        ssl.BIO_free(stream->outgoing);
        ssl.SSL_free(stream->session);
        free(stream);
        return NULL;
    }
    ssl.SSL_set_bio(stream->session, stream->incoming, stream->outgoing);
    ssl.SSL_set_accept_state(stream->session);
    return stream;
}

void pulse_tls_stream_free(struct pulse_tls_stream *stream) {
    ssl.SSL_free(stream->session);
    free(stream);
}

static int limited(size_t count) { return count > INT_MAX ? INT_MAX : (int)count; }

bool pulse_tls_stream_feed(struct pulse_tls_stream *stream, const void *bytes, size_t count) {
    return count == 0 || (count <= INT_MAX && ssl.BIO_write(stream->incoming, bytes, (int)count) == (int)count);
}

size_t pulse_tls_stream_take(struct pulse_tls_stream *stream, void *bytes, size_t capacity) {
    int count = ssl.BIO_read(stream->outgoing, bytes, limited(capacity));
    return count > 0 ? (size_t)count : 0;
}

// Stores the reason of a failure, and clears the queue for the next function on this thread. Returns whether the reason
// is an alert of the client.
static bool note_problem(struct pulse_tls_stream *stream) {
    unsigned long code = ssl.ERR_peek_error();
    const char *reason = code == 0 ? NULL : ssl.ERR_reason_error_string(code);
    if (stream->problem == NULL) stream->problem = reason != NULL ? reason : "unknown error";
    ssl.ERR_clear_error();
    // ERR_GET_REASON, whose mask differs between versions; these bits are part of both.
    int number = (int)(code & 0xfff);
    return number >= PULSE_SSL_AD_REASON_OFFSET && number < PULSE_SSL_AD_REASON_OFFSET + 256;
}

int pulse_tls_stream_read(struct pulse_tls_stream *stream, void *bytes, size_t capacity) {
    ssl.ERR_clear_error();
    int count = ssl.SSL_read(stream->session, bytes, limited(capacity));
    if (count > 0) return count;
    switch (ssl.SSL_get_error(stream->session, count)) {
    case PULSE_SSL_ERROR_WANT_READ:
    case PULSE_SSL_ERROR_WANT_WRITE:
        return PULSE_TLS_STREAM_EMPTY;
    case PULSE_SSL_ERROR_ZERO_RETURN:
        return PULSE_TLS_STREAM_ENDED;
    default:
        return note_problem(stream) ? PULSE_TLS_STREAM_REFUSED : PULSE_TLS_STREAM_FAILED;
    }
}

bool pulse_tls_stream_is_established(struct pulse_tls_stream *stream) {
    return ssl.SSL_is_init_finished(stream->session) == 1;
}

bool pulse_tls_stream_has_protocol(const struct pulse_tls_stream *stream) {
    const unsigned char *protocol = NULL;
    unsigned int length = 0;
    ssl.SSL_get0_alpn_selected(stream->session, &protocol, &length);
    return length > 0;
}

bool pulse_tls_stream_write(struct pulse_tls_stream *stream, const void *bytes, size_t count) {
    ssl.ERR_clear_error();
    // A memory BIO accepts everything at once.
    if (count <= INT_MAX && ssl.SSL_write(stream->session, bytes, (int)count) == (int)count) return true;
    note_problem(stream);
    return false;
}

bool pulse_tls_stream_renew(struct pulse_tls_stream *stream) {
    bool has_updates = ssl.SSL_version(stream->session) >= PULSE_TLS1_3_VERSION;
    ssl.ERR_clear_error();
    bool is_begun = has_updates ? ssl.SSL_key_update(stream->session, PULSE_SSL_KEY_UPDATE_REQUESTED) == 1
                                : ssl.SSL_renegotiate(stream->session) == 1;
    // Writes the message.
    if (is_begun) ssl.SSL_do_handshake(stream->session);
    ssl.ERR_clear_error();
    return is_begun;
}

void pulse_tls_stream_end(struct pulse_tls_stream *stream) {
    if (!pulse_tls_stream_is_established(stream)) return;
    ssl.ERR_clear_error();
    ssl.SSL_shutdown(stream->session);
    ssl.ERR_clear_error();
}

const char *pulse_tls_stream_problem(const struct pulse_tls_stream *stream) {
    return stream->problem != NULL ? stream->problem : "";
}

#endif
