// SPDX-License-Identifier: MIT
//! Options: the settings of one endpoint or one call.

import PulseKit
import PulseTesting

// snippet.endpoint
struct PlaceOrder: Endpoint {
    typealias Response = EmptyResponse

    let path = "/orders"
    let method = HTTPMethod.post
    let body = RequestBody.json(["article": 12])
    let timeoutInterval = 60

    var options: RequestOptions {
        RequestOptions()
            .with(\.idempotencyKey, value: .automatic)
            .with(\.deadline, value: 90)
            .with(\.route, value: "place order")
    }
}
// snippet.end

try await MockServer.run { server in
    server.on(.post, "/orders", script: [.status(503), .status(201), .status(409)])
    let client = PulseClient(
        configuration: PulseConfiguration(baseURL: server.baseURL)
            .with(\.retryPolicy, value: RetryPolicy(backoffStrategy: .immediate)))

    // The key makes a POST safe to repeat: two requests, one key.
    try await client.request(PlaceOrder())
    print(Set(server.requests.map { $0.headers["Idempotency-Key"] ?? "" }).count, "key in", server.requests.count)

    // snippet.call
    let options = RequestOptions()
        .with(\.acceptedStatuses, value: .successful(and: 409))
        .with(\.headers, value: ["X-Dry-Run": "1"])
        .with(\.retry, value: .never)
    try await client.request(PlaceOrder(), options: options)
    // snippet.end

    // snippet.set
    try await client.post(
        "/orders", body: ["article": 12], timeout: 5,
        options: .init {
            $0.acceptedStatuses = .any
            $0.deadline = 20
        })
    // snippet.end
    print(server.requests.last?.headers["X-Dry-Run"] ?? "")
    await client.shutdown()
}
