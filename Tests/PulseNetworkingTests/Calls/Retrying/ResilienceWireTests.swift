// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// The circuit breaker and hedging in a client, over real sockets.
@Suite(.tags(.threads), .throttled)
struct ResilienceWireTests {
    private struct Read: Endpoint {
        typealias Response = String
        let path = "/read"
        let method = HTTPMethod.get
    }

    @Test func aCancelledCircuitProbeLetsTheNextOnePass() async throws {
        let (clock, breaker) = (TestClock(), CircuitBreakerPlugin(failureThreshold: 1))
        try await ClientStage.run(plugins: [breaker], clock: clock) { client, server in
            server.on(.get, "/read", script: [.status(503), .raw([.stall]), .text("well")])
            _ = await client.result(of: Read())
            #expect(breaker.state(for: server.baseURL) == .open)
            #expect(await client.result(of: Read()).error?.kind == .circuitOpen)
            await clock.advance(by: 30)
            let probe = Task { await client.result(of: Read()) }
            try await server.requests(atLeast: 2)
            #expect(await client.result(of: Read()).error?.kind == .circuitOpen)
            client.cancelAll()
            #expect(await probe.value.error?.kind == .cancelled)
            #expect(breaker.state(for: server.baseURL) == .halfOpen)
            #expect(try await client.request(Read()) == "well")
            #expect(breaker.state(for: server.baseURL) == .closed)
            #expect(server.requests.count == 3)
        }
    }

    @Test func aHedgedCopyOvertakesAStallAndTheLoserIsCancelled() async throws {
        let clock = TestClock()
        let plugins: [any PulsePlugin] = [.hedging(delay: .fixed(1)), .circuitBreaker(failureThreshold: 1)]
        try await ClientStage.run(plugins: plugins, clock: clock) { client, server in
            let script = Array(repeating: MockServer.Response.text("quick"), count: 19)
            server.on(.get, "/read", script: script + [.raw([.stall]), .text("copy")])
            for _ in 0..<19 { #expect(try await client.request(Read()) == "quick") }
            let call = Task { try await client.request(Read()) }
            try await server.requests(atLeast: 20)
            await clock.sleepers(atLeast: 1)
            await clock.advance(by: 1)
            #expect(try await call.value == "copy")
            try await server.connectionsClosedByClient()
            #expect(try await client.request(Read()) == "copy", "the breaker has counted no failure")
        }
    }
}

extension Result where Failure == PulseError {
    fileprivate var error: PulseError? {
        if case .failure(let error) = self { error } else { nil }
    }
}
