// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct ServiceLevelObjectiveTests {
    private static func counts(
        _ objective: ServiceLevelObjective,
        _ calls: [(Result<NetworkEvent.ResponseSummary, PulseError.Summary>, TimeInterval)],
        route: String = "GetUser"
    ) async -> MetricsSnapshot.Objective.Counts? {
        let collector = PulseMetricsCollector(objectives: [objective], clock: TestClock())
        let bus = PulseEventBus()
        collector.attach(to: bus)
        for (result, latency) in calls { bus.emitCall(.sample(route), result, latency: latency) }
        return await collector.snapshot().objectives.first?.overall
    }

    private static func verdict(_ result: Result<NetworkEvent.ResponseSummary, PulseError.Summary>) async -> Bool? {
        let counts = await counts(ServiceLevelObjective("all", target: 0.99), [(result, 1)])
        return counts?.valid == 1 ? counts?.good == 1 : nil
    }

    @Test func aCallIsGoodIfItSucceedsWithinTheLatency() async {
        let objective = ServiceLevelObjective("fast", latency: 0.5, target: 0.9)
        let counts = await Self.counts(objective, [(.ok(), 0.1), (.ok(), 0.5), (.ok(), 0.51), (.error(.timeout), 0.1)])
        #expect(counts?.good == 2 && counts?.valid == 4 && counts?.ratio == 0.5)
    }

    @Test func failuresCausedByTheCallerDoNotCount() async {
        for kind in [
            PulseError.Kind.cancelled, .queuedOffline, .invalidURL, .invalidRequest, .encodingFailed, .unsupported,
            .cacheMiss, .sessionExpired,
        ] {
            #expect(await Self.verdict(.error(kind)) == nil, "\(kind)")
        }
        for status in [400, 401, 404, 499] { #expect(await Self.verdict(.error(.http, status: status)) == nil) }
        for status in [408, 425, 429, 500, 503, 302] {
            #expect(await Self.verdict(.error(.http, status: status)) == false, "\(status)")
        }
        for kind in [PulseError.Kind.timeout, .noConnection, .decodingFailed, .circuitOpen] {
            #expect(await Self.verdict(.error(kind)) == false, "\(kind)")
        }
        #expect(await Self.verdict(.ok()) == true)
    }

    @Test func anObjectiveOfARouteCountsOnlyItsCalls() async {
        let objective = ServiceLevelObjective("one", route: "PlaceOrder", target: 0.9)
        #expect(await Self.counts(objective, [(.ok(), 1)], route: "PlaceOrder")?.valid == 1)
        #expect(await Self.counts(objective, [(.ok(), 1)], route: "GetUser")?.valid == 0)
    }

    @Test func badCallsUseUpTheErrorBudget() async {
        let clock = TestClock()
        let objective = ServiceLevelObjective("all", target: 0.9)
        let collector = PulseMetricsCollector(objectives: [objective, objective], clock: clock)
        let bus = PulseEventBus()
        collector.attach(to: bus)
        for number in 0..<100 { bus.emitCall(.sample(), number < 5 ? .error(.timeout) : .ok()) }
        var metrics = await collector.snapshot().objectives
        #expect(metrics.count == 1)
        #expect(metrics[0].isMet && abs(metrics[0].budgetLeft - 0.5) < 1e-9)
        #expect(abs(metrics[0].lastMinute.burnRate(target: 0.9) - 0.5) < 1e-9)
        await clock.advance(by: 100)
        for _ in 0..<20 { bus.emitCall(.sample(), .error(.timeout)) }
        metrics = await collector.snapshot().objectives
        #expect(!metrics[0].isMet && metrics[0].budgetLeft < 0)
        #expect(metrics[0].lastMinute.valid == 20 && metrics[0].lastFiveMinutes.valid == 120)
        #expect(abs(metrics[0].lastMinute.burnRate(target: 0.9) - 10) < 1e-9)
    }

    @Test func noParameterTraps() async {
        #expect(ServiceLevelObjective("a", latency: .nan, target: .nan).latency == .infinity)
        #expect(ServiceLevelObjective("a", target: .nan).target == 1)
        #expect(ServiceLevelObjective("a", target: -1).target == 0)
        #expect(ServiceLevelObjective("a", target: 7).target == 1)
        #expect(
            MetricsSnapshot.Objective.Counts().ratio == 1 && MetricsSnapshot.Objective.Counts().burnRate(target: 1) == 0
        )
        let counts = await Self.counts(ServiceLevelObjective("a", target: 1), [(.error(.timeout), .nan)])
        #expect(counts?.burnRate(target: 1) == .infinity)
    }
}
