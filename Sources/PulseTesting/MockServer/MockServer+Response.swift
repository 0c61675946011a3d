// SPDX-License-Identifier: MIT

import PulseCore

extension MockServer {
    /// A response and its faults.
    ///
    /// ```swift
    /// server.on(.get, "/film", script: [
    ///     .data(film).fault(.reset, at: .body(1000)), .status(503, headers: ["Retry-After": "1"]), .data(film),
    /// ])
    /// ```
    ///
    /// By default it is sent with an exact `Content-Length` on a connection that is kept alive. ``framing``, a
    /// `Connection: close` in ``headers``, or a fault changes that. Only framing fields are added, none of them if
    /// ``headers`` has one already, and a `Connection: close` if the connection ends. An invalid header name, or a
    /// control character in a header or the reason, turns the response into a 500 that says so; ``raw(_:)`` sends
    /// anything.
    public struct Response: Sendable {
        /// The status of the response; 200 by default.
        public var status: Int
        /// The reason phrase; nil for the registered phrase of the status.
        public var reason: String?
        /// The headers, sent in this order.
        public var headers: HTTPHeaders
        /// The body; empty by default.
        public var body: Body
        /// The framing of the body; its exact length by default.
        public var framing: Framing
        /// The responses sent before the response itself, such as 103 Early Hints. An HTTP/1.0 client gets none.
        public var informational: [Informational]
        /// The rate of sending; nil for as fast as the client reads.
        package var pace: Pace?
        /// The inserted steps; steps at the same point run in the order in which they were added.
        package internal(set) var faults: [(point: Point, step: Step)] = []
        /// If set, the only steps of the response.
        package var script: [Step]?

        /// Creates a response; by default an empty 200 with its length.
        public init(
            status: Int = 200, reason: String? = nil, headers: HTTPHeaders = [:], body: Body = .data(Data()),
            framing: Framing = .contentLength, informational: [Informational] = []
        ) {
            self.status = status
            self.reason = reason
            self.headers = headers
            self.body = body
            self.framing = framing
            self.informational = informational
        }

        /// An empty response with this status.
        public static func status(_ status: Int, headers: HTTPHeaders = [:]) -> Response {
            Response(status: status, headers: headers)
        }

        /// Text in UTF-8, with its `Content-Type` unless `headers` has one.
        public static func text(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> Response {
            data(Data(text.utf8), contentType: "text/plain; charset=utf-8", status: status, headers: headers)
        }

        /// Unchanged bytes; `contentType` is sent unless nil or in `headers`.
        public static func data(
            _ data: Data, contentType: String? = nil, status: Int = 200, headers: HTTPHeaders = [:]
        ) -> Response {
            var headers = headers
            if let contentType, !headers.contains("Content-Type") { headers["Content-Type"] = contentType }
            return Response(status: status, headers: headers, body: .data(data))
        }

        /// A value as JSON, keys sorted, with its `Content-Type` unless `headers` has one. Throws
        /// ``PulseError/encodingFailed(underlying:)``.
        public static func json(
            _ value: some Encodable, status: Int = 200, headers: HTTPHeaders = [:]
        ) throws -> Response {
            try encoded(value, status, headers)
        }

        /// JSON written as a literal: `.json(["id": 7, "size": ["width": 3, "unit": "cm"]])`.
        public static func json(
            _ value: JSONValue, status: Int = 200, headers: HTTPHeaders = [:]
        ) throws -> Response {
            try encoded(value, status, headers)
        }

        // Disfavored, so that it is the last choice for a literal.
        /// JSON of variables of different types: `.json(["id": id, "name": name])`. `JSONValue.Literal` has the rules.
        @_disfavoredOverload
        public static func json(
            _ literal: JSONValue.Literal, status: Int = 200, headers: HTTPHeaders = [:]
        ) throws -> Response {
            try encoded(literal, status, headers)
        }

        private static func encoded(
            _ value: some Encodable, _ status: Int, _ headers: HTTPHeaders
        ) throws -> Response {
            do {
                let encoder = JSONEncoder()
                encoder.outputFormatting = .sortedKeys
                let body = try encoder.encode(value)
                return data(body, contentType: "application/json", status: status, headers: headers)
            } catch {
                throw PulseError.encodingFailed(underlying: error)
            }
        }

        /// Performs only these steps. The connection then continues with its next request, if the last step left it
        /// open.
        public static func raw(_ steps: [Step]) -> Response {
            var response = Response()
            response.script = steps
            return response
        }

        /// No response: the connection is closed after the request was read.
        public static var disconnect: Response { .raw([.close]) }

        /// Switches protocols after a response without a body: `body` owns the connection until it returns, which
        /// closes it. It runs in a task that is cancelled when the server shuts down.
        public static func upgrade(
            status: Int = 101, headers: HTTPHeaders, _ body: @escaping @Sendable (Conversation) async throws -> Void
        ) -> Response {
            Response(status: status, headers: headers, framing: .asGiven).fault(Step(.converse(body)), at: .end)
        }

        /// The same response with `step` inserted at `point`. Faults at the same point run in the order of these calls.
        public func fault(_ step: Step, at point: Point) -> Response {
            var copy = self
            copy.faults.append((point, step))
            return copy
        }

        /// The same response, truncated by a close after that many bytes of the body.
        public func truncated(after bytes: Int) -> Response {
            fault(.close, at: .body(bytes))
        }

        /// The same response, sent in pieces of `bytes` bytes, status line and header fields included, `seconds`
        /// seconds of the server's clock apart.
        public func dripping(_ bytes: Int, every seconds: TimeInterval = 0) -> Response {
            var copy = self
            copy.pace = Pace(bytes: bytes, seconds: seconds)
            return copy
        }

        /// The same response with another framing.
        public func framed(_ framing: Framing) -> Response {
            var copy = self
            copy.framing = framing
            return copy
        }

        /// The same response with one more header line.
        public func header(_ name: String, _ value: String) -> Response {
            var copy = self
            copy.headers.add(name: name, value: value)
            return copy
        }
    }
}

extension MockServer.Response {
    /// The body of a response.
    public enum Body: Sendable {
        /// These bytes.
        case data(Data)
        /// The same bytes repeatedly, without holding them all in memory; with nil until the client disconnects.
        case repeating(Data, times: Int?)
        /// The chunks of the stream, as they arrive; the end of the stream is the end of the body. For one response
        /// only, because a stream is read once.
        case stream(AsyncStream<Data>)
    }

    /// The framing of the body (RFC 9112, section 6). A response to HEAD and one of status 1xx, 204 or 304 has no body,
    /// whatever the framing.
    public enum Framing: Sendable, Hashable {
        /// The exact length. A body of unknown length is sent in chunks; for an HTTP/1.0 client, it ends with the
        /// connection; with a `Content-Length` in the headers, it is sent unchanged.
        case contentLength
        /// This length, true or not. If it is too long, the connection is closed after the body.
        case claimedLength(Int)
        /// Two `Content-Length` lines.
        case conflictingLengths(Int, Int)
        /// Chunks of these sizes, the last of which repeats; one chunk for the whole body if there are no sizes. A body
        /// that repeats or streams has a chunk for each of its pieces.
        case chunked(sizes: [Int] = [], trailers: HTTPHeaders = [:])
        /// The body ends with the connection.
        case untilClose
        /// Only the headers: nothing is added.
        case asGiven
    }

    /// An interim response (RFC 9110, section 15.2).
    public struct Informational: Sendable, Hashable {
        /// The status, from 100 to 199.
        public var status: Int
        /// The headers, sent in this order.
        public var headers: HTTPHeaders

        /// Creates an interim response; without headers by default.
        public init(status: Int, headers: HTTPHeaders = [:]) {
            self.status = status
            self.headers = headers
        }
    }

    /// The place of a fault.
    public enum Point: Sendable, Hashable {
        /// Before the first byte, including that of interim responses.
        case start
        /// After a number of bytes of status line and header fields; at their end if there are fewer.
        case head(Int)
        /// After a number of bytes of the body, framing not counted; at its end if there are fewer. In a streamed body,
        /// at its end.
        case body(Int)
        /// After the last byte.
        case end
    }

    /// A rate of sending.
    package struct Pace: Sendable, Hashable {
        /// The size of a piece in bytes; at least 1.
        package var bytes: Int
        /// The wait between two pieces, in seconds of the server's clock.
        package var seconds: TimeInterval

        /// Creates a pace of `bytes` bytes at a time, `seconds` seconds apart.
        package init(bytes: Int, seconds: TimeInterval) {
            self.bytes = bytes
            self.seconds = seconds
        }
    }
}
