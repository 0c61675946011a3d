// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// The limits and the validator over real sockets, counted by the server.
@Suite(.tags(.threads), .throttled)
struct LimitsWireTests {
    private struct Ended: Error {}

    @Test func theServerNeverHasMoreRequestsThanTheLimit() async throws {
        try await ClientStage.run(plugins: [.concurrencyLimit(3)], retry: .default) { client, server in
            let inside = Locked((now: 0, most: 0))
            // Each request waits until the permitted number is reached.
            let full = Turnstile()
            server.on(.get, "/work") { _ in
                inside.withLock { inside in
                    inside.now += 1
                    inside.most = max(inside.most, inside.now)
                }
                try? await full.pass("work")
                inside.withLock { $0.now -= 1 }
                return .text("done")
            }
            let done = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<60 { group.addTask { try await client.get("/work") } }
                await full.arrived(3)
                full.open()
                return try await group.reduce(into: 0) { count, _ in count += 1 }
            }
            #expect(done == 60)
            #expect(inside.withLock { $0.most } == 3)
        }
    }

    @Test func aPOSTWithoutAKeyIsSentOnceAlthoughAValidatorDemandsRetries() async throws {
        try await MockServer.run { server in
            server.on(.post, "/orders") { _ in .text(#"{"fault": 1}"#) }
            let client = ClientStage.client(
                of: server,
                plugins: [
                    .concurrencyLimit(1),
                    .validator(Validator { _, _, _ in .retry(otherwise: Ended()) }, maxRepeats: 5),
                ], retry: .default)
            for _ in 0..<3 {
                let result = await client.result(of: Request<String>(.post, "/orders"))
                guard case .failure(.custom(let error)) = result else {
                    Issue.record("\(result)")
                    continue
                }
                #expect(error is Ended)
            }
            // Whatever the validator demanded, each POST was sent once.
            #expect(server.requests.count == 3)
            await client.shutdown()
        }
    }
}
