// SPDX-License-Identifier: MIT
//
// Server-side HTTP/2 (RFC 9113) over memory buffers, for tests, by the system's nghttp2: the caller transports the
// bytes.

#ifndef PULSE_HTTP2_SERVER_H
#define PULSE_HTTP2_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Whether all used functions are present. Call the functions below only after it has returned true.
bool pulse_http2_can_serve(void);

/// What `read` of `pulse_http2_server_calls` returns besides a count of bytes.
enum {
    /// There are no bytes now: `pulse_http2_server_resume` calls `read` again.
    PULSE_HTTP2_SERVER_BODY_WAITS = 0,
    /// The body has ended.
    PULSE_HTTP2_SERVER_BODY_ENDED = -1,
    /// The body has ended, and trailers were passed to `pulse_http2_server_trailers`.
    PULSE_HTTP2_SERVER_BODY_HAS_TRAILERS = -2,
    /// The body is incomplete: the stream is reset with INTERNAL_ERROR.
    PULSE_HTTP2_SERVER_BODY_CUT = -3,
};

/// Called within `pulse_http2_server_feed` and `pulse_http2_server_take`.
struct pulse_http2_server_calls {
    void *context;
    /// A field of a request, or of its trailers.
    void (*field)(
        void *context, int32_t stream, const uint8_t *name, size_t name_count, const uint8_t *value, size_t value_count);
    /// The end of the fields of a request, or of its trailers. `is_last`: no body follows.
    void (*fields_ended)(void *context, int32_t stream, bool are_trailers, bool is_last);
    void (*data)(void *context, int32_t stream, const uint8_t *bytes, size_t count);
    /// The request is complete.
    void (*ended)(void *context, int32_t stream);
    /// The stream is closed, by both ends or a reset.
    void (*closed)(void *context, int32_t stream);
    /// Copies bytes of a response's body.
    ssize_t (*read)(void *context, int32_t stream, uint8_t *bytes, size_t capacity);
};

/// A connection, for one thread at a time.
struct pulse_http2_server;

/// NULL if out of memory. The SETTINGS for the client are ready to be taken.
struct pulse_http2_server *pulse_http2_server_new(
    const struct pulse_http2_server_calls *calls, uint32_t maximum_streams);
void pulse_http2_server_free(struct pulse_http2_server *server);

/// Processes bytes from the client; false if they are not HTTP/2.
bool pulse_http2_server_feed(struct pulse_http2_server *server, const void *bytes, size_t count);

/// Returns the count of bytes to send to the client, which are valid until the next call; 0 if there are none.
size_t pulse_http2_server_take(struct pulse_http2_server *server, const uint8_t **bytes);

/// Whether the connection has nothing more to receive or to send.
bool pulse_http2_server_is_over(struct pulse_http2_server *server);

/// The lengths of a field's name and value, which follow each other in one text for all fields.
struct pulse_http2_server_field {
    size_t name_count, value_count;
};

/// Sends the header fields of a final response, pseudo-header fields first. Without a body they end the stream.
bool pulse_http2_server_respond(
    struct pulse_http2_server *server, int32_t stream, const uint8_t *text, const struct pulse_http2_server_field *fields,
    size_t count, bool has_body);
/// Sends the header fields of an interim response.
bool pulse_http2_server_inform(
    struct pulse_http2_server *server, int32_t stream, const uint8_t *text, const struct pulse_http2_server_field *fields,
    size_t count);
/// Sends the trailers of a response. Call it within `read`.
bool pulse_http2_server_trailers(
    struct pulse_http2_server *server, int32_t stream, const uint8_t *text, const struct pulse_http2_server_field *fields,
    size_t count);

/// Calls `read` again for the stream.
void pulse_http2_server_resume(struct pulse_http2_server *server, int32_t stream);
/// Sends RST_STREAM.
void pulse_http2_server_reset(struct pulse_http2_server *server, int32_t stream, uint32_t code);
/// Returns processed bytes of a request to the flow-control windows of the connection and, if it is open, the stream.
void pulse_http2_server_consume(struct pulse_http2_server *server, int32_t stream, size_t count);
/// Sends GOAWAY with NO_ERROR and the last stream.
void pulse_http2_server_end(struct pulse_http2_server *server);

#endif
