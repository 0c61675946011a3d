// SPDX-License-Identifier: MIT
//
// The parts of nghttp2's binary interface that PulseKit uses; `Scripts/check-abi` compares them with the header.

#ifndef PULSE_HTTP2_ABI_H
#define PULSE_HTTP2_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// nghttp2/nghttp2.h
#define PULSE_NGHTTP2_VALUES(X) \
    X(NGHTTP2_DATA, 0x00) \
    X(NGHTTP2_HEADERS, 0x01) \
    X(NGHTTP2_SETTINGS, 0x04) \
    X(NGHTTP2_PING, 0x06) \
    X(NGHTTP2_GOAWAY, 0x07) \
    X(NGHTTP2_FLAG_NONE, 0x00) \
    X(NGHTTP2_FLAG_END_STREAM, 0x01) \
    X(NGHTTP2_FLAG_ACK, 0x01) \
    X(NGHTTP2_NV_FLAG_NONE, 0x00) \
    X(NGHTTP2_DATA_FLAG_EOF, 0x01) \
    X(NGHTTP2_SETTINGS_ENABLE_PUSH, 0x02) \
    X(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 0x03) \
    X(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0x04) \
    X(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, 0x06) \
    X(NGHTTP2_NO_ERROR, 0x00) \
    X(NGHTTP2_PROTOCOL_ERROR, 0x01) \
    X(NGHTTP2_ERR_DEFERRED, -508) \
    X(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE, -521) \
    X(NGHTTP2_ERR_CALLBACK_FAILURE, -902) \
    X(NGHTTP2_ERR_FLOODED, -904) \
    X(NGHTTP2_ERR_TOO_MANY_CONTINUATIONS, -905)

#define PULSE_NGHTTP2_ENUMERATOR(name, value) PULSE_##name = value,
enum { PULSE_NGHTTP2_VALUES(PULSE_NGHTTP2_ENUMERATOR) };
#undef PULSE_NGHTTP2_ENUMERATOR

// nghttp2_frame_hd
struct pulse_nghttp2_frame_hd {
    size_t length;
    int32_t stream_id;
    uint8_t type;
    uint8_t flags;
    uint8_t reserved;
};

// nghttp2_goaway
struct pulse_nghttp2_goaway {
    struct pulse_nghttp2_frame_hd hd;
    int32_t last_stream_id;
    uint32_t error_code;
    uint8_t *opaque_data;
    size_t opaque_data_len;
    uint8_t reserved;
};

// nghttp2_frame, with only the members that are read here.
union pulse_nghttp2_frame {
    struct pulse_nghttp2_frame_hd hd;
    struct pulse_nghttp2_goaway goaway;
};

// nghttp2_nv
struct pulse_nghttp2_nv {
    uint8_t *name;
    uint8_t *value;
    size_t namelen;
    size_t valuelen;
    uint8_t flags;
};

// nghttp2_settings_entry
struct pulse_nghttp2_settings_entry {
    int32_t settings_id;
    uint32_t value;
};

// nghttp2_data_source
union pulse_nghttp2_data_source {
    int fd;
    void *ptr;
};

// A session is opaque, a `void *`; so are options and callbacks.
typedef ssize_t (*pulse_nghttp2_data_source_read_callback)(
    void *session, int32_t stream, uint8_t *bytes, size_t count, uint32_t *flags,
    union pulse_nghttp2_data_source *source, void *context);
typedef int (*pulse_nghttp2_on_begin_frame_callback)(
    void *session, const struct pulse_nghttp2_frame_hd *header, void *context);
typedef int (*pulse_nghttp2_frame_callback)(void *session, const union pulse_nghttp2_frame *frame, void *context);
typedef int (*pulse_nghttp2_on_frame_not_send_callback)(
    void *session, const union pulse_nghttp2_frame *frame, int error, void *context);
typedef int (*pulse_nghttp2_on_header_callback)(
    void *session, const union pulse_nghttp2_frame *frame, const uint8_t *name, size_t name_count,
    const uint8_t *value, size_t value_count, uint8_t flags, void *context);
typedef int (*pulse_nghttp2_on_data_chunk_recv_callback)(
    void *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t count, void *context);
typedef int (*pulse_nghttp2_on_stream_close_callback)(void *session, int32_t stream, uint32_t code, void *context);

// nghttp2_data_provider
struct pulse_nghttp2_data_provider {
    union pulse_nghttp2_data_source source;
    pulse_nghttp2_data_source_read_callback read_callback;
};

// nghttp2/nghttp2.h of 1.40 and later; result, name, parameters.
#define PULSE_NGHTTP2_FUNCTIONS(X) \
    X(const char *, nghttp2_strerror, (int)) \
    X(int, nghttp2_option_new, (void **)) \
    X(void, nghttp2_option_del, (void *)) \
    X(void, nghttp2_option_set_no_auto_window_update, (void *, int)) \
    X(void, nghttp2_option_set_no_closed_streams, (void *, int)) \
    X(void, nghttp2_option_set_max_reserved_remote_streams, (void *, uint32_t)) \
    X(void, nghttp2_option_set_max_send_header_block_length, (void *, size_t)) \
    X(void, nghttp2_option_set_max_outbound_ack, (void *, size_t)) \
    X(int, nghttp2_session_callbacks_new, (void **)) \
    X(void, nghttp2_session_callbacks_del, (void *)) \
    X(void, nghttp2_session_callbacks_set_on_begin_frame_callback, (void *, pulse_nghttp2_on_begin_frame_callback)) \
    X(void, nghttp2_session_callbacks_set_on_frame_recv_callback, (void *, pulse_nghttp2_frame_callback)) \
    X(void, nghttp2_session_callbacks_set_on_header_callback, (void *, pulse_nghttp2_on_header_callback)) \
    X(void, nghttp2_session_callbacks_set_on_invalid_header_callback, (void *, pulse_nghttp2_on_header_callback)) \
    X(void, nghttp2_session_callbacks_set_on_data_chunk_recv_callback, \
      (void *, pulse_nghttp2_on_data_chunk_recv_callback)) \
    X(void, nghttp2_session_callbacks_set_on_stream_close_callback, (void *, pulse_nghttp2_on_stream_close_callback)) \
    X(void, nghttp2_session_callbacks_set_before_frame_send_callback, (void *, pulse_nghttp2_frame_callback)) \
    X(void, nghttp2_session_callbacks_set_on_frame_send_callback, (void *, pulse_nghttp2_frame_callback)) \
    X(void, nghttp2_session_callbacks_set_on_frame_not_send_callback, \
      (void *, pulse_nghttp2_on_frame_not_send_callback)) \
    X(int, nghttp2_session_client_new2, (void **, const void *, void *, const void *)) \
    X(void, nghttp2_session_del, (void *)) \
    X(ssize_t, nghttp2_session_mem_recv, (void *, const uint8_t *, size_t)) \
    X(ssize_t, nghttp2_session_mem_send, (void *, const uint8_t **)) \
    X(int, nghttp2_session_resume_data, (void *, int32_t)) \
    X(int, nghttp2_session_set_local_window_size, (void *, uint8_t, int32_t, int32_t)) \
    X(int, nghttp2_session_consume_connection, (void *, size_t)) \
    X(int, nghttp2_session_consume_stream, (void *, int32_t, size_t)) \
    X(int, nghttp2_session_check_request_allowed, (void *)) \
    X(int, nghttp2_session_terminate_session, (void *, uint32_t)) \
    X(uint32_t, nghttp2_session_get_remote_settings, (void *, int)) \
    X(int32_t, nghttp2_submit_request, \
      (void *, const void *, const struct pulse_nghttp2_nv *, size_t, const struct pulse_nghttp2_data_provider *, \
       void *)) \
    X(int, nghttp2_submit_settings, (void *, uint8_t, const struct pulse_nghttp2_settings_entry *, size_t)) \
    X(int, nghttp2_submit_rst_stream, (void *, uint8_t, int32_t, uint32_t)) \
    X(int, nghttp2_submit_ping, (void *, uint8_t, const uint8_t *)) \
    X(int, nghttp2_submit_goaway, (void *, uint8_t, int32_t, uint32_t, const uint8_t *, size_t))

// Of 1.61 and later, and of earlier versions with a distribution's backport.
#define PULSE_NGHTTP2_LATER_FUNCTIONS(X) \
    X(void, nghttp2_option_set_max_continuations, (void *, size_t))

// Of 1.67 and later.
#define PULSE_NGHTTP2_LATEST_FUNCTIONS(X) \
    X(void, nghttp2_option_set_glitch_rate_limit, (void *, uint64_t, uint64_t))

#endif
