// SPDX-License-Identifier: MIT
//
// The framing of HTTP/2 for a client (RFC 9113), by the system's nghttp2. No I/O; a session is for one thread at a time.

#ifndef PULSE_HTTP2_H
#define PULSE_HTTP2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Whether all used functions are present: nghttp2 1.40 or later. Call the functions below only after it has returned
/// true.
bool pulse_http2_load(void);

enum pulse_http2_kind {
    /// The header of a frame has come that is not ignored: `type`, `count` of its payload. False fails the connection.
    PULSE_HTTP2_FRAME,
    /// A header field of a response or its trailers: `name`, `bytes`. False, if it is malformed, resets the stream.
    PULSE_HTTP2_FIELD,
    /// The fields are complete; `is_end` if END_STREAM came with them. False, if they are malformed, resets the stream.
    PULSE_HTTP2_FIELDS_END,
    /// A part of a body: `bytes`.
    PULSE_HTTP2_DATA,
    /// END_STREAM came with DATA.
    PULSE_HTTP2_END,
    /// The stream is over; `code` of RFC 9113, section 7.
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
    /// A GOAWAY for an error of the connection ends with the next bytes to send: `code`, `bytes` may say why.
    PULSE_HTTP2_FAILED,
};

/// What has happened during a call. The pointers live until the handler returns.
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

/// Types of frames (RFC 9113, section 6).
enum { PULSE_HTTP2_TYPE_DATA = 0, PULSE_HTTP2_TYPE_HEADERS = 1, PULSE_HTTP2_TYPE_PUSH_PROMISE = 5,
       PULSE_HTTP2_TYPE_CONTINUATION = 9 };

struct pulse_http2_handler {
    /// Passed to the functions, which are called during calls of the session's functions, and must call none of these.
    void *context;
    /// The result matters for the kinds that say so.
    bool (*handle)(void *context, const struct pulse_http2_event *event);
    /// Writes the next bytes of a body, at most `count`, and returns their number; -1 if there are none yet. Then
    /// `pulse_http2_resume` tells that there are some.
    ptrdiff_t (*read)(void *context, int32_t stream, uint8_t *bytes, size_t count, bool *is_end);
};

/// The HTTP/2 of one connection.
struct pulse_http2_session;

struct pulse_http2_limits {
    /// Of each stream, and of the connection.
    uint32_t stream_window, connection_window;
    /// The size of a response's fields, as RFC 9113, section 6.5.2, counts it.
    uint32_t header_list;
};

/// A session that has its SETTINGS and the window of the connection to send. The connection's window is given back at
/// receipt, a stream's by `pulse_http2_consume`. NULL without memory.
struct pulse_http2_session *pulse_http2_session_new(
    struct pulse_http2_limits limits, struct pulse_http2_handler handler);
void pulse_http2_session_free(struct pulse_http2_session *session);

/// Reads bytes of the server. Returns 0, or a negative number: `pulse_http2_error`, which ends the session.
int pulse_http2_receive(struct pulse_http2_session *session, const void *bytes, size_t count);

/// The next bytes to send, which live until the next call: at most one frame. Their count; 0 if there are none, or a
/// negative number for an error.
ptrdiff_t pulse_http2_next(struct pulse_http2_session *session, const uint8_t **bytes);

/// Whether the number is that of too many unsent acknowledgments, or of too many frames of one block of fields.
bool pulse_http2_is_flood(int error);

/// In words; the text lives as long as the process.
const char *pulse_http2_error(int error);

/// Queues the HEADERS of a request. Names and values are one behind the other in `bytes`, which `lengths` divides.
/// Returns the number of the stream; negative if it cannot be opened.
int32_t pulse_http2_submit(
    struct pulse_http2_session *session, const uint8_t *bytes, const size_t *lengths, size_t field_count,
    bool has_body);

/// Whether a new stream can be opened.
bool pulse_http2_may_submit(struct pulse_http2_session *session);

/// The body of the stream has more bytes, or its end.
void pulse_http2_resume(struct pulse_http2_session *session, int32_t stream);

/// Gives back so many bytes of the stream's window.
void pulse_http2_consume(struct pulse_http2_session *session, int32_t stream, size_t count);

/// Queues RST_STREAM. False without memory.
bool pulse_http2_reset(struct pulse_http2_session *session, int32_t stream, uint32_t code);

/// Queues PING. False without memory.
bool pulse_http2_ping(struct pulse_http2_session *session);

/// Queues GOAWAY without an error.
void pulse_http2_end(struct pulse_http2_session *session);

/// Queues GOAWAY for an error of the connection, unless one is queued. What else comes is ignored.
void pulse_http2_fail(struct pulse_http2_session *session, uint32_t code);

/// How many streams the server allows at once.
uint32_t pulse_http2_maximum_streams(struct pulse_http2_session *session);

#endif
