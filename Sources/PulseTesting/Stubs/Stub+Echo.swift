// SPDX-License-Identifier: MIT

import PulseCore

extension Stub {
    /// What ``Reply/echoRequest`` answers with: a request as it reached the transport.
    public struct Echo: Codable, Sendable, Hashable {
        public let method: String
        public let url: String
        /// Names in lower case.
        public let headers: [String: String]
        /// The bytes as text in UTF-8; nil without a body, or if they are none.
        public let body: String?

        init(_ request: URLRequest) {
            method = request.httpMethod ?? "GET"
            url = request.url?.absoluteString ?? ""
            let fields = (request.allHTTPHeaderFields ?? [:]).sorted { $0.key < $1.key }
            headers = Dictionary(fields.map { ($0.key.asciiLowercased, $0.value) }) { first, _ in first }
            body = request.httpBody.flatMap { String(data: $0, encoding: .utf8) }
        }

        /// Of that header, its name in any case.
        public func header(_ name: String) -> String? {
            headers[name.asciiLowercased]
        }
    }
}

extension Stub.Reply {
    /// The bytes of the request's body with its `Content-Type`: 200, and empty without a body. File and stream bodies are
    /// not looked into.
    public static let echo = Stub.Reply.closure { request, _ in
        var headers: HTTPHeaders = [:]
        headers["Content-Type"] = request.value(forHTTPHeaderField: "Content-Type")
        return PulseResponse(
            statusCode: 200, headers: headers, data: request.httpBody ?? Data(), request: request, origin: .mock)
    }

    /// The whole request, as the JSON of a ``Stub/Echo``: what plugins made of it, secrets included.
    public static let echoRequest = Stub.Reply.closure { request, parameters in
        try await Stub.Reply.json(Stub.Echo(request)).answer(request, parameters)
    }
}
