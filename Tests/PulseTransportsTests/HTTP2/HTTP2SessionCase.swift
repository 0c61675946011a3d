// SPDX-License-Identifier: MIT

#if os(Linux)
import Testing

/// Frames of a server to the stream 1, and what a session makes of them.
struct HTTP2SessionCase: Sendable, CustomTestStringConvertible {
    private typealias F = HTTP2Frames

    enum Situation {
        case get, head
        /// The request's body has no end yet.
        case sending
        /// Nothing has come before.
        case first
    }

    let name: String
    let bytes: [UInt8]
    /// As ``HTTP2SessionLog`` has it.
    let outcome: String
    /// That of nghttp2 1.67 and later, if it is another.
    let laterOutcome: String?
    let situation: Situation

    init(
        _ name: String, _ frames: [[UInt8]], _ outcome: String, _ situation: Situation = .get, later: String? = nil
    ) {
        (self.name, self.outcome, laterOutcome, self.situation) = (name, outcome, later, situation)
        bytes = frames.flatMap { $0 }
    }

    func accepts(_ seen: [String]) -> Bool {
        [outcome, laterOutcome].contains(seen.joined(separator: "; "))
    }

    var testDescription: String { name }

    static let all: [Self] = [
        order, misplaced, status, fields, lengths, compression, connection, streams, going, first,
    ].flatMap { $0 }

    /// Responses.
    static let order: [Self] = [
        Self(
            "a whole response", [F.ok(1), F.data(1, "abc"), F.data(1, "x", isEnd: true)],
            "head 1 200; data 1 abcx; end 1; closed 1 NO_ERROR"),
        Self("a response without a body", [F.ok(1, isEnd: true)], "head 1 200 end; closed 1 NO_ERROR"),
        Self(
            "a response that ends with empty DATA", [F.ok(1), F.data(1, isEnd: true)],
            "head 1 200; end 1; closed 1 NO_ERROR"),
        Self(
            "a head in three frames",
            [
                F.headers(1, [(":status", "200")], isWhole: false), F.continuation(1, [("x", "y")], isWhole: false),
                F.continuation(1), F.data(1, isEnd: true),
            ], "head 1 200; end 1; closed 1 NO_ERROR"),
        Self(
            "interim responses",
            [
                F.headers(1, [(":status", "100")]), F.headers(1, [(":status", "103"), ("link", "a")]),
                F.ok(1, isEnd: true),
            ], "head 1 200 end; closed 1 NO_ERROR"),
        Self(
            "trailers", [F.ok(1), F.data(1, "abc"), F.headers(1, [("x", "y"), ("z", "")], isEnd: true)],
            "head 1 200; data 1 abc; end 1 x=y z=; closed 1 NO_ERROR"),
        Self(
            "trailers without a body", [F.ok(1), F.headers(1, [("x", "y")], isEnd: true)],
            "head 1 200; end 1 x=y; closed 1 NO_ERROR"),
        Self("empty trailers", [F.ok(1), F.headers(1, isEnd: true)], "head 1 200; end 1; closed 1 NO_ERROR"),
        Self(
            "padding", [F.ok(1), F.padded(1, "abc", 5), F.padded(1, "", 255, isEnd: true)],
            "head 1 200; data 1 abc; end 1; closed 1 NO_ERROR"),
        Self(
            "padded and prioritized HEADERS",
            [
                F.frame(1, 0x2C, 1, F.joined([[3], F.zeros(5), F.block([(":status", "200")]), F.zeros(3)])),
                F.data(1, isEnd: true),
            ], "head 1 200; end 1; closed 1 NO_ERROR"),
        Self(
            "a reserved bit", [F.ok(1), F.frame(0, 1, 0x8000_0001, [120])],
            "head 1 200; data 1 x; end 1; closed 1 NO_ERROR"),
        Self(
            "unknown frames",
            [
                F.frame(0x63, 0xFF, 1, [1, 2]), F.ok(1), F.frame(10, 0, 0, F.zeros(4)), F.frame(12),
                F.data(1, isEnd: true),
            ], "head 1 200; end 1; closed 1 NO_ERROR"),
        Self("PRIORITY", [F.frame(2, 0, 1, F.zeros(5)), F.ok(1, isEnd: true)], "head 1 200 end; closed 1 NO_ERROR"),
        Self(
            "frames after the end",
            [
                F.ok(1, isEnd: true), F.data(1, "abc"), F.headers(1, [("x", "y")], isEnd: true), F.windowUpdate(1, 1),
                F.reset(1, 2),
            ], "head 1 200 end; closed 1 NO_ERROR"),
    ]

    /// Frames in the order or state in which they may not come (RFC 9113, sections 5.1, 6 and 8.1).
    static let misplaced: [Self] = [
        Self("DATA before the head", [F.data(1, "abc")], "failed PROTOCOL_ERROR"),
        Self(
            "DATA after an interim head", [F.headers(1, [(":status", "103")]), F.data(1, "abc")],
            "closed 1 PROTOCOL_ERROR"),
        Self(
            "END_STREAM with an interim head", [F.headers(1, [(":status", "103")], isEnd: true)],
            "closed 1 PROTOCOL_ERROR"),
        Self(
            "trailers after an interim head",
            [F.headers(1, [(":status", "103")]), F.headers(1, [("x", "y")], isEnd: true)], "closed 1 PROTOCOL_ERROR"),
        Self("a second head", [F.ok(1), F.ok(1)], "head 1 200; closed 1 PROTOCOL_ERROR"),
        Self(
            "an interim head after the head", [F.ok(1), F.headers(1, [(":status", "103")])],
            "head 1 200; closed 1 PROTOCOL_ERROR"),
        Self(
            "trailers without END_STREAM", [F.ok(1), F.headers(1, [("x", "y")])], "head 1 200; closed 1 PROTOCOL_ERROR"),
        Self("a pseudo-field in trailers", [F.ok(1), F.ok(1, isEnd: true)], "head 1 200; closed 1 PROTOCOL_ERROR"),
        Self(
            "a pseudo-field at the end of trailers",
            [F.ok(1), F.headers(1, [("x", "y"), (":status", "200")], isEnd: true)],
            "head 1 200; closed 1 PROTOCOL_ERROR"),
        Self(
            "HEADERS after the end, while a body is sent",
            [F.ok(1, isEnd: true), F.headers(1, [("x", "y")], isEnd: true)], "head 1 200 end; failed STREAM_CLOSED",
            .sending),
        Self(
            "DATA after the end, while a body is sent", [F.ok(1, isEnd: true), F.data(1, "abc")],
            "head 1 200 end; failed STREAM_CLOSED", .sending),
        Self("CONTINUATION by itself", [F.continuation(1)], "failed PROTOCOL_ERROR"),
        Self(
            "DATA in a block of fields", [F.headers(1, [(":status", "200")], isWhole: false), F.data(1, "abc")],
            "failed PROTOCOL_ERROR"),
        Self(
            "PING in a block of fields", [F.headers(1, [(":status", "200")], isWhole: false), F.ping()],
            "failed PROTOCOL_ERROR"),
        Self(
            "an unknown frame in a block of fields", [F.headers(1, [(":status", "200")], isWhole: false), F.frame(99)],
            "failed PROTOCOL_ERROR"),
        Self(
            "CONTINUATION of another stream", [F.headers(1, [(":status", "200")], isWhole: false), F.continuation(3)],
            "failed PROTOCOL_ERROR"),
        Self("PUSH_PROMISE", [F.pushPromise(1, 2)], "failed PROTOCOL_ERROR"),
        Self("HEADERS on no stream", [F.ok(0)], "failed PROTOCOL_ERROR"),
        Self("HEADERS on an idle stream", [F.ok(5)], "failed PROTOCOL_ERROR"),
        Self("HEADERS on a stream of the server", [F.ok(2)], "failed PROTOCOL_ERROR"),
        Self("DATA on no stream", [F.data(0, "abc")], "failed PROTOCOL_ERROR"),
        Self("DATA on an idle stream", [F.data(5, "abc")], "failed PROTOCOL_ERROR"),
        Self("too much padding", [F.ok(1), F.frame(0, 8, 1, [5, 97, 97])], "head 1 200; failed PROTOCOL_ERROR"),
        Self("padding without its length", [F.ok(1), F.frame(0, 8, 1)], "head 1 200; failed PROTOCOL_ERROR"),
        Self(
            "too much padding of HEADERS", [F.frame(1, 12, 1, F.joined([[255], F.block([(":status", "200")])]))],
            "failed PROTOCOL_ERROR"),
        Self("a priority that is cut", [F.frame(1, 0x24, 1, F.zeros(4))], "failed FRAME_SIZE_ERROR"),
        Self(
            "DATA above the largest frame", [F.ok(1), F.frame(0, 0, 1, F.zeros(16385))],
            "head 1 200; failed FRAME_SIZE_ERROR"),
    ]

    /// Pseudo-fields (section 8.3.2).
    static let status: [Self] = [
        Self("no status", [F.headers(1, [("x", "y")])], "closed 1 PROTOCOL_ERROR"),
        Self("no fields", [F.headers(1)], "closed 1 PROTOCOL_ERROR"),
        Self("two statuses", [F.headers(1, [(":status", "200"), (":status", "200")])], "closed 1 PROTOCOL_ERROR"),
        Self("status 101", [F.headers(1, [(":status", "101")])], "closed 1 PROTOCOL_ERROR"),
        Self("status 099", [F.headers(1, [(":status", "099")])], "closed 1 PROTOCOL_ERROR"),
        Self("status 099 with the end", [F.headers(1, [(":status", "099")], isEnd: true)], "closed 1 PROTOCOL_ERROR"),
        Self("status 20", [F.headers(1, [(":status", "20")])], "closed 1 PROTOCOL_ERROR"),
        Self("status 2xx", [F.headers(1, [(":status", "2xx")])], "closed 1 PROTOCOL_ERROR"),
        Self("status 999", [F.headers(1, [(":status", "999")], isEnd: true)], "head 1 999 end; closed 1 NO_ERROR"),
        Self("the status after a field", [F.headers(1, [("x", "y"), (":status", "200")])], "closed 1 PROTOCOL_ERROR"),
        Self("an unknown pseudo-field", [F.ok(1, [(":x", "y")])], "closed 1 PROTOCOL_ERROR"),
        Self("a pseudo-field of requests", [F.ok(1, [(":path", "/")])], "closed 1 PROTOCOL_ERROR"),
    ]

    /// Names and values (sections 8.2.1 and 8.2.2).
    static let fields: [Self] = [
        Self("a name in upper case", [F.ok(1, [("X", "y")])], "closed 1 PROTOCOL_ERROR"),
        Self("a space in a name", [F.ok(1, [("x y", "z")])], "closed 1 PROTOCOL_ERROR"),
        Self("an empty name", [F.ok(1, [("", "y")])], "closed 1 PROTOCOL_ERROR"),
        Self("LF in a value", [F.ok(1, [("x", "a\nb")])], "closed 1 PROTOCOL_ERROR"),
        Self("CR in a value", [F.ok(1, [("x", "a\rb")])], "closed 1 PROTOCOL_ERROR"),
        Self("NUL in a value", [F.ok(1, [("x", "a\0b")])], "closed 1 PROTOCOL_ERROR"),
        Self("a space before a value", [F.ok(1, [("x", " a")])], "closed 1 PROTOCOL_ERROR"),
        Self("a tab behind a value", [F.ok(1, [("x", "a\t")])], "closed 1 PROTOCOL_ERROR"),
        Self("connection", [F.ok(1, [("connection", "close")])], "closed 1 PROTOCOL_ERROR"),
        Self("keep-alive", [F.ok(1, [("keep-alive", "timeout=5")])], "closed 1 PROTOCOL_ERROR"),
        Self("proxy-connection", [F.ok(1, [("proxy-connection", "close")])], "closed 1 PROTOCOL_ERROR"),
        Self("transfer-encoding", [F.ok(1, [("transfer-encoding", "chunked")])], "closed 1 PROTOCOL_ERROR"),
        Self("upgrade", [F.ok(1, [("upgrade", "h2c")])], "closed 1 PROTOCOL_ERROR"),
        Self("te", [F.ok(1, [("te", "gzip")])], "closed 1 PROTOCOL_ERROR"),
    ]

    /// Lengths (section 8.1.1).
    static let lengths: [Self] = [
        Self(
            "a body as long as announced", [F.ok(1, [("content-length", "3")]), F.data(1, "abc", isEnd: true)],
            "head 1 200; data 1 abc; end 1; closed 1 NO_ERROR"),
        Self(
            "a body shorter than announced", [F.ok(1, [("content-length", "4")]), F.data(1, "abc", isEnd: true)],
            "head 1 200; data 1 abc; closed 1 PROTOCOL_ERROR"),
        Self(
            "trailers after a body shorter than announced",
            [F.ok(1, [("content-length", "4")]), F.data(1, "abc"), F.headers(1, [("x", "y")], isEnd: true)],
            "head 1 200; data 1 abc; closed 1 PROTOCOL_ERROR"),
        Self("no body, but announced", [F.ok(1, [("content-length", "4")], isEnd: true)], "closed 1 PROTOCOL_ERROR"),
        Self(
            "a body longer than announced", [F.ok(1, [("content-length", "2")]), F.data(1, "abc", isEnd: true)],
            "head 1 200; closed 1 PROTOCOL_ERROR"),
        Self("two lengths", [F.ok(1, [("content-length", "3"), ("content-length", "3")])], "closed 1 PROTOCOL_ERROR"),
        Self("a list of lengths", [F.ok(1, [("content-length", "3, 3")])], "closed 1 PROTOCOL_ERROR"),
        Self("a negative length", [F.ok(1, [("content-length", "-1")])], "closed 1 PROTOCOL_ERROR"),
        Self(
            "a length above all numbers", [F.ok(1, [("content-length", "99999999999999999999")])],
            "closed 1 PROTOCOL_ERROR"),
        Self(
            "the length of an interim response", [F.headers(1, [(":status", "103"), ("content-length", "3")])],
            "closed 1 PROTOCOL_ERROR"),
        Self(
            "204 with a body", [F.headers(1, [(":status", "204")]), F.data(1, "abc", isEnd: true)],
            "head 1 204; closed 1 PROTOCOL_ERROR"),
        Self(
            "304 with the length of another response",
            [F.headers(1, [(":status", "304"), ("content-length", "3")], isEnd: true)],
            "head 1 304 end; closed 1 NO_ERROR"),
        Self(
            "304 with a body", [F.headers(1, [(":status", "304")]), F.data(1, "abc", isEnd: true)],
            "head 1 304; closed 1 PROTOCOL_ERROR"),
        Self(
            "the length of a response to HEAD", [F.ok(1, [("content-length", "3")], isEnd: true)],
            "head 1 200 end; closed 1 NO_ERROR", .head),
        Self(
            "a body in a response to HEAD", [F.ok(1, [("content-length", "3")]), F.data(1, "abc", isEnd: true)],
            "head 1 200; closed 1 PROTOCOL_ERROR", .head),
    ]

    /// Field blocks (section 4.3).
    static let compression: [Self] = [
        Self(
            "an index without an entry", [F.frame(1, 4, 1, [0xFF, 0xFF, 0xFF, 0xFF, 0x0F])], "failed COMPRESSION_ERROR"),
        Self("index 0", [F.frame(1, 4, 1, [0x80])], "failed COMPRESSION_ERROR"),
        Self("a field that is cut", [F.frame(1, 4, 1, [0, 5, 97])], "failed COMPRESSION_ERROR"),
        Self("a table above the setting", [F.frame(1, 4, 1, [0x3F, 0xE1, 0xFF, 0x03])], "failed COMPRESSION_ERROR"),
    ]

    /// SETTINGS and PING (sections 6.5 and 6.7).
    static let connection: [Self] = [
        Self("PING", [F.ping(), F.ok(1, isEnd: true)], "head 1 200 end; closed 1 NO_ERROR"),
        Self("PING on a stream", [F.frame(6, 0, 1, F.zeros(8))], "failed PROTOCOL_ERROR"),
        Self("PING of 7 bytes", [F.frame(6, 0, 0, F.zeros(7))], "failed FRAME_SIZE_ERROR"),
        Self("an answer to PING", [F.ping(isAck: true)], "pong"),
        Self("SETTINGS", [F.settings([(3, 7), (0x77, 1)])], "settings"),
        Self("SETTINGS on a stream", [F.frame(4, 0, 1)], "failed PROTOCOL_ERROR"),
        Self("SETTINGS of 5 bytes", [F.frame(4, 0, 0, F.zeros(5))], "failed FRAME_SIZE_ERROR"),
        Self("an acknowledgment with values", [F.frame(4, 1, 0, F.zeros(6))], "failed FRAME_SIZE_ERROR"),
        Self("an acknowledgment too many", [F.settingsAck], "failed PROTOCOL_ERROR"),
        Self("SETTINGS that allow a push", [F.settings([(2, 1)])], "failed PROTOCOL_ERROR"),
        Self("SETTINGS with a window above the largest", [F.settings([(4, 0x8000_0000)])], "failed FLOW_CONTROL_ERROR"),
        Self("SETTINGS with a frame below the smallest", [F.settings([(5, 16383)])], "failed PROTOCOL_ERROR"),
    ]

    /// RST_STREAM, WINDOW_UPDATE and PRIORITY (sections 6.3, 6.4 and 6.9).
    static let streams: [Self] = [
        Self("RST_STREAM before the head", [F.reset(1, 8)], "closed 1 CANCEL"),
        Self("RST_STREAM without an error before the head", [F.reset(1, 0)], "closed 1 NO_ERROR"),
        Self(
            "RST_STREAM without an error after the head", [F.ok(1), F.data(1, "abc"), F.reset(1, 0)],
            "head 1 200; data 1 abc; closed 1 NO_ERROR"),
        Self(
            "RST_STREAM after the end, while a body is sent", [F.ok(1, isEnd: true), F.reset(1, 0)],
            "head 1 200 end; closed 1 NO_ERROR", .sending),
        Self("RST_STREAM with an unknown code", [F.reset(1, 99)], "closed 1 error 99"),
        Self("a refused stream", [F.reset(1, 7)], "closed 1 REFUSED_STREAM unprocessed"),
        Self(
            "a refused stream after an interim head", [F.headers(1, [(":status", "103")]), F.reset(1, 7)],
            "closed 1 REFUSED_STREAM unprocessed"),
        Self("a refused stream after the head", [F.ok(1), F.reset(1, 7)], "head 1 200; closed 1 REFUSED_STREAM"),
        Self("a stream for HTTP/1.1", [F.reset(1, 13)], "closed 1 HTTP_1_1_REQUIRED"),
        Self("RST_STREAM of 3 bytes", [F.frame(3, 0, 1, F.zeros(3))], "failed FRAME_SIZE_ERROR"),
        Self("RST_STREAM on no stream", [F.reset(0, 8)], "failed PROTOCOL_ERROR"),
        Self("RST_STREAM on an idle stream", [F.reset(5, 8)], "failed PROTOCOL_ERROR"),
        Self(
            "WINDOW_UPDATE", [F.windowUpdate(0, 1), F.windowUpdate(1, 1), F.ok(1, isEnd: true)],
            "head 1 200 end; closed 1 NO_ERROR"),
        Self("WINDOW_UPDATE by nothing", [F.windowUpdate(0, 0)], "failed PROTOCOL_ERROR"),
        Self("WINDOW_UPDATE of a stream by nothing", [F.windowUpdate(1, 0)], "failed PROTOCOL_ERROR", .sending),
        Self("WINDOW_UPDATE above the largest window", [F.windowUpdate(0, 0x7FFF_FFFF)], "failed FLOW_CONTROL_ERROR"),
        Self(
            "WINDOW_UPDATE of a stream above the largest window", [F.windowUpdate(1, 0x7FFF_FFFF)],
            "closed 1 FLOW_CONTROL_ERROR", .sending, later: "failed FLOW_CONTROL_ERROR"),
        Self("WINDOW_UPDATE on an idle stream", [F.windowUpdate(5, 1)], "failed PROTOCOL_ERROR"),
        Self("WINDOW_UPDATE of 3 bytes", [F.frame(8, 0, 1, F.zeros(3))], "failed FRAME_SIZE_ERROR"),
        // Priorities of RFC 7540 are ignored later.
        Self("PRIORITY on no stream", [F.frame(2, 0, 0, F.zeros(5))], "failed PROTOCOL_ERROR", later: ""),
        Self("PRIORITY of 4 bytes", [F.frame(2, 0, 1, F.zeros(4))], "failed FRAME_SIZE_ERROR"),
        Self(
            "PRIORITY of a stream on itself", [F.frame(2, 0, 1, [0, 0, 0, 1, 9])], "failed PROTOCOL_ERROR", later: ""),
    ]

    /// GOAWAY (section 6.8).
    static let going: [Self] = [
        Self(
            "GOAWAY above the stream", [F.goAway(1), F.ok(1), F.data(1, "abc", isEnd: true)],
            "goAway 1 NO_ERROR; head 1 200; data 1 abc; end 1; closed 1 NO_ERROR"),
        Self("GOAWAY below the stream", [F.goAway(0)], "goAway 0 NO_ERROR; closed 1 REFUSED_STREAM unprocessed"),
        Self(
            "GOAWAY for an error above the stream", [F.goAway(1, 11), F.ok(1, isEnd: true)],
            "goAway 1 ENHANCE_YOUR_CALM; head 1 200 end; closed 1 NO_ERROR"),
        Self(
            "two GOAWAY frames", [F.goAway(0x7FFF_FFFF), F.goAway(1), F.ok(1, isEnd: true)],
            "goAway 2147483647 NO_ERROR; goAway 1 NO_ERROR; head 1 200 end; closed 1 NO_ERROR"),
        Self(
            "GOAWAY that takes back the first", [F.goAway(1), F.goAway(3)], "goAway 1 NO_ERROR; failed PROTOCOL_ERROR"),
        Self("GOAWAY with a stream of the server", [F.goAway(2)], "failed PROTOCOL_ERROR"),
        Self("GOAWAY on a stream", [F.frame(7, 0, 1, F.zeros(8))], "failed PROTOCOL_ERROR"),
        Self("GOAWAY of 7 bytes", [F.frame(7, 0, 0, F.zeros(7))], "failed FRAME_SIZE_ERROR"),
    ]

    /// The first frame (section 3.4).
    static let first: [Self] = [
        Self("HEADERS before SETTINGS", [F.ok(1, isEnd: true)], "failed PROTOCOL_ERROR", .first),
        Self("PING before SETTINGS", [F.ping()], "failed PROTOCOL_ERROR", .first),
        Self("an acknowledgment before SETTINGS", [F.settingsAck], "failed PROTOCOL_ERROR", .first),
        Self(
            "HTTP/1.1", [F.text("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")], "failed PROTOCOL_ERROR",
            .first),
    ]
}
#endif
