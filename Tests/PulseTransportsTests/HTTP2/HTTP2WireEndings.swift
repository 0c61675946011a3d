// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseTesting
import Testing

import PulseTransports

/// What a server does in place of a whole response, and the failure that the sender gets.
struct HTTP2WireEnding: Sendable, CustomTestStringConvertible {
    /// Whether the failure blames a stale connection: on a new one, and on one that was used before.
    enum Staleness {
        case never, onReused, always
    }

    let testDescription: String
    let code: URLError.Code
    let phase: PulseError.Phase
    let staleness: Staleness
    let perform: @Sendable (HTTP2WireStream) async throws -> Void

    init(
        _ name: String, _ code: URLError.Code, _ phase: PulseError.Phase,
        _ staleness: Staleness = .never, _ perform: @escaping @Sendable (HTTP2WireStream) async throws -> Void
    ) {
        testDescription = name
        (self.code, self.phase, self.staleness) = (code, phase, staleness)
        self.perform = perform
    }

    func isStale(onReused isReused: Bool) -> Bool {
        switch staleness {
        case .never: false
        case .onReused: isReused
        case .always: true
        }
    }
}

extension HTTP2WireEnding {
    static let all: [HTTP2WireEnding] =
        unprocessed + resets + resetsAfterTheHead + resetsWithinTheBody + lostConnections + partialResponses
        + malformedStreams + malformedConnections

    /// The server says that it has not processed the request (RFC 9113, sections 6.8 and 8.7).
    static let unprocessed: [HTTP2WireEnding] = [
        HTTP2WireEnding("REFUSED_STREAM", .networkConnectionLost, .beforeSend, .always) { try await $0.reset(7) },
        HTTP2WireEnding("GOAWAY below the stream", .networkConnectionLost, .beforeSend, .always) {
            try await $0.connection.send(.goAway(lastStream: max(0, $0.id - 2)))
        },
        HTTP2WireEnding("GOAWAY below the stream and the end", .networkConnectionLost, .beforeSend, .always) {
            try await $0.connection.send(.goAway(lastStream: max(0, $0.id - 2)))
            try await $0.connection.end(.close)
        },
        HTTP2WireEnding("GOAWAY with an error below the stream", .networkConnectionLost, .beforeSend, .always) {
            try await $0.connection.send(.goAway(lastStream: max(0, $0.id - 2), 11))
        },
    ]

    /// RFC 9113, section 7, and a code that is not defined. Before the head, two of them have meanings of their own.
    private static let codes: [UInt32] = Array(0...13) + [0x1234]

    /// The codes for malformed messages and frames.
    private static let blaming: Set<UInt32> = [1, 3, 5, 6, 9]

    private static let resets: [HTTP2WireEnding] = codes.filter { $0 != 7 && $0 != 13 }.map { code in
        HTTP2WireEnding("RST_STREAM \(code)", failure(of: code), .maybeSent) { try await $0.reset(code) }
    }

    private static let resetsAfterTheHead: [HTTP2WireEnding] = codes.map { code in
        HTTP2WireEnding("RST_STREAM \(code) after the head", failure(of: code), .responseStarted) {
            try await $0.sendHead()
            try await $0.reset(code)
        }
    }

    private static let resetsWithinTheBody: [HTTP2WireEnding] = codes.map { code in
        HTTP2WireEnding("RST_STREAM \(code) within the body", failure(of: code), .responseStarted) {
            try await $0.sendHead()
            try await $0.connection.send(.data($0.id, "part"))
            try await $0.reset(code)
        }
    }

    private static func failure(of code: UInt32) -> URLError.Code {
        blaming.contains(code) ? .badServerResponse : .networkConnectionLost
    }

    private static let ends: [(name: String, step: MockServer.Step)] = [
        ("closed", .close), ("cut without a close alert", .truncate), ("reset", .reset),
    ]

    private static let lostConnections: [HTTP2WireEnding] = ends.flatMap { name, step in
        [
            HTTP2WireEnding("a connection that is \(name)", .networkConnectionLost, .maybeSent, .onReused) {
                try await $0.connection.end(step)
            },
            HTTP2WireEnding("GOAWAY at the stream, then \(name)", .networkConnectionLost, .maybeSent, .onReused) {
                try await $0.connection.send(.goAway(lastStream: $0.id))
                try await $0.connection.end(step)
            },
        ]
    }

    private static let partialResponses: [HTTP2WireEnding] = ends.flatMap { name, step in
        [
            HTTP2WireEnding("a connection that is \(name) after the head", .networkConnectionLost, .responseStarted) {
                try await $0.sendHead()
                try await $0.connection.end(step)
            },
            HTTP2WireEnding("a connection that is \(name) within the body", .networkConnectionLost, .responseStarted) {
                try await $0.sendHead()
                try await $0.connection.send(.data($0.id, "part"))
                try await $0.connection.end(step)
            },
        ]
    }

    // MARK: Malformed

    /// RFC 9113, section 8.1.1: the stream ends, and the connection stays.
    private static let malformedStreams: [HTTP2WireEnding] = [
        malformed("a field name in upper case", [(":status", "200"), ("X-A", "b")]),
        malformed("no status", [("x-a", "b")]),
        malformed("two statuses", [(":status", "200"), (":status", "200")]),
        malformed("a pseudo-field behind others", [("x-a", "b"), (":status", "200")]),
        malformed("a field of HTTP/1.1's connections", [(":status", "200"), ("connection", "close")]),
        malformed("status 101", [(":status", "101")]),
        malformed("a line break in a value", [(":status", "200"), ("x-a", "b\r\nc: d")]),
        malformed("two lengths", [(":status", "200"), ("content-length", "1"), ("content-length", "2")]),
        HTTP2WireEnding("a body before the head", .badServerResponse, .maybeSent) {
            try await $0.connection.send(.data($0.id, "early", isEnd: true))
        },
        HTTP2WireEnding("a body beyond its length", .badServerResponse, .responseStarted) {
            try await $0.connection.send(
                .headers($0.id, [(":status", "200"), ("content-length", "3")]), .data($0.id, "longer", isEnd: true))
        },
        HTTP2WireEnding("a body below its length", .badServerResponse, .responseStarted) {
            try await $0.connection.send(
                .headers($0.id, [(":status", "200"), ("content-length", "30")]), .data($0.id, "shorter", isEnd: true))
        },
        HTTP2WireEnding("trailers without an end", .badServerResponse, .responseStarted) {
            try await $0.connection.send(
                .headers($0.id, [(":status", "200")]), .data($0.id, "body"), .headers($0.id, [("x-a", "b")]))
        },
    ]

    private static func malformed(_ name: String, _ fields: [(name: String, value: String)]) -> HTTP2WireEnding {
        HTTP2WireEnding(name, .badServerResponse, .maybeSent) {
            try await $0.connection.send(.headers($0.id, fields, isEnd: true))
        }
    }

    /// RFC 9113, section 5.4.1: the connection ends.
    private static let malformedConnections: [HTTP2WireEnding] = [
        broken("a body without a stream", HTTP2WireFrame.data(0, "body")),
        broken("a frame that is too large", .data(1, String(repeating: "x", count: 1 << 20))),
        broken("a broken header block", HTTP2WireFrame(kind: 1, flags: 5, stream: 1, payload: Data([0xFF]))),
        broken("SETTINGS of a wrong size", HTTP2WireFrame(kind: 4, payload: Data([0, 0, 0]))),
        broken("a window that grows by nothing", HTTP2WireFrame(kind: 8, payload: Data(count: 4))),
        broken("a pushed request", HTTP2WireFrame(kind: 5, flags: 4, stream: 1, payload: Data([0, 0, 0, 2]))),
        HTTP2WireEnding("a header list that is too large", .badServerResponse, .maybeSent) { stream in
            var fields = [(name: ":status", value: "200")]
            for number in 0..<100 { fields.append(("x-\(number)", String(repeating: "x", count: 10_000))) }
            try await stream.connection.send(
                HTTP2WireFrame.headers(stream.id, fields, pieces: 16_000, isEnd: true))
        },
    ]

    private static func broken(_ name: String, _ frame: HTTP2WireFrame) -> HTTP2WireEnding {
        HTTP2WireEnding(name, .badServerResponse, .maybeSent) { stream in
            var frame = frame
            if frame.stream != 0 { frame.stream = stream.id }
            try await stream.connection.send(frame)
        }
    }
}
#endif
