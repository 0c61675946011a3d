// SPDX-License-Identifier: MIT

#if defined(__linux__)

// secure_getenv
#define _GNU_SOURCE

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tls_client_abi.h"
#include "tls_library.h"

struct pulse_tls_client_table pulse_tls_client;

// Keeps calls as short as in code that links OpenSSL.
#define ssl pulse_tls_client

static bool is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
#define PULSE_CLIENT_RESOLVE(result, name, parameters) \
    *(void **)&ssl.name = pulse_openssl_symbol(#name); \
    if (ssl.name == NULL) return;
    PULSE_CLIENT_FUNCTIONS(PULSE_CLIENT_RESOLVE)
#undef PULSE_CLIENT_RESOLVE
    is_loaded = pulse_tls_session_load();
}

bool pulse_tls_client_load(void) {
    pthread_once(&once, load);
    return is_loaded;
}

// MARK: Authorities

// A file or directory, and its state when it was read.
struct source {
    char *path;
    struct stat state;
};

struct pulse_tls_store {
    pthread_mutex_t lock;
    struct source file, directory;
    // An `X509_STORE *`; NULL before it is read.
    void *authorities;
    unsigned long changes;
};

const char *pulse_tls_variable(const char *name) {
    const char *value = secure_getenv(name);
    return value == NULL || *value == '\0' ? NULL : value;
}

void pulse_tls_usual_store(const char **file, const char **directory) {
    const char *const files[] = {
        ssl.X509_get_default_cert_file(), "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
    };
    *file = *directory = NULL;
    for (size_t index = 0; *file == NULL && index < sizeof files / sizeof *files; index++) {
        if (access(files[index], R_OK) == 0) *file = files[index];
    }
    const char *usual = ssl.X509_get_default_cert_dir();
    if (access(usual, R_OK) == 0) *directory = usual;
    // A file that may be created later.
    if (*file == NULL && *directory == NULL) *file = files[0];
}

// Notes the state, which is zero for a path that does not exist. Returns whether it is unchanged.
static bool is_unchanged(struct source *source) {
    if (source->path == NULL) return true;
    struct stat now = {0}, before = source->state;
    stat(source->path, &now);
    source->state = now;
    return now.st_ino == before.st_ino && now.st_dev == before.st_dev && now.st_size == before.st_size
        && now.st_mtim.tv_sec == before.st_mtim.tv_sec && now.st_mtim.tv_nsec == before.st_mtim.tv_nsec;
}

// Notes both states before reading: what changes meanwhile is read again.
static bool are_unchanged(struct pulse_tls_store *store) {
    bool is_file_unchanged = is_unchanged(&store->file);
    return is_unchanged(&store->directory) && is_file_unchanged;
}

struct pulse_tls_store *pulse_tls_store_new(const char *file, const char *directory) {
    struct pulse_tls_store *store = calloc(1, sizeof *store);
    if (store == NULL) return NULL;
    pthread_mutex_init(&store->lock, NULL);
    store->file.path = file == NULL ? NULL : strdup(file);
    store->directory.path = directory == NULL ? NULL : strdup(directory);
    are_unchanged(store);
    if ((store->file.path == NULL) == (file == NULL) && (store->directory.path == NULL) == (directory == NULL)) {
        return store;
    }
    pulse_tls_store_free(store);
    return NULL;
}

void pulse_tls_store_free(struct pulse_tls_store *store) {
    if (store->authorities != NULL) ssl.X509_STORE_free(store->authorities);
    free(store->file.path);
    free(store->directory.path);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

static void *read_authorities(const struct pulse_tls_store *store) {
    void *authorities = ssl.X509_STORE_new();
    ssl.ERR_clear_error();
    if (authorities != NULL
        && ssl.X509_STORE_load_locations(authorities, store->file.path, store->directory.path) != 1) {
        ssl.X509_STORE_free(authorities);
        authorities = NULL;
    }
    // Otherwise the next function on this thread would report the error.
    ssl.ERR_clear_error();
    return authorities;
}

void *pulse_tls_context_authorities(struct pulse_tls_context *context, unsigned long *changes) {
    *changes = 0;
    void *authorities = context->authorities;
    if (authorities != NULL) return ssl.X509_STORE_up_ref(authorities) == 1 ? authorities : NULL;
    struct pulse_tls_store *store = context->store;
    void *old = NULL;
    pthread_mutex_lock(&store->lock);
    if (!are_unchanged(store)) {
        old = store->authorities;
        store->authorities = NULL;
        store->changes++;
    }
    if (store->authorities == NULL) store->authorities = read_authorities(store);
    authorities = store->authorities;
    if (authorities != NULL && ssl.X509_STORE_up_ref(authorities) != 1) authorities = NULL;
    *changes = store->changes;
    pthread_mutex_unlock(&store->lock);
    if (old != NULL) ssl.X509_STORE_free(old);
    return authorities;
}

// MARK: Settings

static void set_up(void *context, bool offers_http2, bool resumes) {
    static const unsigned char protocols[] = "\x02h2\x08http/1.1";
    ssl.SSL_CTX_set_verify(context, PULSE_SSL_VERIFY_PEER, NULL);
    ssl.SSL_CTX_set_options(context, PULSE_SSL_OP_NO_RENEGOTIATION);
    // Frees an idle connection's buffers. Reads return after each record, so that their number can be bounded.
    ssl.SSL_CTX_ctrl(context, PULSE_SSL_CTRL_MODE, PULSE_SSL_MODE_RELEASE_BUFFERS, NULL);
    ssl.SSL_CTX_ctrl(context, PULSE_SSL_CTRL_CLEAR_MODE, PULSE_SSL_MODE_AUTO_RETRY, NULL);
    // One system call per record instead of two.
    ssl.SSL_CTX_ctrl(context, PULSE_SSL_CTRL_SET_READ_AHEAD, 1, NULL);
    long cache = resumes ? PULSE_SSL_SESS_CACHE_CLIENT | PULSE_SSL_SESS_CACHE_NO_INTERNAL : PULSE_SSL_SESS_CACHE_OFF;
    ssl.SSL_CTX_ctrl(context, PULSE_SSL_CTRL_SET_SESS_CACHE_MODE, cache, NULL);
    unsigned int skipped = offers_http2 ? 0 : 3;
    ssl.SSL_CTX_set_alpn_protos(context, protocols + skipped, sizeof protocols - 1 - skipped);
    ssl.SSL_CTX_set_info_callback(context, pulse_tls_session_note_alert);
    ssl.SSL_CTX_set_client_cert_cb(context, pulse_tls_session_note_request);
    ssl.SSL_CTX_sess_set_new_cb(context, pulse_tls_session_note_ticket);
}

struct pulse_tls_context *pulse_tls_context_new(
    int minimum_minor, bool offers_http2, bool resumes, struct pulse_tls_store *store) {
    ssl.ERR_clear_error();
    struct pulse_tls_context *context = calloc(1, sizeof *context);
    void *made = context == NULL ? NULL : ssl.SSL_CTX_new(ssl.TLS_client_method());
    long minimum = PULSE_TLS1_VERSION + minimum_minor;
    if (made == NULL || ssl.SSL_CTX_ctrl(made, PULSE_SSL_CTRL_SET_MIN_PROTO_VERSION, minimum, NULL) != 1) {
        if (made != NULL) ssl.SSL_CTX_free(made);
        free(context);
        return NULL;
    }
    set_up(made, offers_http2, resumes);
    pthread_mutex_init(&context->lock, NULL);
    context->context = made;
    context->store = store;
    context->offers_http2 = offers_http2;
    return context;
}

static void drop(struct pulse_tls_ticket *ticket) {
    if (ticket->session != NULL) ssl.SSL_SESSION_free(ticket->session);
    free(ticket->host);
    *ticket = (struct pulse_tls_ticket){0};
}

void pulse_tls_context_free(struct pulse_tls_context *context) {
    for (int index = 0; index < PULSE_TLS_TICKETS; index++) drop(&context->tickets[index]);
    ssl.SSL_CTX_free(context->context);
    if (context->authorities != NULL) ssl.X509_STORE_free(context->authorities);
    pthread_mutex_destroy(&context->lock);
    free(context);
}

bool pulse_tls_context_trust(struct pulse_tls_context *context, const void *bytes, size_t count) {
    ssl.ERR_clear_error();
    if (context->authorities == NULL) context->authorities = ssl.X509_STORE_new();
    const unsigned char *next = bytes;
    void *certificate = count > LONG_MAX ? NULL : ssl.d2i_X509(NULL, &next, (long)count);
    bool is_trusted = certificate != NULL && context->authorities != NULL
        && ssl.X509_STORE_add_cert(context->authorities, certificate) == 1;
    if (certificate != NULL) ssl.X509_free(certificate);
    ssl.ERR_clear_error();
    return is_trusted;
}

// The reason of the first error in this thread's queue.
static const char *reason(void) {
    unsigned long code = ssl.ERR_peek_error();
    // ERR_GET_REASON, whose mask differs between versions; this mask is part of both.
    if ((code & 0xfff) == PULSE_PKCS12_R_MAC_VERIFY_FAILURE) return "the password is wrong";
    const char *text = code == 0 ? NULL : ssl.ERR_reason_error_string(code);
    return text == NULL ? "unknown error" : text;
}

const char *pulse_tls_context_present(
    struct pulse_tls_context *context, const void *bytes, size_t count, const char *password) {
    ssl.ERR_clear_error();
    const unsigned char *next = bytes;
    void *key = NULL, *certificate = NULL, *chain = NULL;
    void *bundle = count > LONG_MAX ? NULL : ssl.d2i_PKCS12(NULL, &next, (long)count);
    const char *problem = NULL;
    if (bundle == NULL) {
        problem = "it is not PKCS #12";
    } else if (ssl.PKCS12_parse(bundle, password, &key, &certificate, &chain) != 1) {
        problem = reason();
    } else if (key == NULL || certificate == NULL) {
        problem = "it holds no certificate with a key";
    } else if (ssl.SSL_CTX_use_cert_and_key(context->context, certificate, key, chain, 1) != 1) {
        problem = reason();
    }
    ssl.ERR_clear_error();
    if (bundle != NULL) ssl.PKCS12_free(bundle);
    if (key != NULL) ssl.EVP_PKEY_free(key);
    if (certificate != NULL) ssl.X509_free(certificate);
    if (chain != NULL) ssl.OPENSSL_sk_pop_free(chain, ssl.X509_free);
    return problem;
}

// MARK: Tickets

// Tickets per host. A TLS 1.3 server sends several, each for one connection.
enum { MOST_OF_A_HOST = 4 };

// The entry for the next ticket of a host: its oldest one if it has enough, otherwise a free one, otherwise the oldest
// of all.
static struct pulse_tls_ticket *place(struct pulse_tls_context *context, const char *host) {
    struct pulse_tls_ticket *oldest = &context->tickets[0], *oldest_of_host = NULL;
    int count = 0;
    for (int index = 0; index < PULSE_TLS_TICKETS; index++) {
        struct pulse_tls_ticket *ticket = &context->tickets[index];
        // A free one has the number 0.
        if (ticket->number < oldest->number) oldest = ticket;
        if (ticket->host == NULL || strcmp(ticket->host, host) != 0) continue;
        count++;
        if (oldest_of_host == NULL || ticket->number < oldest_of_host->number) oldest_of_host = ticket;
    }
    return count < MOST_OF_A_HOST ? oldest : oldest_of_host;
}

bool pulse_tls_context_add(
    struct pulse_tls_context *context, const char *host, void *session, unsigned long changes, double expiry) {
    char *name = ssl.SSL_SESSION_is_resumable(session) ? strdup(host) : NULL;
    if (name == NULL) return false;
    pthread_mutex_lock(&context->lock);
    // A resumed session would keep the verdict of its handshake, which used other authorities.
    bool is_current = changes == context->changes;
    if (is_current) {
        struct pulse_tls_ticket *ticket = place(context, host);
        drop(ticket);
        *ticket = (struct pulse_tls_ticket){name, session, ++context->last_number, expiry};
    }
    pthread_mutex_unlock(&context->lock);
    if (!is_current) free(name);
    return is_current;
}

void *pulse_tls_context_take(
    struct pulse_tls_context *context, const char *host, unsigned long changes, double now, double *expiry) {
    pthread_mutex_lock(&context->lock);
    bool have_changed = changes > context->changes;
    if (have_changed) context->changes = changes;
    for (int index = 0; index < PULSE_TLS_TICKETS; index++) {
        struct pulse_tls_ticket *ticket = &context->tickets[index];
        // OpenSSL marks the session of a connection that was not shut down as not resumable.
        bool is_useful = ticket->session != NULL && ssl.SSL_SESSION_is_resumable(ticket->session);
        if (have_changed || ticket->expiry <= now || !is_useful) drop(ticket);
    }
    struct pulse_tls_ticket *newest = NULL;
    for (int index = 0; changes == context->changes && index < PULSE_TLS_TICKETS; index++) {
        struct pulse_tls_ticket *ticket = &context->tickets[index];
        if (ticket->host == NULL || strcmp(ticket->host, host) != 0) continue;
        if (newest == NULL || ticket->number > newest->number) newest = ticket;
    }
    void *session = newest == NULL ? NULL : newest->session;
    if (newest != NULL) *expiry = newest->expiry;
    if (session != NULL && ssl.SSL_SESSION_up_ref(session) != 1) session = NULL;
    // A ticket that is used twice reveals that both connections are of one client (RFC 8446, appendix C.4).
    if (session != NULL && ssl.SSL_SESSION_get_protocol_version(session) >= PULSE_TLS1_3_VERSION) drop(newest);
    pthread_mutex_unlock(&context->lock);
    return session;
}

void pulse_tls_context_forget(struct pulse_tls_context *context, const char *host) {
    pthread_mutex_lock(&context->lock);
    for (int index = 0; index < PULSE_TLS_TICKETS; index++) {
        struct pulse_tls_ticket *ticket = &context->tickets[index];
        if (ticket->host != NULL && strcmp(ticket->host, host) == 0) drop(ticket);
    }
    pthread_mutex_unlock(&context->lock);
}

#endif
