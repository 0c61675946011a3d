// SPDX-License-Identifier: MIT

#if defined(__linux__)

#include "curl_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "curl_table.h"

struct pulse_curl_table pulse_curl;

static void *library;
static bool is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool fill(void) {
    // dlsym returns an object pointer; POSIX guarantees that it converts to a function pointer.
#define PULSE_CURL_RESOLVE(result, name, parameters) \
    *(void **)&pulse_curl.name = dlsym(library, #name); \
    if (pulse_curl.name == NULL) return false;
    PULSE_CURL_FUNCTIONS(PULSE_CURL_RESOLVE)
#undef PULSE_CURL_RESOLVE
    return true;
}

// Never unloaded: threads that resolve names may still run in it.
static void load(void) {
    library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    is_loaded = library != NULL && fill() && pulse_curl.curl_global_init(PULSE_CURL_GLOBAL_ALL) == PULSE_CURLE_OK;
}

bool pulse_curl_load(void) {
    pthread_once(&once, load);
    return is_loaded;
}

const struct pulse_curl_version *pulse_curl_version(void) {
    return pulse_curl.curl_version_info(PULSE_CURLVERSION_FIRST);
}

void *pulse_curl_dependency(const char *name) {
    return pulse_curl_load() ? dlsym(library, name) : NULL;
}

PulseCURL *pulse_curl_easy_init(void) { return pulse_curl.curl_easy_init(); }

void pulse_curl_easy_cleanup(PulseCURL *easy) { pulse_curl.curl_easy_cleanup(easy); }

void pulse_curl_easy_reset(PulseCURL *easy) { pulse_curl.curl_easy_reset(easy); }

int pulse_curl_easy_pause(PulseCURL *easy, int mask) { return pulse_curl.curl_easy_pause(easy, mask); }

const char *pulse_curl_easy_strerror(int code) { return pulse_curl.curl_easy_strerror(code); }

int pulse_curl_set_long(PulseCURL *easy, int option, long value) {
    return pulse_curl.curl_easy_setopt(easy, option, value);
}

int pulse_curl_set_offset(PulseCURL *easy, int option, int64_t value) {
    return pulse_curl.curl_easy_setopt(easy, option, value);
}

int pulse_curl_set_pointer(PulseCURL *easy, int option, const void *value) {
    return pulse_curl.curl_easy_setopt(easy, option, value);
}

int pulse_curl_set_function(PulseCURL *easy, int option, void (*value)(void)) {
    return pulse_curl.curl_easy_setopt(easy, option, value);
}

int pulse_curl_set_blob(PulseCURL *easy, int option, const void *bytes, size_t count) {
    struct pulse_curl_blob blob = {(void *)bytes, count, PULSE_CURL_BLOB_COPY};
    return pulse_curl.curl_easy_setopt(easy, option, &blob);
}

long pulse_curl_get_long(PulseCURL *easy, int info) {
    long value = 0;
    return pulse_curl.curl_easy_getinfo(easy, info, &value) == PULSE_CURLE_OK ? value : 0;
}

int64_t pulse_curl_get_offset(PulseCURL *easy, int info) {
    int64_t value = 0;
    return pulse_curl.curl_easy_getinfo(easy, info, &value) == PULSE_CURLE_OK ? value : 0;
}

const char *pulse_curl_get_string(PulseCURL *easy, int info) {
    const char *value = NULL;
    return pulse_curl.curl_easy_getinfo(easy, info, &value) == PULSE_CURLE_OK ? value : NULL;
}

PulseCURLSH *pulse_curl_share_sessions(void) {
    PulseCURLSH *share = pulse_curl.curl_share_init();
    if (share != NULL) pulse_curl.curl_share_setopt(share, PULSE_CURLSHOPT_SHARE, PULSE_CURL_LOCK_DATA_SSL_SESSION);
    return share;
}

void pulse_curl_share_free(PulseCURLSH *share) {
    if (share != NULL) pulse_curl.curl_share_cleanup(share);
}

struct pulse_curl_slist *pulse_curl_lines(const char *text, size_t length) {
    size_t count = 0;
    for (size_t index = 0; index < length; index++) count += text[index] == '\0';
    if (count == 0) return NULL;
    struct pulse_curl_slist *list = malloc(count * sizeof(struct pulse_curl_slist) + length);
    if (list == NULL) return NULL;
    char *line = memcpy(list + count, text, length);
    for (size_t index = 0; index < count; index++) {
        list[index] = (struct pulse_curl_slist){line, index + 1 < count ? list + index + 1 : NULL};
        line += strlen(line) + 1;
    }
    return list;
}

#endif
