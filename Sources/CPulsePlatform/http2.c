// SPDX-License-Identifier: MIT

#if defined(__linux__)

#include "http2.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "http2_abi.h"

static struct {
#define PULSE_NGHTTP2_MEMBER(result, name, parameters) result(*name) parameters;
    PULSE_NGHTTP2_FUNCTIONS(PULSE_NGHTTP2_MEMBER)
    PULSE_NGHTTP2_LATER_FUNCTIONS(PULSE_NGHTTP2_MEMBER)
    PULSE_NGHTTP2_LATEST_FUNCTIONS(PULSE_NGHTTP2_MEMBER)
#undef PULSE_NGHTTP2_MEMBER
} library;

static bool is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    void *handle = dlopen("libnghttp2.so.14", RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) return;
#define PULSE_NGHTTP2_RESOLVE(result, name, parameters) *(void **)&library.name = dlsym(handle, #name);
#define PULSE_NGHTTP2_REQUIRE(result, name, parameters) \
    if (library.name == NULL) return;
    PULSE_NGHTTP2_FUNCTIONS(PULSE_NGHTTP2_RESOLVE)
    PULSE_NGHTTP2_LATER_FUNCTIONS(PULSE_NGHTTP2_RESOLVE)
    PULSE_NGHTTP2_LATEST_FUNCTIONS(PULSE_NGHTTP2_RESOLVE)
    PULSE_NGHTTP2_FUNCTIONS(PULSE_NGHTTP2_REQUIRE)
#undef PULSE_NGHTTP2_RESOLVE
#undef PULSE_NGHTTP2_REQUIRE
    is_loaded = true;
}

bool pulse_http2_load(void) {
    pthread_once(&once, load);
    return is_loaded;
}

struct pulse_http2_session {
    void *session;
    struct pulse_http2_handler handler;
};

// MARK: Events

typedef union pulse_nghttp2_frame frame_t;

static bool tell(const struct pulse_http2_session *self, struct pulse_http2_event event) {
    return self->handler.handle(self->handler.context, &event);
}

static int begin_frame(void *session, const struct pulse_nghttp2_frame_hd *header, void *context) {
    (void)session;
    struct pulse_http2_event event = {
        .kind = PULSE_HTTP2_FRAME, .stream = header->stream_id, .type = header->type, .count = header->length};
    return tell(context, event) ? 0 : PULSE_NGHTTP2_ERR_CALLBACK_FAILURE;
}

// nghttp2 would send INTERNAL_ERROR, unless a reset is queued.
static int reset_malformed(void *session, const frame_t *frame) {
    int result = library.nghttp2_submit_rst_stream(
        session, PULSE_NGHTTP2_FLAG_NONE, frame->hd.stream_id, PULSE_NGHTTP2_PROTOCOL_ERROR);
    return result == 0 ? PULSE_NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE : PULSE_NGHTTP2_ERR_CALLBACK_FAILURE;
}

static bool is_blank(uint8_t octet) { return octet == ' ' || octet == '\t'; }

static int header(
    void *session, const frame_t *frame, const uint8_t *name, size_t name_count, const uint8_t *value,
    size_t value_count, uint8_t flags, void *context) {
    (void)flags;
    // Malformed (RFC 9113, section 8.2.1), and accepted by nghttp2 before 1.50.
    if (value_count > 0 && (is_blank(value[0]) || is_blank(value[value_count - 1]))) {
        return reset_malformed(session, frame);
    }
    struct pulse_http2_event event = {
        .kind = PULSE_HTTP2_FIELD, .stream = frame->hd.stream_id, .name = name, .name_count = name_count,
        .bytes = value, .count = value_count};
    return tell(context, event) ? 0 : reset_malformed(session, frame);
}

// nghttp2 would drop the field from a response, but the response is malformed (RFC 9113, section 8.2.1).
static int invalid_header(
    void *session, const frame_t *frame, const uint8_t *name, size_t name_count, const uint8_t *value,
    size_t value_count, uint8_t flags, void *context) {
    (void)name, (void)name_count, (void)value, (void)value_count, (void)flags, (void)context;
    return reset_malformed(session, frame);
}

static int data_chunk(
    void *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t count, void *context) {
    (void)flags;
    tell(context, (struct pulse_http2_event){
        .kind = PULSE_HTTP2_DATA, .stream = stream, .bytes = bytes, .count = count});
    // A stream without a reader blocks only itself.
    return library.nghttp2_session_consume_connection(session, count) == 0 ? 0 : PULSE_NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int frame_received(void *session, const frame_t *frame, void *context) {
    struct pulse_http2_event event = {.stream = frame->hd.stream_id};
    bool is_ack = frame->hd.flags & PULSE_NGHTTP2_FLAG_ACK;
    switch (frame->hd.type) {
    case PULSE_NGHTTP2_HEADERS:
        event.kind = PULSE_HTTP2_FIELDS_END;
        event.is_end = frame->hd.flags & PULSE_NGHTTP2_FLAG_END_STREAM;
        // Not a temporal failure, which has no effect here.
        if (!tell(context, event) && reset_malformed(session, frame) == PULSE_NGHTTP2_ERR_CALLBACK_FAILURE) {
            return PULSE_NGHTTP2_ERR_CALLBACK_FAILURE;
        }
        return 0;
    case PULSE_NGHTTP2_DATA:
        if ((frame->hd.flags & PULSE_NGHTTP2_FLAG_END_STREAM) == 0) return 0;
        event.kind = PULSE_HTTP2_END;
        break;
    case PULSE_NGHTTP2_SETTINGS:
        if (is_ack) return 0;
        event.kind = PULSE_HTTP2_SETTINGS;
        break;
    case PULSE_NGHTTP2_PING:
        if (!is_ack) return 0;
        event.kind = PULSE_HTTP2_PONG;
        break;
    case PULSE_NGHTTP2_GOAWAY:
        event.kind = PULSE_HTTP2_GOAWAY;
        event.stream = frame->goaway.last_stream_id;
        event.code = frame->goaway.error_code;
        break;
    default:
        return 0;
    }
    tell(context, event);
    return 0;
}

static int stream_closed(void *session, int32_t stream, uint32_t code, void *context) {
    (void)session;
    tell(context, (struct pulse_http2_event){.kind = PULSE_HTTP2_CLOSED, .stream = stream, .code = code});
    return 0;
}

static int frame_begins(void *session, const frame_t *frame, void *context) {
    (void)session;
    if (frame->hd.type == PULSE_NGHTTP2_HEADERS) {
        tell(context, (struct pulse_http2_event){.kind = PULSE_HTTP2_BEGINS, .stream = frame->hd.stream_id});
    }
    return 0;
}

static int frame_sent(void *session, const frame_t *frame, void *context) {
    (void)session;
    struct pulse_http2_event event = {
        .kind = PULSE_HTTP2_SENT, .stream = frame->hd.stream_id, .type = frame->hd.type, .count = frame->hd.length};
    switch (frame->hd.type) {
    case PULSE_NGHTTP2_HEADERS:
    case PULSE_NGHTTP2_DATA:
        event.is_end = frame->hd.flags & PULSE_NGHTTP2_FLAG_END_STREAM;
        break;
    case PULSE_NGHTTP2_SETTINGS:
    case PULSE_NGHTTP2_PING:
        event.kind = PULSE_HTTP2_ACKNOWLEDGED;
        break;
    case PULSE_NGHTTP2_GOAWAY:
        if (frame->goaway.error_code == PULSE_NGHTTP2_NO_ERROR) return 0;
        event.kind = PULSE_HTTP2_FAILED;
        event.code = frame->goaway.error_code;
        event.bytes = frame->goaway.opaque_data;
        event.count = frame->goaway.opaque_data_len;
        break;
    default:
        return 0;
    }
    tell(context, event);
    return 0;
}

static int frame_not_sent(void *session, const frame_t *frame, int error, void *context) {
    (void)session, (void)error;
    if (frame->hd.type == PULSE_NGHTTP2_HEADERS) {
        tell(context, (struct pulse_http2_event){.kind = PULSE_HTTP2_UNSENT, .stream = frame->hd.stream_id});
    }
    return 0;
}

static ssize_t read_body(
    void *session, int32_t stream, uint8_t *bytes, size_t count, uint32_t *flags,
    union pulse_nghttp2_data_source *source, void *context) {
    (void)session, (void)source;
    const struct pulse_http2_session *self = context;
    bool is_end = false;
    ptrdiff_t read = self->handler.read(self->handler.context, stream, bytes, count, &is_end);
    if (read < 0) return PULSE_NGHTTP2_ERR_DEFERRED;
    if (is_end) *flags |= PULSE_NGHTTP2_DATA_FLAG_EOF;
    return read;
}

// MARK: Sessions

// The size of the largest request head, and the number of frames of the largest response head, unless they are small.
enum { MOST_SENT_HEADER_BYTES = 256 << 10, MOST_CONTINUATIONS = 64, MOST_UNSENT_ACKS = 1000 };

// A session's owner counts the frames without progress. nghttp2 also counts some of them, but regardless of progress:
// the limit of 1.67, 1,000 and then 33 per second, ends the connection after a few cancelled large downloads.
enum { MOST_GLITCHES = 1 << 30 };

static bool make(struct pulse_http2_session *self) {
    void *callbacks = NULL, *options = NULL;
    if (library.nghttp2_session_callbacks_new(&callbacks) == 0 && library.nghttp2_option_new(&options) == 0) {
        library.nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, begin_frame);
        library.nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frame_received);
        library.nghttp2_session_callbacks_set_on_header_callback(callbacks, header);
        library.nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, invalid_header);
        library.nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, data_chunk);
        library.nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, stream_closed);
        library.nghttp2_session_callbacks_set_before_frame_send_callback(callbacks, frame_begins);
        library.nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, frame_sent);
        library.nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, frame_not_sent);
        library.nghttp2_option_set_no_auto_window_update(options, 1);
        library.nghttp2_option_set_no_closed_streams(options, 1);
        library.nghttp2_option_set_max_reserved_remote_streams(options, 0);
        library.nghttp2_option_set_max_send_header_block_length(options, MOST_SENT_HEADER_BYTES);
        library.nghttp2_option_set_max_outbound_ack(options, MOST_UNSENT_ACKS);
        if (library.nghttp2_option_set_max_continuations != NULL) {
            library.nghttp2_option_set_max_continuations(options, MOST_CONTINUATIONS);
        }
        if (library.nghttp2_option_set_glitch_rate_limit != NULL) {
            library.nghttp2_option_set_glitch_rate_limit(options, MOST_GLITCHES, MOST_GLITCHES);
        }
        if (library.nghttp2_session_client_new2(&self->session, callbacks, self, options) != 0) self->session = NULL;
    }
    // Both functions accept NULL.
    library.nghttp2_session_callbacks_del(callbacks);
    library.nghttp2_option_del(options);
    return self->session != NULL;
}

struct pulse_http2_session *pulse_http2_session_new(
    struct pulse_http2_limits limits, struct pulse_http2_handler handler) {
    struct pulse_http2_session *self = calloc(1, sizeof *self);
    if (self == NULL) return NULL;
    self->handler = handler;
    const struct pulse_nghttp2_settings_entry settings[] = {
        {PULSE_NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {PULSE_NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits.stream_window},
        {PULSE_NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits.header_list},
    };
    if (make(self)
        && library.nghttp2_submit_settings(
               self->session, PULSE_NGHTTP2_FLAG_NONE, settings, sizeof settings / sizeof *settings) == 0
        && library.nghttp2_session_set_local_window_size(
               self->session, PULSE_NGHTTP2_FLAG_NONE, 0, (int32_t)limits.connection_window) == 0) {
        return self;
    }
    pulse_http2_session_free(self);
    return NULL;
}

void pulse_http2_session_free(struct pulse_http2_session *self) {
    if (self->session != NULL) library.nghttp2_session_del(self->session);
    free(self);
}

int pulse_http2_receive(struct pulse_http2_session *self, const void *bytes, size_t count) {
    // All bytes are read: no callback pauses.
    ssize_t result = library.nghttp2_session_mem_recv(self->session, bytes, count);
    return result < 0 ? (int)result : 0;
}

ptrdiff_t pulse_http2_next(struct pulse_http2_session *self, const uint8_t **bytes) {
    return library.nghttp2_session_mem_send(self->session, bytes);
}

bool pulse_http2_is_flood(int error) {
    return error == PULSE_NGHTTP2_ERR_FLOODED || error == PULSE_NGHTTP2_ERR_TOO_MANY_CONTINUATIONS;
}

const char *pulse_http2_error(int error) { return library.nghttp2_strerror(error); }

// MARK: Requests

int32_t pulse_http2_submit(
    struct pulse_http2_session *self, const uint8_t *bytes, const size_t *lengths, size_t field_count,
    bool has_body) {
    struct pulse_nghttp2_nv *fields = calloc(field_count, sizeof *fields);
    if (fields == NULL) return -1;
    // nghttp2 only reads them, and copies them before it returns.
    uint8_t *next = (uint8_t *)bytes;
    for (size_t index = 0; index < field_count; index++) {
        size_t name_count = lengths[2 * index], value_count = lengths[2 * index + 1];
        fields[index] = (struct pulse_nghttp2_nv){
            next, next + name_count, name_count, value_count, PULSE_NGHTTP2_NV_FLAG_NONE};
        next += name_count + value_count;
    }
    struct pulse_nghttp2_data_provider body = {.read_callback = read_body};
    int32_t stream =
        library.nghttp2_submit_request(self->session, NULL, fields, field_count, has_body ? &body : NULL, NULL);
    free(fields);
    return stream;
}

bool pulse_http2_may_submit(struct pulse_http2_session *self) {
    return library.nghttp2_session_check_request_allowed(self->session) != 0;
}

void pulse_http2_resume(struct pulse_http2_session *self, int32_t stream) {
    // Fails if the body is not deferred: then it is read anyway, or never again.
    library.nghttp2_session_resume_data(self->session, stream);
}

void pulse_http2_consume(struct pulse_http2_session *self, int32_t stream, size_t count) {
    library.nghttp2_session_consume_stream(self->session, stream, count);
}

bool pulse_http2_reset(struct pulse_http2_session *self, int32_t stream, uint32_t code) {
    return library.nghttp2_submit_rst_stream(self->session, PULSE_NGHTTP2_FLAG_NONE, stream, code) == 0;
}

bool pulse_http2_ping(struct pulse_http2_session *self) {
    return library.nghttp2_submit_ping(self->session, PULSE_NGHTTP2_FLAG_NONE, NULL) == 0;
}

void pulse_http2_end(struct pulse_http2_session *self) {
    library.nghttp2_submit_goaway(self->session, PULSE_NGHTTP2_FLAG_NONE, 0, PULSE_NGHTTP2_NO_ERROR, NULL, 0);
}

void pulse_http2_fail(struct pulse_http2_session *self, uint32_t code) {
    library.nghttp2_session_terminate_session(self->session, code);
}

uint32_t pulse_http2_maximum_streams(struct pulse_http2_session *self) {
    return library.nghttp2_session_get_remote_settings(
        self->session, PULSE_NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
}

#endif
