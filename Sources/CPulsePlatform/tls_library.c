// SPDX-License-Identifier: MIT

#if defined(__linux__)

#include "tls_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

static void *library;
static pthread_once_t once = PTHREAD_ONCE_INIT;

// Never unloaded: the library has registered exit handlers for threads and for the process.
static void load(void) {
    static const char *const names[] = {"libssl.so.3", "libssl.so.4", "libssl.so.1.1"};
    for (size_t index = 0; library == NULL && index < sizeof names / sizeof *names; index++) {
        library = dlopen(names[index], RTLD_NOW | RTLD_LOCAL);
    }
}

bool pulse_openssl_load(void) {
    pthread_once(&once, load);
    return library != NULL;
}

// A lookup in a handle includes its dependencies, and so libcrypto.
void *pulse_openssl_symbol(const char *name) {
    return pulse_openssl_load() ? dlsym(library, name) : NULL;
}

#endif
