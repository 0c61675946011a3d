// SPDX-License-Identifier: MIT
//! A mistake that compiles and does nothing, and how to find it.

import PulseKit
import PulseTesting

// snippet.endpoint
struct BareEndpoint: Endpoint {
    typealias Response = String

    let path = "/"
    // Not the requirement, which is `[String: String]`. Never sent.
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
    let client = PulseClient(baseURL: server.baseURL)
    print(try await client.request(BareEndpoint()), sentHeaders(of: BareEndpoint()))
    print(try await client.request(TracedEndpoint()), sentHeaders(of: TracedEndpoint()))
    await client.shutdown()
}
