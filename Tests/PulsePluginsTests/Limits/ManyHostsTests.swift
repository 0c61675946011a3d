// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

/// Memory for hosts is bounded, however many hosts were called.
///
/// In CI with `--no-parallel`, where `PULSE_STEPS` is set, the tests measure the memory of the whole process for a
/// million hosts. Next to other tests only the counts are meaningful.
@Suite(.tags(.alone), .serialized, .throttled)
struct ManyHostsTests {
    private static let isAlone = ProcessInfo.processInfo.environment["PULSE_STEPS"] != nil
    private static let hosts = isAlone ? 1_000_000 : 40_000
    private static let limit = 10 << 20

    /// The bytes by which the process grows for many hosts, after a warm-up that fills the bounded memory. Nil where
    /// that cannot be measured.
    private static func growth(_ visit: (String) async throws -> Void) async rethrows -> Int? {
        for host in 0..<20_000 { try await visit("warm-\(host).example.com") }
        let before = residentBytes
        for host in 0..<hosts { try await visit("host-\(host).example.com") }
        return before.flatMap { before in residentBytes.map { $0 - before } }
    }

    /// The second number is the resident pages, see proc(5).
    private static var residentBytes: Int? {
        guard isAlone else { return nil }
        let numbers = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return numbers.flatMap { $0.count > 1 ? Int($0[1]) : nil }.map { $0 * 4096 }
    }

    @Test func theMemoryOfTheCircuitBreakerIsBounded() async throws {
        var circuits = Circuits(CircuitBreakerPlugin.Policy(trip: .consecutiveFailures(1)))
        var count = 0
        let growth = await Self.growth { host in
            let key = CircuitKey.name(host)
            guard case .admitted(let permit) = circuits.admit(key, at: 0, nil).0 else { return }
            count += 1
            // Every tenth circuit opens.
            _ = circuits.settle(
                permit, of: key, count % 10 == 0 ? .failure(retryAfter: nil) : .success(isSlow: false), at: 0)
        }
        #expect(circuits.count <= Circuits.limit + 1)
        #expect(growth ?? 0 < Self.limit)
    }

    @Test func theMemoryOfTheRetryBudgetsIsBounded() async throws {
        let budgets = RetryBudgets()
        let growth = await Self.growth { host in
            budgets.countCall(to: host, at: 0)
            _ = budgets.takeRetry(of: host, at: 0)
        }
        #expect(budgets.count <= RetryBudgets.capacity)
        #expect(growth ?? 0 < Self.limit)
    }

    @Test func theConcurrencyLimitKeepsNoEndedCalls() async throws {
        let permits = KeyedSemaphore<RateLimitPlugin.Key.Value>(limit: 2)
        let growth = try await Self.growth { host in
            try await permits.acquire(.name(host))
            permits.release(.name(host))
        }
        #expect(permits.keyCount == 0)
        #expect(growth ?? 0 < Self.limit)
    }

    @Test func coalescingKeepsNoEndedCalls() async {
        typealias Runs = SingleFlight<String, Never>
        var machine = Runs.StateMachine<Void, Runs.Ticket>()
        let growth = await Self.growth { host in
            guard let ticket = machine.join(host, {}, subscriber: { ticket, _ in ticket }) else { return }
            if ticket.number % 2 == 0 { _ = machine.leave(ticket) }
            _ = machine.finish(ticket.run)
        }
        #expect(machine.runCount == 0)
        #expect(growth ?? 0 < Self.limit)
    }

    @Test func theMemoryOfHedgingIsBounded() async {
        let plugin = HedgingPlugin()
        let growth = await Self.growth { host in
            plugin.latencies(of: .name(host)).withLock { latencies in
                latencies.countCall()
                latencies.add(0.1)
            }
        }
        #expect(plugin.routeCount <= 1024)
        #expect(growth ?? 0 < Self.limit)
    }

    @Test func theMemoryOfRecoveriesIsBounded() async {
        var state = RecoveryState<Int>()
        let growth = await Self.growth { name in
            guard case .start(let run) = state.request(name, sentAt: 0) else { return }
            _ = state.join(name, 1, id: 1)
            _ = state.end(name, run: run, isSuccess: run % 2 == 0)
        }
        #expect(state.runCount == 0)
        #expect(growth ?? 0 < Self.limit)
    }

    @Test func theMemoryOfTheRateLimiterIsBounded() async throws {
        let limiter = RateLimiter(Rate(requests: 1, per: 1, burst: 1), maxWait: 60)
        let context = PluginContext.mock(clock: TestClock())
        let growth = try await Self.growth { host in try await limiter.enter(.name(host), for: context) }
        #expect(limiter.bucketCount <= 4096)
        #expect(growth ?? 0 < Self.limit)
    }
}
