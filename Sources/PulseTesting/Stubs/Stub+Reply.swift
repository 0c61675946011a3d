// SPDX-License-Identifier: MIT

import PulseCore

extension Stub {
    /// A stub's response or failure, optionally delayed.
    public struct Reply: Sendable {
        let respond: @Sendable (URLRequest, [String: String]) async throws -> PulseResponse

        /// The result of a closure, whose dictionary has the values of the template's `{name}` segments.
        public static func closure(
            _ respond: @escaping @Sendable (URLRequest, [String: String]) async throws -> PulseResponse
        ) -> Reply {
            Reply(respond: respond)
        }

        /// A response without a body.
        public static func status(_ status: Int, headers: HTTPHeaders = [:]) -> Reply {
            data(Data(), status: status, headers: headers)
        }

        /// A response with these bytes; `contentType` is set unless nil or in `headers`.
        public static func data(
            _ data: Data, contentType: String? = nil, status: Int = 200, headers: HTTPHeaders = [:]
        ) -> Reply {
            var headers = headers
            if let contentType, !headers.contains("Content-Type") { headers["Content-Type"] = contentType }
            return closure { [headers] request, _ in
                PulseResponse(statusCode: status, headers: headers, data: data, request: request, origin: .mock)
            }
        }

        /// Text in UTF-8, with its `Content-Type`.
        public static func text(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> Reply {
            data(Data(text.utf8), contentType: "text/plain; charset=utf-8", status: status, headers: headers)
        }

        /// A value as JSON, keys sorted, with its `Content-Type`. A value that cannot be encoded fails the request with
        /// ``PulseError/encodingFailed(underlying:)``.
        public static func json(_ value: some Encodable, status: Int = 200, headers: HTTPHeaders = [:]) -> Reply {
            encoded(value, status, headers)
        }

        /// JSON written as a literal: `.json(["id": 7, "size": ["width": 3, "unit": "cm"]])`.
        public static func json(_ value: JSONValue, status: Int = 200, headers: HTTPHeaders = [:]) -> Reply {
            encoded(value, status, headers)
        }

        // Disfavored, so that it is the last choice for a literal.
        /// JSON of variables of different types: `.json(["id": id, "name": name])`. `JSONValue.Literal` has the rules.
        @_disfavoredOverload
        public static func json(
            _ literal: JSONValue.Literal, status: Int = 200, headers: HTTPHeaders = [:]
        ) -> Reply {
            encoded(literal, status, headers)
        }

        private static func encoded(_ value: some Encodable, _ status: Int, _ headers: HTTPHeaders) -> Reply {
            do {
                let encoder = JSONEncoder()
                encoder.outputFormatting = .sortedKeys
                let body = try encoder.encode(value)
                return data(body, contentType: "application/json", status: status, headers: headers)
            } catch {
                return failure(PulseError.encodingFailed(underlying: error))
            }
        }

        /// A file, sent whole or, for a request with `Range`, in part (RFC 9110, section 14).
        ///
        /// - Parameter etag: the whole value of the `ETag`, with its quotes; nil for none.
        public static func file(_ data: Data, etag: String? = nil) -> Reply {
            let file = MockServer.File(data, etag: etag)
            return closure { request, _ in file.response(to: request, at: SystemClock().now) }
        }

        /// An error in place of a response.
        public static func failure(_ error: any Error) -> Reply {
            closure { _, _ in throw error }
        }

        /// The same reply, delayed by a number of seconds of `clock`.
        public func delayed(by seconds: TimeInterval, on clock: any PulseClock = SystemClock()) -> Reply {
            Reply { request, parameters in
                try await clock.sleep(seconds, for: .delay)
                return try await respond(request, parameters)
            }
        }
    }
}
