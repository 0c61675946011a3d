// SPDX-License-Identifier: MIT
//! Idempotency keys and W3C trace context.

import PulseKit
import PulseTesting

let orders = Stub(.post, "/orders").reply(.status(503), .echoRequest)

// snippet.client
let client = PulseClient(
    configuration: PulseConfiguration(baseURL: URL(string: "https://api.example.com")!)
        .with(\.retryPolicy, value: RetryPolicy(backoffStrategy: .immediate)),
    plugins: [.idempotency(), .tracing(hosts: ["payments.example"])],
    transport: MockTransport(stubs: [orders]))
// snippet.end

// snippet.echo
let sent = try await client.request(Request<Stub.Echo>(.post, "/orders"))
print(sent.header("Idempotency-Key") ?? "", sent.header("traceparent") ?? "")
// snippet.end

// snippet.parent
let incoming = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
try await TraceContext.$current.withValue(TraceContext(traceparent: incoming)) {
    let sent = try await client.request(Request<Stub.Echo>(.post, "/orders"))
    print(sent.header("traceparent") ?? "")  // 00-4bf92f3577b34da6a3ce929d0e0e4736-…-01
}
// snippet.end
await client.shutdown()
