// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting

/// What is sent in every measurement: a GET that is answered with 47 bytes of JSON.
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

    static let json = Data(#"{"id":42,"name":"Ada Lovelace","isActive":true}"#.utf8)

    /// A client whose mock hands out one ready answer, with a bus of its own to which nobody listens.
    static func client(plugins: [any PulsePlugin] = []) throws -> PulseClient {
        guard let url = URL(string: "https://api.example.com") else { throw URLError(.badURL) }
        let answer = PulseResponse(
            statusCode: 200, headers: ["Content-Type": "application/json"], data: json, request: URLRequest(url: url))
        return PulseClient(
            configuration: PulseConfiguration(baseURL: url), plugins: plugins,
            transport: MockTransport(recordsRequests: false) { _ in answer }, events: PulseEventBus())
    }

    static func calls(_ name: String, plugins: [any PulsePlugin] = []) throws -> Measurement {
        let client = try client(plugins: plugins)
        return Measurement(name) { times in
            for _ in 0..<times { keep(try await client.request(GetUser())) }
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
