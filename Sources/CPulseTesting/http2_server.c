// SPDX-License-Identifier: MIT

#if defined(__linux__)

#include "http2_server.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

// nghttp2.h. A frame begins with its header.
struct frame_head {
    size_t length;
    int32_t stream_id;
    uint8_t type, flags, reserved;
};

struct name_value {
    uint8_t *name, *value;
    size_t name_count, value_count;
    uint8_t flags;
};

struct setting {
    int32_t id;
    uint32_t value;
};

union body_source {
    int number;
    void *pointer;
};

typedef ssize_t (*body_reader)(
    void *session, int32_t stream, uint8_t *bytes, size_t capacity, uint32_t *flags, union body_source *source,
    void *server);

struct body_provider {
    union body_source source;
    body_reader read;
};

typedef int (*header_callback)(
    void *session, const struct frame_head *frame, const uint8_t *name, size_t name_count, const uint8_t *value,
    size_t value_count, uint8_t flags, void *server);
typedef int (*frame_callback)(void *session, const struct frame_head *frame, void *server);
typedef int (*data_callback)(
    void *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t count, void *server);
typedef int (*close_callback)(void *session, int32_t stream, uint32_t code, void *server);

// nghttp2/nghttp2.h, 1.30 and later; result, name, parameters.
#define PULSE_HTTP2_SERVER_FUNCTIONS(X) \
    X(int, nghttp2_session_callbacks_new, (void **)) \
    X(void, nghttp2_session_callbacks_del, (void *)) \
    X(void, nghttp2_session_callbacks_set_on_header_callback, (void *, header_callback)) \
    X(void, nghttp2_session_callbacks_set_on_frame_recv_callback, (void *, frame_callback)) \
    X(void, nghttp2_session_callbacks_set_on_frame_send_callback, (void *, frame_callback)) \
    X(void, nghttp2_session_callbacks_set_on_data_chunk_recv_callback, (void *, data_callback)) \
    X(void, nghttp2_session_callbacks_set_on_stream_close_callback, (void *, close_callback)) \
    X(int, nghttp2_option_new, (void **)) \
    X(void, nghttp2_option_del, (void *)) \
    X(void, nghttp2_option_set_no_auto_window_update, (void *, int)) \
    X(void, nghttp2_option_set_max_send_header_block_length, (void *, size_t)) \
    X(int, nghttp2_session_server_new2, (void **, const void *, void *, const void *)) \
    X(void, nghttp2_session_del, (void *)) \
    X(ssize_t, nghttp2_session_mem_recv, (void *, const uint8_t *, size_t)) \
    X(ssize_t, nghttp2_session_mem_send, (void *, const uint8_t **)) \
    X(int, nghttp2_session_want_read, (void *)) \
    X(int, nghttp2_session_want_write, (void *)) \
    X(int, nghttp2_session_get_stream_remote_close, (void *, int32_t)) \
    X(int32_t, nghttp2_session_get_last_proc_stream_id, (void *)) \
    X(int, nghttp2_session_set_local_window_size, (void *, uint8_t, int32_t, int32_t)) \
    X(int, nghttp2_session_consume, (void *, int32_t, size_t)) \
    X(int, nghttp2_session_resume_data, (void *, int32_t)) \
    X(int, nghttp2_submit_settings, (void *, uint8_t, const struct setting *, size_t)) \
    X(int, nghttp2_submit_response, \
        (void *, int32_t, const struct name_value *, size_t, const struct body_provider *)) \
    X(int32_t, nghttp2_submit_headers, \
        (void *, uint8_t, int32_t, const void *, const struct name_value *, size_t, void *)) \
    X(int, nghttp2_submit_trailer, (void *, int32_t, const struct name_value *, size_t)) \
    X(int, nghttp2_submit_rst_stream, (void *, uint8_t, int32_t, uint32_t)) \
    X(int, nghttp2_submit_goaway, (void *, uint8_t, int32_t, uint32_t, const uint8_t *, size_t))

static struct {
#define PULSE_HTTP2_SERVER_MEMBER(result, name, parameters) result(*name) parameters;
    PULSE_HTTP2_SERVER_FUNCTIONS(PULSE_HTTP2_SERVER_MEMBER)
#undef PULSE_HTTP2_SERVER_MEMBER
} http2;

#define PULSE_HTTP2_SERVER_VALUES(X) \
    X(NGHTTP2_ERR_DEFERRED, -508) \
    X(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE, -521) \
    X(NGHTTP2_DATA, 0) \
    X(NGHTTP2_HEADERS, 1) \
    X(NGHTTP2_FLAG_NONE, 0) \
    X(NGHTTP2_FLAG_END_STREAM, 1) \
    X(NGHTTP2_DATA_FLAG_EOF, 1) \
    X(NGHTTP2_DATA_FLAG_NO_END_STREAM, 2) \
    X(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 3) \
    X(NGHTTP2_NO_ERROR, 0)

enum {
#define PULSE_HTTP2_SERVER_VALUE(name, value) PULSE_##name = value,
    PULSE_HTTP2_SERVER_VALUES(PULSE_HTTP2_SERVER_VALUE)
#undef PULSE_HTTP2_SERVER_VALUE
};

// A waiting stream blocks no other stream: the connection's window is larger than those of all its streams together.
enum { CONNECTION_WINDOW = 64 << 20, HEADER_BLOCK_LIMIT = 16 << 20 };

static bool is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    void *library = dlopen("libnghttp2.so.14", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return;
#define PULSE_HTTP2_SERVER_RESOLVE(result, name, parameters) \
    *(void **)&http2.name = dlsym(library, #name); \
    if (http2.name == NULL) return;
    PULSE_HTTP2_SERVER_FUNCTIONS(PULSE_HTTP2_SERVER_RESOLVE)
#undef PULSE_HTTP2_SERVER_RESOLVE
    is_loaded = true;
}

bool pulse_http2_can_serve(void) {
    pthread_once(&once, load);
    return is_loaded;
}

struct pulse_http2_server {
    // An `nghttp2_session *`.
    void *session;
    struct pulse_http2_server_calls calls;
};

// MARK: Callbacks

static int on_header(
    void *session, const struct frame_head *frame, const uint8_t *name, size_t name_count, const uint8_t *value,
    size_t value_count, uint8_t flags, void *context) {
    (void)session, (void)flags;
    struct pulse_http2_server *server = context;
    server->calls.field(server->calls.context, frame->stream_id, name, name_count, value, value_count);
    return 0;
}

// The category of HEADERS, at the end of `nghttp2_headers`.
struct headers_frame {
    struct frame_head head;
    size_t padding;
    struct {
        int32_t stream_id, weight;
        uint8_t is_exclusive;
    } priority;
    struct name_value *fields;
    size_t count;
    int category;
};

enum { REQUEST_CATEGORY = 0 };

static int on_frame(void *session, const struct frame_head *frame, void *context) {
    (void)session;
    struct pulse_http2_server *server = context;
    if (frame->type != PULSE_NGHTTP2_HEADERS && frame->type != PULSE_NGHTTP2_DATA) return 0;
    bool is_last = (frame->flags & PULSE_NGHTTP2_FLAG_END_STREAM) != 0;
    if (frame->type == PULSE_NGHTTP2_HEADERS) {
        bool are_trailers = ((const struct headers_frame *)frame)->category != REQUEST_CATEGORY;
        server->calls.fields_ended(server->calls.context, frame->stream_id, are_trailers, is_last);
    }
    if (is_last) server->calls.ended(server->calls.context, frame->stream_id);
    return 0;
}

static int on_data(
    void *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t count, void *context) {
    (void)session, (void)flags;
    struct pulse_http2_server *server = context;
    server->calls.data(server->calls.context, stream, bytes, count);
    return 0;
}

// A complete response ends an upload whose rest is not needed (RFC 9113, section 8.1).
static int on_sent(void *session, const struct frame_head *frame, void *context) {
    (void)context;
    if (frame->type != PULSE_NGHTTP2_HEADERS && frame->type != PULSE_NGHTTP2_DATA) return 0;
    if (!(frame->flags & PULSE_NGHTTP2_FLAG_END_STREAM)) return 0;
    if (http2.nghttp2_session_get_stream_remote_close(session, frame->stream_id) == 0) {
        http2.nghttp2_submit_rst_stream(session, PULSE_NGHTTP2_FLAG_NONE, frame->stream_id, PULSE_NGHTTP2_NO_ERROR);
    }
    return 0;
}

static int on_close(void *session, int32_t stream, uint32_t code, void *context) {
    (void)session, (void)code;
    struct pulse_http2_server *server = context;
    server->calls.closed(server->calls.context, stream);
    return 0;
}

static ssize_t read_body(
    void *session, int32_t stream, uint8_t *bytes, size_t capacity, uint32_t *flags, union body_source *source,
    void *context) {
    (void)session, (void)source;
    struct pulse_http2_server *server = context;
    ssize_t count = server->calls.read(server->calls.context, stream, bytes, capacity);
    switch (count) {
    case PULSE_HTTP2_SERVER_BODY_WAITS:
        return PULSE_NGHTTP2_ERR_DEFERRED;
    case PULSE_HTTP2_SERVER_BODY_CUT:
        return PULSE_NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    case PULSE_HTTP2_SERVER_BODY_HAS_TRAILERS:
        *flags |= PULSE_NGHTTP2_DATA_FLAG_NO_END_STREAM;
        // Falls through.
    case PULSE_HTTP2_SERVER_BODY_ENDED:
        *flags |= PULSE_NGHTTP2_DATA_FLAG_EOF;
        return 0;
    default:
        return count;
    }
}

// MARK: A connection

static bool start(struct pulse_http2_server *server, uint32_t maximum_streams) {
    void *callbacks = NULL, *options = NULL;
    if (http2.nghttp2_session_callbacks_new(&callbacks) != 0) return false;
    if (http2.nghttp2_option_new(&options) != 0) {
        http2.nghttp2_session_callbacks_del(callbacks);
        return false;
    }
    http2.nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    http2.nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    http2.nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_sent);
    http2.nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    http2.nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    http2.nghttp2_option_set_no_auto_window_update(options, 1);
    http2.nghttp2_option_set_max_send_header_block_length(options, HEADER_BLOCK_LIMIT);
    struct setting streams = {PULSE_NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, maximum_streams};
    bool is_ready = http2.nghttp2_session_server_new2(&server->session, callbacks, server, options) == 0
        && http2.nghttp2_submit_settings(server->session, PULSE_NGHTTP2_FLAG_NONE, &streams, 1) == 0
        && http2.nghttp2_session_set_local_window_size(
               server->session, PULSE_NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW) == 0;
    http2.nghttp2_option_del(options);
    http2.nghttp2_session_callbacks_del(callbacks);
    return is_ready;
}

struct pulse_http2_server *pulse_http2_server_new(
    const struct pulse_http2_server_calls *calls, uint32_t maximum_streams) {
    struct pulse_http2_server *server = calloc(1, sizeof *server);
    if (server == NULL) return NULL;
    server->calls = *calls;
    if (start(server, maximum_streams)) return server;
    pulse_http2_server_free(server);
    return NULL;
}

void pulse_http2_server_free(struct pulse_http2_server *server) {
    // Deleting the session invokes no callback.
    if (server->session != NULL) http2.nghttp2_session_del(server->session);
    free(server);
}

bool pulse_http2_server_feed(struct pulse_http2_server *server, const void *bytes, size_t count) {
    return http2.nghttp2_session_mem_recv(server->session, bytes, count) == (ssize_t)count;
}

size_t pulse_http2_server_take(struct pulse_http2_server *server, const uint8_t **bytes) {
    ssize_t count = http2.nghttp2_session_mem_send(server->session, bytes);
    return count > 0 ? (size_t)count : 0;
}

bool pulse_http2_server_is_over(struct pulse_http2_server *server) {
    return http2.nghttp2_session_want_read(server->session) == 0
        && http2.nghttp2_session_want_write(server->session) == 0;
}

// MARK: Responses

// nghttp2 copies the fields. NULL if out of memory; the count may be 0.
static struct name_value *named_values(const uint8_t *text, const struct pulse_http2_server_field *fields, size_t count) {
    struct name_value *all = calloc(count + 1, sizeof *all);
    for (size_t index = 0; all != NULL && index < count; index++) {
        all[index].name = (uint8_t *)text;
        all[index].name_count = fields[index].name_count;
        text += fields[index].name_count;
        all[index].value = (uint8_t *)text;
        all[index].value_count = fields[index].value_count;
        text += fields[index].value_count;
    }
    return all;
}

bool pulse_http2_server_respond(
    struct pulse_http2_server *server, int32_t stream, const uint8_t *text, const struct pulse_http2_server_field *fields,
    size_t count, bool has_body) {
    struct name_value *all = named_values(text, fields, count);
    if (all == NULL) return false;
    struct body_provider body = {.read = read_body};
    int result = http2.nghttp2_submit_response(server->session, stream, all, count, has_body ? &body : NULL);
    free(all);
    return result == 0;
}

bool pulse_http2_server_inform(
    struct pulse_http2_server *server, int32_t stream, const uint8_t *text, const struct pulse_http2_server_field *fields,
    size_t count) {
    struct name_value *all = named_values(text, fields, count);
    if (all == NULL) return false;
    int32_t result =
        http2.nghttp2_submit_headers(server->session, PULSE_NGHTTP2_FLAG_NONE, stream, NULL, all, count, NULL);
    free(all);
    return result == 0;
}

bool pulse_http2_server_trailers(
    struct pulse_http2_server *server, int32_t stream, const uint8_t *text, const struct pulse_http2_server_field *fields,
    size_t count) {
    struct name_value *all = named_values(text, fields, count);
    if (all == NULL) return false;
    int result = http2.nghttp2_submit_trailer(server->session, stream, all, count);
    free(all);
    return result == 0;
}

void pulse_http2_server_resume(struct pulse_http2_server *server, int32_t stream) {
    http2.nghttp2_session_resume_data(server->session, stream);
}

void pulse_http2_server_reset(struct pulse_http2_server *server, int32_t stream, uint32_t code) {
    http2.nghttp2_submit_rst_stream(server->session, PULSE_NGHTTP2_FLAG_NONE, stream, code);
}

void pulse_http2_server_consume(struct pulse_http2_server *server, int32_t stream, size_t count) {
    http2.nghttp2_session_consume(server->session, stream, count);
}

void pulse_http2_server_end(struct pulse_http2_server *server) {
    int32_t last = http2.nghttp2_session_get_last_proc_stream_id(server->session);
    http2.nghttp2_submit_goaway(
        server->session, PULSE_NGHTTP2_FLAG_NONE, last, PULSE_NGHTTP2_NO_ERROR, NULL, 0);
}

#endif
