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

struct pulse_curl_sessions {
    PulseCURLSH *share;
    // libcurl may look at its own count of handles while it has the sessions.
    pthread_mutex_t handles, sessions;
};

static pthread_mutex_t *mutex(struct pulse_curl_sessions *sessions, int kind) {
    return kind == PULSE_CURL_LOCK_DATA_SSL_SESSION ? &sessions->sessions : &sessions->handles;
}

static void lock(PulseCURL *easy, int kind, int access, void *sessions) {
    (void)easy, (void)access;
    pthread_mutex_lock(mutex(sessions, kind));
}

static void unlock(PulseCURL *easy, int kind, void *sessions) {
    (void)easy;
    pthread_mutex_unlock(mutex(sessions, kind));
}

struct pulse_curl_sessions *pulse_curl_sessions_new(void) {
    struct pulse_curl_sessions *sessions = calloc(1, sizeof *sessions);
    PulseCURLSH *share = sessions == NULL ? NULL : pulse_curl.curl_share_init();
    if (share == NULL) {
        free(sessions);
        return NULL;
    }
    sessions->share = share;
    pthread_mutex_init(&sessions->handles, NULL);
    pthread_mutex_init(&sessions->sessions, NULL);
    pulse_curl.curl_share_setopt(share, PULSE_CURLSHOPT_LOCKFUNC, lock);
    pulse_curl.curl_share_setopt(share, PULSE_CURLSHOPT_UNLOCKFUNC, unlock);
    pulse_curl.curl_share_setopt(share, PULSE_CURLSHOPT_USERDATA, sessions);
    pulse_curl.curl_share_setopt(share, PULSE_CURLSHOPT_SHARE, PULSE_CURL_LOCK_DATA_SSL_SESSION);
    return sessions;
}

void pulse_curl_sessions_share(struct pulse_curl_sessions *sessions, PulseCURL *easy) {
    if (sessions != NULL) pulse_curl_set_pointer(easy, PULSE_CURLOPT_SHARE, sessions->share);
}

void pulse_curl_sessions_free(struct pulse_curl_sessions *sessions) {
    if (sessions == NULL) return;
    pulse_curl.curl_share_cleanup(sessions->share);
    pthread_mutex_destroy(&sessions->handles);
    pthread_mutex_destroy(&sessions->sessions);
    free(sessions);
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
