// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting

/// The request: a GET whose response has 47 bytes of JSON, or a POST of them for plugins that skip a GET.
enum Workload {
    struct User: Decodable, Sendable {
        let id: Int
        let name: String
        let isActive: Bool
    }

    struct GetUser: Endpoint {
        typealias Response = User
        let path = "/users/42"
    }

    struct AddUser: Endpoint {
        typealias Response = User
        let path = "/users"
        let method = HTTPMethod.post
        let body = RequestBody.data(json, contentType: "application/json")
    }

    static let json = Data(#"{"id":42,"name":"Ada Lovelace","isActive":true}"#.utf8)

    /// A client whose mock returns one prepared response, with a bus of its own without subscribers.
    static func client(
        plugins: [any PulsePlugin] = [], cacheControl: String? = nil, response data: Data = json
    ) throws -> PulseClient {
        guard let url = URL(string: "https://api.example.com") else { throw URLError(.badURL) }
        var headers: HTTPHeaders = ["Content-Type": "application/json"]
        headers["Cache-Control"] = cacheControl
        let response = PulseResponse(statusCode: 200, headers: headers, data: data, request: URLRequest(url: url))
        return PulseClient(
            configuration: PulseConfiguration(baseURL: url), plugins: plugins,
            transport: MockTransport(recordsRequests: false) { _ in response }, events: PulseEventBus())
    }

    static func calls(
        _ name: String, plugins: [any PulsePlugin] = [], cacheControl: String? = nil
    ) throws -> Measurement {
        try calls(name, to: GetUser(), plugins: plugins, cacheControl: cacheControl)
    }

    static func calls<E: Endpoint>(
        _ name: String, to endpoint: E, plugins: [any PulsePlugin] = [], cacheControl: String? = nil,
        response: Data = json
    ) throws -> Measurement {
        let client = try client(plugins: plugins, cacheControl: cacheControl, response: response)
        return Measurement(name) { times in
            for _ in 0..<times { keep(try await client.request(endpoint)) }
        }
    }
}

/// A plugin that only adds itself: it implements the two usual hooks, which do nothing.
struct PassThrough: PulsePlugin {
    let identifier = "com.pulse.benchmarks.pass-through"

    func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {}

    func didReceive(
        _ result: Result<PulseResponse, PulseError>, for context: PluginContext
    ) async throws -> Result<PulseResponse, PulseError>? {
        nil
    }
}

/// A plugin without hooks: each is the protocol's default.
struct Idle: PulsePlugin {
    let identifier = "com.pulse.benchmarks.idle"
}
