// SPDX-License-Identifier: MIT

import PulseCore

/// The endpoint of a call through a verb method.
struct Verb<Response: Decodable & Sendable>: Endpoint {
    let method: HTTPMethod
    let headers: [String: String]
    let body: RequestBody
    private let target: PathText
    private let values: PulseClient.PathValues
    private let query: PulseClient.QueryValues

    init(
        _ method: HTTPMethod, _ target: PathText, _ values: PulseClient.PathValues,
        query: PulseClient.QueryValues, headers: [String: String], _ body: RequestBody = .none
    ) {
        self.method = method
        self.target = target
        self.values = values
        self.query = query
        self.headers = headers
        self.body = body
    }

    var path: PathText {
        get throws { try target.filled(with: values) }
    }

    var queryParameters: [String: String] {
        query.isEmpty ? [:] : query.compactMapValues { $0?.description }
    }

    var options: RequestOptions {
        RequestOptions().with(\.route, value: target.route(method, hasValues: !values.isEmpty))
    }
}

extension Verb: LiteralPathCarrying {
    var pathWarning: String? { target.warning }
}
