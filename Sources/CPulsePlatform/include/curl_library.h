// SPDX-License-Identifier: MIT
//
// libcurl, loaded at run time: the same `libcurl.so.4` that Foundation links. Thread-safe.

#ifndef PULSE_CURL_LIBRARY_H
#define PULSE_CURL_LIBRARY_H

#include <stdbool.h>

#include "curl_abi.h"

/// Loads and initializes libcurl, once per process. Returns whether all used functions are present.
bool pulse_curl_load(void);

/// libcurl's version and features. Call this, and everything below, only after `pulse_curl_load` has returned true.
const struct pulse_curl_version *pulse_curl_version(void);

/// The address of a function in one of the libraries that libcurl has loaded, or NULL.
void *pulse_curl_dependency(const char *name);

PulseCURL *pulse_curl_easy_init(void);
void pulse_curl_easy_cleanup(PulseCURL *easy);
void pulse_curl_easy_reset(PulseCURL *easy);
int pulse_curl_easy_pause(PulseCURL *easy, int mask);
const char *pulse_curl_easy_strerror(int code);

// One for each type of value, since Swift cannot call variadic functions.
int pulse_curl_set_long(PulseCURL *easy, int option, long value);
int pulse_curl_set_offset(PulseCURL *easy, int option, int64_t value);
int pulse_curl_set_pointer(PulseCURL *easy, int option, const void *value);
int pulse_curl_set_function(PulseCURL *easy, int option, void (*value)(void));
/// libcurl copies the bytes.
int pulse_curl_set_blob(PulseCURL *easy, int option, const void *bytes, size_t count);

/// A value of a transfer; 0 or NULL where libcurl does not know it.
long pulse_curl_get_long(PulseCURL *easy, int info);
int64_t pulse_curl_get_offset(PulseCURL *easy, int info);
const char *pulse_curl_get_string(PulseCURL *easy, int info);

/// TLS sessions that handles on any thread resume.
struct pulse_curl_sessions;

/// A store of sessions; NULL without memory.
struct pulse_curl_sessions *pulse_curl_sessions_new(void);
/// Makes the handle use the store. A reset handle keeps it.
void pulse_curl_sessions_share(struct pulse_curl_sessions *sessions, PulseCURL *easy);
/// Frees the store, after the last handle that uses it.
void pulse_curl_sessions_free(struct pulse_curl_sessions *sessions);

/// A list of the NUL-terminated lines in `text`, in one allocation, for `free`. NULL without memory or lines.
struct pulse_curl_slist *pulse_curl_lines(const char *text, size_t length);

typedef size_t (*pulse_curl_data_callback)(char *bytes, size_t size, size_t count, void *context);
typedef int (*pulse_curl_seek_callback)(void *context, int64_t offset, int origin);
typedef int (*pulse_curl_prereq_callback)(void *context, char *remote, char *local, int remote_port, int local_port);
typedef int (*pulse_curl_debug_callback)(PulseCURL *easy, int kind, char *bytes, size_t count, void *context);
typedef pulse_curl_socket (*pulse_curl_opensocket_callback)(
    void *context, int purpose, struct pulse_curl_sockaddr *address);
typedef int (*pulse_curl_ssl_ctx_callback)(PulseCURL *easy, void *tls, void *context);
typedef int (*pulse_curl_closesocket_callback)(void *context, pulse_curl_socket socket);

#endif
