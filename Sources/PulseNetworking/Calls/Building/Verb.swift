// SPDX-License-Identifier: MIT

import PulseCore

/// The endpoint behind the verb methods, such as `get` and `post`.
package struct Verb<Response: Decodable & Sendable>: Endpoint {
    package let method: HTTPMethod
    package let headers: [String: String]
    package let body: RequestBody
    private let target: PathText
    private let values: PulseClient.PathValues
    private let queryValues: PulseClient.QueryValues
    private let idleTimeout: TimeInterval?

    package init(
        _ method: HTTPMethod, _ target: PathText, _ values: PulseClient.PathValues,
        query: PulseClient.QueryValues, headers: [String: String], timeout: TimeInterval? = nil,
        _ body: RequestBody = .none
    ) {
        self.method = method
        self.target = target
        self.values = values
        queryValues = query
        self.headers = headers
        idleTimeout = timeout
        self.body = body
    }

    package var path: PathText {
        get throws { try target.filled(with: values) }
    }

    package var queryParameters: [String: String] {
        queryValues.isEmpty ? [:] : queryValues.compactMapValues { $0?.description }
    }

    package var options: RequestOptions {
        var options = RequestOptions()
        options.route = target.route(method, hasValues: !values.isEmpty)
        if let idleTimeout { options.timeout = idleTimeout }
        return options
    }
}

extension Verb: LiteralPathCarrying {
    package var pathWarning: String? { target.warning }
}
