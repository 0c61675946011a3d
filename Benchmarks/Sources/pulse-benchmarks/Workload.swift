// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting

/// What is sent: a GET that is answered with 47 bytes of JSON, and for plugins that leave a GET alone a POST of them.
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

    /// A client whose mock hands out one ready response, with a bus of its own to which nobody listens.
    static func client(plugins: [any PulsePlugin] = [], cacheControl: String? = nil) throws -> PulseClient {
        guard let url = URL(string: "https://api.example.com") else { throw URLError(.badURL) }
        var headers: HTTPHeaders = ["Content-Type": "application/json"]
        headers["Cache-Control"] = cacheControl
        let answer = PulseResponse(statusCode: 200, headers: headers, data: json, request: URLRequest(url: url))
        return PulseClient(
            configuration: PulseConfiguration(baseURL: url), plugins: plugins,
            transport: MockTransport(recordsRequests: false) { _ in answer }, events: PulseEventBus())
    }

    static func calls(
        _ name: String, plugins: [any PulsePlugin] = [], cacheControl: String? = nil
    ) throws -> Measurement {
        try calls(name, to: GetUser(), plugins: plugins, cacheControl: cacheControl)
    }

    static func calls<E: Endpoint>(
        _ name: String, to endpoint: E, plugins: [any PulsePlugin] = [], cacheControl: String? = nil
    ) throws -> Measurement {
        let client = try client(plugins: plugins, cacheControl: cacheControl)
        return Measurement(name) { times in
            for _ in 0..<times { keep(try await client.request(endpoint)) }
        }
    }
}

/// A plugin that adds nothing but itself: it implements the two usual hooks, and they do nothing.
struct PassThrough: PulsePlugin {
    let identifier = "com.pulse.benchmarks.pass-through"

    func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {}

    func didReceive(
        _ result: Result<PulseResponse, PulseError>, for context: PluginContext
    ) async throws -> Result<PulseResponse, PulseError>? {
        nil
    }
}

/// A plugin without a hook of its own: every one is the protocol's default.
struct Idle: PulsePlugin {
    let identifier = "com.pulse.benchmarks.idle"
}
