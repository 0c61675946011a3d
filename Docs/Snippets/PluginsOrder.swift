// SPDX-License-Identifier: MIT
//! Every built-in plugin, in the recommended order.

import PulseKit

func makeClient(_ configuration: PulseConfiguration, _ session: any TokenProvider) -> PulseClient {
    // snippet.chain
    let client = PulseClient(
        configuration: configuration,
        plugins: [
            // Once per call.
            .auth(session), .headers(["X-App-Version": "1.2"]), .idempotency(), .compression(), .coalescing(),
            .cache(ttl: 300),
            // The loop around the attempts.
            .retry(maxAttempts: 3),
            // Each attempt.
            .hedging(), .circuitBreaker(), .rateLimit(requests: 100, per: 1), .concurrencyLimit(16),
            .validator(.errorBody(Fault.self) { $0.code == 0 ? nil : $0 }), .tracing(),
            .signing(secret: "from-your-vault"), .logger(),
        ])
    // snippet.end
    return client
}

struct Fault: Decodable, Error, Sendable {
    let code: Int
}
