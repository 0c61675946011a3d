// SPDX-License-Identifier: MIT

#if defined(__linux__)

#include "curl_certificate.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "curl_library.h"
#include "curl_table.h"

// openssl/crypto.h, openssl/err.h, openssl/evp.h, openssl/pkcs12.h, openssl/ssl.h, openssl/x509.h of OpenSSL 1.1 and
// later; result, name, parameters.
#define PULSE_CERTIFICATE_FUNCTIONS(X) \
    X(int, CRYPTO_get_ex_new_index, \
        (int, long, void *, void *, void *, void (*)(void *, void *, void *, int, long, void *))) \
    X(int, SSL_CTX_set_ex_data, (void *, int, void *)) \
    X(void *, SSL_CTX_get_ex_data, (const void *, int)) \
    X(void *, SSL_get_SSL_CTX, (const void *)) \
    X(void, SSL_CTX_set_cert_store, (void *, void *)) \
    X(void *, X509_STORE_new, (void)) \
    X(int, X509_STORE_load_locations, (void *, const char *, const char *)) \
    X(int, X509_STORE_set_flags, (void *, unsigned long)) \
    X(int, X509_STORE_up_ref, (void *)) \
    X(void, X509_STORE_free, (void *)) \
    X(void, SSL_CTX_set_client_cert_cb, (void *, int (*)(void *, void **, void **))) \
    X(void, SSL_CTX_set_info_callback, (void *, void (*)(const void *, int, int))) \
    X(void *, d2i_PKCS12, (void **, const unsigned char **, long)) \
    X(int, PKCS12_parse, (void *, const char *, void **, void **, void **)) \
    X(void, PKCS12_free, (void *)) \
    X(void, EVP_PKEY_free, (void *)) \
    X(void, X509_free, (void *)) \
    X(unsigned long, ERR_peek_error, (void)) \
    X(const char *, ERR_reason_error_string, (unsigned long)) \
    X(void, ERR_clear_error, (void))

static struct {
#define PULSE_CERTIFICATE_MEMBER(result, name, parameters) result(*name) parameters;
    PULSE_CERTIFICATE_FUNCTIONS(PULSE_CERTIFICATE_MEMBER)
#undef PULSE_CERTIFICATE_MEMBER
} ssl;

// openssl/crypto.h, openssl/ssl.h, openssl/ssl3.h, openssl/x509_vfy.h, openssl/pkcs12err.h
#define PULSE_CERTIFICATE_VALUES(X) \
    X(CRYPTO_EX_INDEX_SSL_CTX, 1) \
    X(SSL_CB_READ_ALERT, 0x4004) \
    X(SSL3_AL_FATAL, 2) \
    X(SSL_AD_CLOSE_NOTIFY, 0) \
    X(X509_V_FLAG_TRUSTED_FIRST, 0x8000) \
    X(X509_V_FLAG_PARTIAL_CHAIN, 0x80000) \
    X(PKCS12_R_MAC_VERIFY_FAILURE, 113)

enum {
#define PULSE_CERTIFICATE_VALUE(name, value) PULSE_##name = value,
    PULSE_CERTIFICATE_VALUES(PULSE_CERTIFICATE_VALUE)
#undef PULSE_CERTIFICATE_VALUE
};

struct pulse_tls_notes {
    atomic_int holders;
    // Only the loop, one thread at a time, reads and writes them.
    bool lack_certificate, is_closed;
    int alert;
};

static bool is_loaded;
static int place;
static pthread_once_t once = PTHREAD_ONCE_INIT;

// A freed context releases its reference to the notes.
static void give_up(void *context, void *notes, void *data, int index, long number, void *pointer) {
    (void)context, (void)data, (void)index, (void)number, (void)pointer;
    if (notes != NULL) pulse_tls_notes_release(notes);
}

static void load(void) {
#define PULSE_CERTIFICATE_RESOLVE(result, name, parameters) \
    *(void **)&ssl.name = pulse_curl_dependency(#name); \
    if (ssl.name == NULL) return;
    PULSE_CERTIFICATE_FUNCTIONS(PULSE_CERTIFICATE_RESOLVE)
#undef PULSE_CERTIFICATE_RESOLVE
    place = ssl.CRYPTO_get_ex_new_index(PULSE_CRYPTO_EX_INDEX_SSL_CTX, 0, NULL, NULL, NULL, give_up);
    is_loaded = place >= 0;
}

static bool is_ready(void) {
    pthread_once(&once, load);
    return is_loaded;
}

static struct pulse_tls_notes *notes_of_session(const void *session) {
    return ssl.SSL_CTX_get_ex_data(ssl.SSL_get_SSL_CTX(session), place);
}

// Called when the server requests a certificate and libcurl has none: this callback has none either.
static int note_request(void *session, void **certificate, void **key) {
    (void)certificate, (void)key;
    struct pulse_tls_notes *notes = notes_of_session(session);
    if (notes != NULL) notes->lack_certificate = true;
    return 0;
}

static void note_alert(const void *session, int event, int value) {
    struct pulse_tls_notes *notes = event == PULSE_SSL_CB_READ_ALERT ? notes_of_session(session) : NULL;
    if (notes == NULL) return;
    if ((value & 0xff) == PULSE_SSL_AD_CLOSE_NOTIFY) notes->is_closed = true;
    if (value >> 8 == PULSE_SSL3_AL_FATAL) notes->alert = value & 0xff;
}

struct pulse_tls_notes *pulse_tls_notes_begin(void *context) {
    if (!is_ready()) return NULL;
    struct pulse_tls_notes *notes = calloc(1, sizeof *notes);
    if (notes == NULL) return NULL;
    atomic_init(&notes->holders, 2);
    if (ssl.SSL_CTX_set_ex_data(context, place, notes) != 1) {
        free(notes);
        return NULL;
    }
    ssl.SSL_CTX_set_client_cert_cb(context, note_request);
    ssl.SSL_CTX_set_info_callback(context, note_alert);
    return notes;
}

// A file or directory as it was when it was read.
struct source {
    char *path;
    struct stat state;
};

struct pulse_tls_authorities {
    pthread_mutex_t lock;
    struct source file, directory;
    // NULL before they are read.
    void *store;
    atomic_ulong changes;
};

// Notes the state, which is zero for a path that does not exist. Whether it is that of the last time.
static bool is_unchanged(struct source *source) {
    if (source->path == NULL) return true;
    struct stat now = {0}, before = source->state;
    stat(source->path, &now);
    source->state = now;
    return now.st_ino == before.st_ino && now.st_dev == before.st_dev && now.st_size == before.st_size
        && now.st_mtim.tv_sec == before.st_mtim.tv_sec && now.st_mtim.tv_nsec == before.st_mtim.tv_nsec;
}

// Both are noted, before they are read: what changes meanwhile is read again.
static bool are_unchanged(struct pulse_tls_authorities *authorities) {
    bool is_file_unchanged = is_unchanged(&authorities->file);
    return is_unchanged(&authorities->directory) && is_file_unchanged;
}

struct pulse_tls_authorities *pulse_tls_authorities_create(const char *file, const char *directory) {
    struct pulse_tls_authorities *authorities = calloc(1, sizeof *authorities);
    if (authorities == NULL) return NULL;
    pthread_mutex_init(&authorities->lock, NULL);
    authorities->file.path = file == NULL ? NULL : strdup(file);
    authorities->directory.path = directory == NULL ? NULL : strdup(directory);
    atomic_init(&authorities->changes, 0);
    are_unchanged(authorities);
    if ((authorities->file.path == NULL) == (file == NULL)
        && (authorities->directory.path == NULL) == (directory == NULL)) return authorities;
    pulse_tls_authorities_free(authorities);
    return NULL;
}

void pulse_tls_authorities_free(struct pulse_tls_authorities *authorities) {
    if (authorities->store != NULL) ssl.X509_STORE_free(authorities->store);
    free(authorities->file.path);
    free(authorities->directory.path);
    pthread_mutex_destroy(&authorities->lock);
    free(authorities);
}

// Forgets what has changed.
static void look(struct pulse_tls_authorities *authorities) {
    if (are_unchanged(authorities)) return;
    if (authorities->store != NULL) ssl.X509_STORE_free(authorities->store);
    authorities->store = NULL;
    atomic_fetch_add(&authorities->changes, 1);
}

unsigned long pulse_tls_authorities_changes(struct pulse_tls_authorities *authorities, bool looks) {
    if (looks) {
        pthread_mutex_lock(&authorities->lock);
        look(authorities);
        pthread_mutex_unlock(&authorities->lock);
    }
    return atomic_load(&authorities->changes);
}

static int read_authorities(struct pulse_tls_authorities *authorities) {
    void *store = ssl.X509_STORE_new();
    if (store == NULL) return PULSE_CURLE_OUT_OF_MEMORY;
    // What libcurl sets for its own.
    ssl.X509_STORE_set_flags(store, PULSE_X509_V_FLAG_TRUSTED_FIRST | PULSE_X509_V_FLAG_PARTIAL_CHAIN);
    ssl.ERR_clear_error();
    if (ssl.X509_STORE_load_locations(store, authorities->file.path, authorities->directory.path) != 1) {
        // Otherwise the next function on this thread would report this error.
        ssl.ERR_clear_error();
        ssl.X509_STORE_free(store);
        return PULSE_CURLE_SSL_CACERT_BADFILE;
    }
    authorities->store = store;
    return PULSE_CURLE_OK;
}

int pulse_tls_trust(void *context, struct pulse_tls_authorities *authorities) {
    if (!is_ready()) return PULSE_CURLE_SSL_CACERT_BADFILE;
    pthread_mutex_lock(&authorities->lock);
    look(authorities);
    int result = authorities->store != NULL ? PULSE_CURLE_OK : read_authorities(authorities);
    if (result == PULSE_CURLE_OK && ssl.X509_STORE_up_ref(authorities->store) != 1) result = PULSE_CURLE_OUT_OF_MEMORY;
    // Takes over the reference, and frees the store that the context has.
    if (result == PULSE_CURLE_OK) ssl.SSL_CTX_set_cert_store(context, authorities->store);
    pthread_mutex_unlock(&authorities->lock);
    return result;
}

bool pulse_tls_system_authorities(const char **file, const char **directory) {
    const struct pulse_curl_version *version = pulse_curl_version();
    // OpenSSL may be loaded for another purpose than libcurl's TLS.
    bool is_openssl = version->ssl_version != NULL && strncmp(version->ssl_version, "OpenSSL/", 8) == 0;
    if (!is_ready() || !is_openssl || version->age < PULSE_CURLVERSION_SEVENTH) return false;
    *file = version->cainfo;
    *directory = version->capath;
    return *file != NULL || *directory != NULL;
}

struct pulse_tls_notes *pulse_tls_notes_of(PulseCURL *easy) {
    struct pulse_curl_tlssessioninfo *session = NULL;
    if (!is_ready()) return NULL;
    if (pulse_curl.curl_easy_getinfo(easy, PULSE_CURLINFO_TLS_SSL_PTR, &session) != PULSE_CURLE_OK) return NULL;
    if (session == NULL || session->backend != PULSE_CURLSSLBACKEND_OPENSSL || session->internals == NULL) return NULL;
    struct pulse_tls_notes *notes = notes_of_session(session->internals);
    if (notes != NULL) atomic_fetch_add(&notes->holders, 1);
    return notes;
}

void pulse_tls_notes_release(struct pulse_tls_notes *notes) {
    if (atomic_fetch_sub(&notes->holders, 1) == 1) free(notes);
}

bool pulse_tls_notes_lack_certificate(const struct pulse_tls_notes *notes) { return notes->lack_certificate; }

int pulse_tls_notes_alert(const struct pulse_tls_notes *notes) { return notes->alert; }

bool pulse_tls_notes_are_closed(const struct pulse_tls_notes *notes) { return notes->is_closed; }

// The reason of the first error in this thread's queue.
static const char *reason(void) {
    unsigned long code = ssl.ERR_peek_error();
    // ERR_GET_REASON, whose mask differs between versions; this mask is part of both.
    if ((code & 0xfff) == PULSE_PKCS12_R_MAC_VERIFY_FAILURE) return "the password is wrong";
    const char *text = code == 0 ? NULL : ssl.ERR_reason_error_string(code);
    return text == NULL ? "unknown error" : text;
}

const char *pulse_tls_certificate_problem(const void *bytes, size_t count, const char *password) {
    if (!is_ready()) return NULL;
    ssl.ERR_clear_error();
    const unsigned char *next = bytes;
    void *key = NULL, *certificate = NULL;
    void *bundle = count > LONG_MAX ? NULL : ssl.d2i_PKCS12(NULL, &next, (long)count);
    const char *problem = NULL;
    if (bundle == NULL) {
        problem = "it is not PKCS #12";
    } else if (ssl.PKCS12_parse(bundle, password, &key, &certificate, NULL) != 1) {
        problem = reason();
    } else if (key == NULL || certificate == NULL) {
        problem = "it holds no certificate with a key";
    }
    // Otherwise the next function on this thread would report this error.
    ssl.ERR_clear_error();
    if (bundle != NULL) ssl.PKCS12_free(bundle);
    if (key != NULL) ssl.EVP_PKEY_free(key);
    if (certificate != NULL) ssl.X509_free(certificate);
    return problem;
}

#endif
