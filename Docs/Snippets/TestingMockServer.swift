// SPDX-License-Identifier: MIT
//! A real server on a loopback socket: routes, scripts, faults, and waiting for its records.

import PulseKit
import PulseTesting

// snippet.routes
let server = try await MockServer.start()
server.on(.get, "/users/{id}") { request in
    .text(#"{"id": \#(request.parameters["id"] ?? "0"), "name": "Ada"}"#)
}
server.on(.get, "/flaky", script: [.raw([.reset]), .status(503), .text("at last")])
server.on(.get, "/slow") { _ in .raw([.stall]) }
server.on(.get, "/cut") { _ in .text("only the first half").truncated(after: 9) }
// snippet.end

// snippet.client
let client = PulseClient(
    configuration: PulseConfiguration(baseURL: server.baseURL)
        .with(\.retryPolicy, value: RetryPolicy(backoffStrategy: .immediate)))

let flaky: String = try await client.get("/flaky")
let cut = await client.result(of: Request<String>(.get, "/cut").option(\.retry, .never))
// snippet.end
print(flaky, server.requests.count, cut)

// snippet.cancel
let call = Task { try await client.rawRequest(Request<String>(.get, "/slow")) }
try await server.wait { $0.requests.contains { $0.path == "/slow" } }
call.cancel()
try await server.connectionsClosedByClient()  // returns when the cancellation has reached the wire
// snippet.end
print(await call.result)

#if os(Linux)
// snippet.tls
let identity = try MockServer.TLSIdentity.generated()
let secure = try await MockServer.start(MockServer.Configuration(tls: identity))
secure.on(.get, "/") { _ in .text("over TLS") }
let trusting = PulseClient(
    configuration: PulseConfiguration(baseURL: secure.baseURL)  // https
        .with(\.tls, value: identity.clientSettings))
// snippet.end
print(try await trusting.get("/") as String)
await trusting.shutdown()
await secure.shutdown()
#endif

// snippet.end-of-test
await client.shutdown()
await server.shutdown()
// snippet.end
