// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct RetryPluginTests {
    private static func run(
        _ plugin: RetryPlugin, _ request: URLRequest = .mock(), clock: TestClock,
        statuses: [Int]
    ) async throws -> (status: Int, sent: Int) {
        let rest = Locked(statuses[...])
        let sent = Locked(0)
        let response = try await plugin.run(request, in: .mock(for: request, clock: clock)) { request in
            sent.withLock { $0 += 1 }
            let status = rest.withLock { $0.count > 1 ? $0.popFirst() : $0.first } ?? 200
            return PulseResponse(statusCode: status, request: request)
        }
        return (response.statusCode, sent.withLock { $0 })
    }

    @Test(arguments: [RetryPlugin(), .retry()])
    func theDefaultsAreThoseOfTheDefaultPolicy(plugin: RetryPlugin) async throws {
        let clock = TestClock(autoAdvances: true)
        let outcome = try await Self.run(plugin, clock: clock, statuses: [503])
        #expect(outcome == (503, 3))
        #expect(clock.sleeps.count == 2)
        for (wait, most) in zip(clock.sleeps, [0.25, 0.5]) {
            #expect((0..<most).contains(wait))
        }
    }

    @Test func retriesStopAtTheFirstSuccess() async throws {
        let clock = TestClock(autoAdvances: true)
        let plugin = RetryPlugin(maxAttempts: 4, strategy: .constant(2))
        let outcome = try await Self.run(plugin, clock: clock, statuses: [500, 502, 200])
        #expect(outcome == (200, 3))
        #expect(clock.sleeps == [2, 2])
    }

    @Test func shouldRetryDecidesWhichFailuresAreRetriedButNeverRetriesAPOST() async throws {
        let clock = TestClock(autoAdvances: true)
        let never = RetryPlugin(maxAttempts: 3, strategy: .immediate, shouldRetry: { _ in false })
        #expect(try await Self.run(never, clock: clock, statuses: [503]) == (503, 1))
        let always = RetryPlugin(maxAttempts: 3, strategy: .immediate, shouldRetry: { _ in true })
        #expect(try await Self.run(always, clock: clock, statuses: [404]) == (404, 3))
        #expect(try await Self.run(always, .mock(.post), clock: clock, statuses: [503]) == (503, 1))
        let keyed = URLRequest.mock(.post, headers: ["Idempotency-Key": "k"])
        #expect(try await Self.run(always, keyed, clock: clock, statuses: [503]) == (503, 3))
    }

    @Test func aWholePolicyMayAllowRetriesOfUnsafeMethods() async throws {
        let clock = TestClock(autoAdvances: true)
        var policy = RetryPolicy.immediate(2)
        policy.retriesUnsafeMethods = true
        let outcome = try await Self.run(RetryPlugin(policy: policy), .mock(.post), clock: clock, statuses: [503])
        #expect(outcome == (503, 2))
    }
}
