// SPDX-License-Identifier: MIT

#if defined(__linux__)

#include "curl_tls.h"

#include <pthread.h>

#include "curl_library.h"
#include "curl_table.h"

// openssl/ssl.h, openssl/bio.h; result, name, parameters.
#define PULSE_BIO_FUNCTIONS(X) \
    X(void *, SSL_get_wbio, (const void *)) \
    X(void, SSL_set0_wbio, (void *, void *)) \
    X(void *, BIO_meth_new, (int, const char *)) \
    X(int, BIO_meth_set_write, (void *, int (*)(void *, const char *, int))) \
    X(int, BIO_meth_set_ctrl, (void *, long (*)(void *, int, long, void *))) \
    X(int, BIO_get_new_index, (void)) \
    X(void *, BIO_new, (const void *)) \
    X(int, BIO_up_ref, (void *)) \
    X(void *, BIO_push, (void *, void *)) \
    X(void *, BIO_next, (void *)) \
    X(int, BIO_write, (void *, const void *, int)) \
    X(long, BIO_ctrl, (void *, int, long, void *)) \
    X(int, BIO_method_type, (const void *)) \
    X(int, BIO_test_flags, (const void *, int)) \
    X(void, BIO_clear_flags, (void *, int)) \
    X(void, BIO_copy_next_retry, (void *)) \
    X(void, BIO_set_data, (void *, void *)) \
    X(void *, BIO_get_data, (void *)) \
    X(void, BIO_set_init, (void *, int))

static struct {
#define PULSE_BIO_MEMBER(result, name, parameters) result(*name) parameters;
    PULSE_BIO_FUNCTIONS(PULSE_BIO_MEMBER)
#undef PULSE_BIO_MEMBER
} bio;

// openssl/bio.h
enum { FILTER = 0x0200, SHOULD_RETRY = 0x08, ALL_RETRY_FLAGS = 0x0F };

static void *method;
static int type;
static pthread_once_t once = PTHREAD_ONCE_INIT;

// A filter's data: NULL until a write has failed.
static char broken;

static int filter_write(void *filter, const char *bytes, int count) {
    bio.BIO_clear_flags(filter, ALL_RETRY_FLAGS);
    if (bio.BIO_get_data(filter) != NULL) return count;
    void *next = bio.BIO_next(filter);
    int written = bio.BIO_write(next, bytes, count);
    if (written > 0) return written;
    if (bio.BIO_test_flags(next, SHOULD_RETRY)) {
        bio.BIO_copy_next_retry(filter);
        return written;
    }
    bio.BIO_set_data(filter, &broken);
    return count;
}

static long filter_ctrl(void *filter, int command, long number, void *pointer) {
    void *next = bio.BIO_next(filter);
    return next == NULL ? 0 : bio.BIO_ctrl(next, command, number, pointer);
}

static void load(void) {
#define PULSE_BIO_RESOLVE(result, name, parameters) \
    *(void **)&bio.name = pulse_curl_dependency(#name); \
    if (bio.name == NULL) return;
    PULSE_BIO_FUNCTIONS(PULSE_BIO_RESOLVE)
#undef PULSE_BIO_RESOLVE
    int index = bio.BIO_get_new_index();
    if (index < 0) return;
    type = index | FILTER;
    void *made = bio.BIO_meth_new(type, "PulseKit");
    if (made == NULL) return;
    bio.BIO_meth_set_write(made, filter_write);
    bio.BIO_meth_set_ctrl(made, filter_ctrl);
    method = made;
}

// The filter of a session; NULL without one.
static void *filter_of(void *session) {
    pthread_once(&once, load);
    if (method == NULL || session == NULL) return NULL;
    void *writer = bio.SSL_get_wbio(session);
    return writer != NULL && bio.BIO_method_type(writer) == type ? writer : NULL;
}

void pulse_tls_outlast_writing(PulseCURL *easy) {
    void *session = pulse_tls_session(easy);
    if (session == NULL || filter_of(session) != NULL || method == NULL) return;
    void *writer = bio.SSL_get_wbio(session);
    void *filter = writer == NULL ? NULL : bio.BIO_new(method);
    if (filter == NULL) return;
    bio.BIO_set_init(filter, 1);
    // The session releases its own reference.
    bio.BIO_up_ref(writer);
    bio.SSL_set0_wbio(session, bio.BIO_push(filter, writer));
}

bool pulse_tls_has_outlasted_writing(PulseCURL *easy) {
    void *filter = filter_of(pulse_tls_session(easy));
    return filter != NULL && bio.BIO_get_data(filter) != NULL;
}

#endif
