// SPDX-License-Identifier: MIT
//! Two mistakes that compile and do nothing, and how a test finds them.

import PulseKit
import PulseTesting

// snippet.plugin
struct DeafPlugin: PulsePlugin {
    let identifier = "com.example.deaf"

    // Not a requirement: that one returns `Result<PulseResponse, PulseError>?`. Never called.
    func didReceive(
        _ result: Result<PulseResponse, PulseError>, for context: PluginContext
    ) async throws -> Result<PulseResponse, PulseError> {
        .failure(.custom(CancellationError()))
    }
}
// snippet.end

// snippet.endpoint
struct BareEndpoint: Endpoint {
    typealias Response = String

    let path = "/"
    // Not a requirement: that one is `[String: String]`. Never sent.
    let headers: HTTPHeaders = ["X-Trace": "1"]
}
// snippet.end

// snippet.guard
struct TracedEndpoint: Endpoint {
    typealias Response = String

    let path = "/"
    let headers: [String: String] = ["X-Trace": "1"]
}

func sentHeaders(of endpoint: some Endpoint) -> [String: String] { endpoint.headers }
// snippet.end

try await MockServer.run { server in
    server.on(.get, "/") { .text($0.headers["X-Trace"] ?? "no header") }
    let client = PulseClient(configuration: PulseConfiguration(baseURL: server.baseURL), plugins: [DeafPlugin()])
    print(try await client.request(BareEndpoint()), sentHeaders(of: BareEndpoint()))
    print(try await client.request(TracedEndpoint()), sentHeaders(of: TracedEndpoint()))
    await client.shutdown()
}
