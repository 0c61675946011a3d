// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// Many concurrent calls through one breaker, some of them cancelled.
@Suite(.tags(.threads, .addresses), .throttled)
struct CircuitBreakerStressTests {
    @Test func oneProbePassesAtATimeAndTheCircuitAlwaysRecovers() async throws {
        let clock = TestClock()
        let plugin = CircuitBreakerPlugin(failureThreshold: 1, cooldownDuration: 1)
        _ = try await plugin.run(in: .mock(clock: clock)) { PulseResponse(statusCode: 500, request: $0) }
        for _ in 0..<20 {
            await clock.advance(by: 1)
            let under = Locked((now: 0, most: 0))
            await withTaskGroup(of: Void.self) { group in
                for call in 0..<50 {
                    group.addTask {
                        let task = Task {
                            try await plugin.run(in: .mock(clock: clock)) { request in
                                under.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                                await Task.yield()
                                under.withLock { $0.now -= 1 }
                                try Task.checkCancellation()
                                return PulseResponse(statusCode: 500, request: request)
                            }
                        }
                        if call % 2 == 0 { task.cancel() }
                        _ = await task.result
                    }
                }
            }
            #expect(under.withLock { $0.most } <= 1)
        }
        await clock.advance(by: 1)
        _ = try await plugin.run(in: .mock(clock: clock)) { PulseResponse(statusCode: 200, request: $0) }
        #expect(plugin.state(for: "https://api.example.com") == .closed)
    }
}
