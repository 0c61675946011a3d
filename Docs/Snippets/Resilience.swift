// SPDX-License-Identifier: MIT
//! Retries, a circuit breaker and hedging for a failing server.

import PulseKit
import PulseTesting

// snippet.policy
let patient = RetryPolicy(
    maxAttempts: 5,
    backoffStrategy: .exponentialWithJitter(base: 0.5, maxDelay: 30),
    retryableStatusCodes: [429, 503],
    retryOnTimeout: false)
// snippet.end

// snippet.decider
/// Retries a conflict once.
struct ConflictDecider: RetryPolicy.Decider {
    func delay(
        after failure: PulseError, attempt: Int, proposed: TimeInterval?, in context: PluginContext
    ) -> TimeInterval? {
        failure.statusCode == 409 ? (attempt == 1 ? 0.2 : nil) : proposed
    }
}

var decided = patient
decided.decider = ConflictDecider()
// snippet.end

try await MockServer.run { server in
    server.on(.get, "/menu", script: [.status(503), .text(#"["tea"]"#)])
    server.on(.post, "/orders", script: [.status(503), .text("{}")])
    server.on(.get, "/prices") { _ in .status(500) }

    // snippet.breaker
    let breaker = CircuitBreakerPlugin(failureThreshold: 5, cooldownDuration: 30)
    let client = PulseClient(
        configuration: PulseConfiguration(baseURL: server.baseURL).with(\.retryPolicy, value: patient),
        plugins: [.hedging(), breaker])
    // snippet.end

    let menu: [String] = try await client.get("/menu")
    print(menu)

    // snippet.key
    try await client.post(
        "/orders", body: ["tea": 2], options: .init().with(\.idempotencyKey, value: .automatic))
    // snippet.end

    // snippet.once
    let once = RequestOptions().with(\.retry, value: .never).with(\.deadline, value: 2)
    // snippet.end
    for _ in 0..<5 { _ = try? await client.head("/prices", options: once) }

    // snippet.open
    do {
        let prices: [String: Double] = try await client.get("/prices")
        print(prices)
    } catch PulseError.circuitOpen(let name, let retryAfter) {
        print("\(name) is not well, the next try is in \(retryAfter) s")
    }
    // snippet.end

    // snippet.control
    print(breaker.state(for: server.baseURL))
    breaker.isolate("https://legacy.example.com")
    breaker.reset()
    // snippet.end
    await client.shutdown()
}

// snippet.rate
let byRate = CircuitBreakerPlugin(
    policy: CircuitBreakerPlugin.Policy(
        trip: .rate(.init(calls: 50, duration: 60, minimumCalls: 20, slowCallDuration: 3)),
        backsOff: true,
        key: .route))
// snippet.end

// snippet.hedging
let hedging = HedgingPlugin(delay: .fixed(0.2))
// snippet.end

// snippet.waits
let whenOnline = RequestOptions().with(\.waitsForConnectivity, value: true).with(\.deadline, value: 300)
// snippet.end

print(byRate.identifier, hedging.identifier, whenOnline, decided.maxAttempts)
