// SPDX-License-Identifier: MIT
//
// HTTP/2 framing for a client (RFC 9113), using the system's nghttp2. No I/O; only one thread at a time may use a
// session.

#ifndef PULSE_HTTP2_H
#define PULSE_HTTP2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Whether all used functions are present: nghttp2 1.40 or later. Call the functions below only after it has returned
/// true.
bool pulse_http2_load(void);

enum pulse_http2_kind {
    /// A frame header was received, of a frame that is not ignored: `type`, `count` of its payload. False fails the
    /// connection.
    PULSE_HTTP2_FRAME,
    /// A header field of a response or its trailers: `name`, `bytes`. False, if it is malformed, resets the stream.
    PULSE_HTTP2_FIELD,
    /// The fields are complete; `is_end` if END_STREAM arrived with them. False, if they are malformed, resets the
    /// stream.
    PULSE_HTTP2_FIELDS_END,
    /// A part of a body: `bytes`.
    PULSE_HTTP2_DATA,
    /// END_STREAM arrived with DATA.
    PULSE_HTTP2_END,
    /// The stream is closed; `code` of RFC 9113, section 7.
    PULSE_HTTP2_CLOSED,
    /// The server accepts no streams above `stream`; `code`.
    PULSE_HTTP2_GOAWAY,
    PULSE_HTTP2_SETTINGS,
    PULSE_HTTP2_PONG,
    /// The next bytes to send begin with the HEADERS of the stream.
    PULSE_HTTP2_BEGINS,
    /// The HEADERS of the stream will not be sent.
    PULSE_HTTP2_UNSENT,
    /// HEADERS or DATA of the stream end with the next bytes to send: `type`, `count`; `is_end` with END_STREAM.
    PULSE_HTTP2_SENT,
    /// A SETTINGS or PING frame ends with the next bytes to send.
    PULSE_HTTP2_ACKNOWLEDGED,
    /// A GOAWAY for a connection error ends with the next bytes to send: `code`; `bytes` may have the reason.
    PULSE_HTTP2_FAILED,
};

/// An event during a call. The pointers are valid until the handler returns.
struct pulse_http2_event {
    enum pulse_http2_kind kind;
    int32_t stream;
    uint32_t code;
    uint8_t type;
    bool is_end;
    const uint8_t *name;
    size_t name_count;
    const uint8_t *bytes;
    size_t count;
};

/// Frame types (RFC 9113, section 6).
enum { PULSE_HTTP2_TYPE_DATA = 0, PULSE_HTTP2_TYPE_HEADERS = 1, PULSE_HTTP2_TYPE_PUSH_PROMISE = 5,
       PULSE_HTTP2_TYPE_CONTINUATION = 9 };

struct pulse_http2_handler {
    /// Passed to the functions below, which are called during calls of the session's functions, and must call none of
    /// these.
    void *context;
    /// The result matters only for the kinds that document it.
    bool (*handle)(void *context, const struct pulse_http2_event *event);
    /// Writes the next bytes of a body, at most `count`, and returns their number; -1 if there are none yet.
    /// `pulse_http2_resume` then announces more.
    ptrdiff_t (*read)(void *context, int32_t stream, uint8_t *bytes, size_t count, bool *is_end);
};

/// The HTTP/2 session of one connection.
struct pulse_http2_session;

struct pulse_http2_limits {
    /// The windows of each stream, and of the connection.
    uint32_t stream_window, connection_window;
    /// The size of a response's fields, as RFC 9113, section 6.5.2, counts it.
    uint32_t header_list;
};

/// A session with its SETTINGS and the connection's window queued. The connection's window is replenished at receipt, a
/// stream's by `pulse_http2_consume`. NULL if out of memory.
struct pulse_http2_session *pulse_http2_session_new(
    struct pulse_http2_limits limits, struct pulse_http2_handler handler);
void pulse_http2_session_free(struct pulse_http2_session *session);

/// Reads bytes from the server. Returns 0, or a negative number for `pulse_http2_error`, which ends the session.
int pulse_http2_receive(struct pulse_http2_session *session, const void *bytes, size_t count);

/// The next bytes to send, valid until the next call: at most one frame. Returns their count; 0 if there are none, or a
/// negative number for an error.
ptrdiff_t pulse_http2_next(struct pulse_http2_session *session, const uint8_t **bytes);

/// Whether the error means too many unsent acknowledgments, or too many frames of one field block.
bool pulse_http2_is_flood(int error);

/// The message of an error, never freed.
const char *pulse_http2_error(int error);

/// Queues the HEADERS of a request. Names and values are concatenated in `bytes`, which `lengths` divides. Returns the
/// stream identifier; negative if the stream cannot be opened.
int32_t pulse_http2_submit(
    struct pulse_http2_session *session, const uint8_t *bytes, const size_t *lengths, size_t field_count,
    bool has_body);

/// Whether a new stream can be opened.
bool pulse_http2_may_submit(struct pulse_http2_session *session);

/// The body of the stream has more bytes, or has ended.
void pulse_http2_resume(struct pulse_http2_session *session, int32_t stream);

/// Replenishes the stream's window by this many bytes.
void pulse_http2_consume(struct pulse_http2_session *session, int32_t stream, size_t count);

/// Queues RST_STREAM. False if out of memory.
bool pulse_http2_reset(struct pulse_http2_session *session, int32_t stream, uint32_t code);

/// Queues PING. False if out of memory.
bool pulse_http2_ping(struct pulse_http2_session *session);

/// Queues GOAWAY without an error.
void pulse_http2_end(struct pulse_http2_session *session);

/// Queues GOAWAY for a connection error, unless one is queued. Bytes received after that are ignored.
void pulse_http2_fail(struct pulse_http2_session *session, uint32_t code);

/// The server's limit on concurrent streams.
uint32_t pulse_http2_maximum_streams(struct pulse_http2_session *session);

#endif
