// SPDX-License-Identifier: MIT

import PulseCore

extension Stub {
    /// The response of ``Reply/echoRequest``: a request as it reached the transport.
    public struct Echo: Codable, Sendable, Hashable {
        /// The method, such as `GET`.
        public let method: String
        /// The absolute URL; empty if there was none.
        public let url: String
        /// The header fields, their names in lower case.
        public let headers: [String: String]
        /// The bytes of the body as text; nil if there is no body, or if it is not UTF-8.
        public let body: String?

        init(_ request: URLRequest) {
            method = request.httpMethod ?? "GET"
            url = request.url?.absoluteString ?? ""
            let fields = (request.allHTTPHeaderFields ?? [:]).sorted { $0.key < $1.key }
            headers = Dictionary(fields.map { ($0.key.asciiLowercased, $0.value) }) { first, _ in first }
            body = request.httpBody.flatMap { String(data: $0, encoding: .utf8) }
        }

        /// The value of a header, with its name in any case; nil if there is none.
        public func header(_ name: String) -> String? {
            headers[name.asciiLowercased]
        }
    }
}

extension Stub.Reply {
    /// Status 200 with the request's body and `Content-Type`; empty without a body. File and stream bodies are not
    /// read.
    public static let echo = Stub.Reply.closure { request, _ in
        var headers: HTTPHeaders = [:]
        headers["Content-Type"] = request.value(forHTTPHeaderField: "Content-Type")
        return PulseResponse(
            statusCode: 200, headers: headers, data: request.httpBody ?? Data(), request: request, origin: .mock)
    }

    /// The whole request as the JSON of a ``Stub/Echo``: as it is after all plugins, secrets included.
    public static let echoRequest = Stub.Reply.closure { request, parameters in
        try await Stub.Reply.json(Stub.Echo(request)).respond(request, parameters)
    }
}
