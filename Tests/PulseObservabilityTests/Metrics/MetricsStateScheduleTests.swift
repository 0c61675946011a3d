// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseObservability

/// A seeded random schedule against lists of all events; `PULSE_STEPS` sets its length.
@Suite(.tags(.schedule), .throttled)
struct MetricsStateScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 3_000

    /// Everything counted, by name and with its time.
    private struct Model {
        struct End {
            let route: String
            let host: String
            let tick: Int
            let isGood: Bool
            let latency: TimeInterval
        }

        var ends: [End] = []
        var attempts = 0
        var running: [NetworkEvent.CallSummary] = []
        var named: [String] = []
        let maxRoutes = 4

        mutating func shown(_ route: String) -> String {
            if !named.contains(route), named.count < maxRoutes { named.append(route) }
            return named.contains(route) ? route : "other"
        }

        mutating func reset() {
            ends = []
            attempts = 0
            named = named.filter { name in running.contains { $0.route == name } }
        }
    }

    /// With a maximum of one host, not all pairs of route and host have a series.
    @Test(arguments: [100, 1])
    @HeavyWork func countsMatchListsOfAllEvents(maxHosts: Int) {
        let random = SplitMix(seed: 4711)
        var metrics = MetricsState(maxRoutes: 4, maxHosts: maxHosts, objectives: [])
        var model = Model()
        var tick = 0
        for step in 0..<Self.steps {
            switch random.below(40) {
            case 0: tick += random.below(12)
            // If the clock runs backwards, the event counts in the last slice.
            case 1: metrics.apply(.warning("w"), at: tick - 5)
            case 2 where random.below(50) == 0:
                metrics.reset()
                model.reset()
            case 3..<16:
                let call = NetworkEvent.CallSummary.sample("r\(random.below(6))", host: "h\(random.below(3))")
                _ = model.shown(call.route)
                model.running.append(call)
                metrics.apply(.requestStarted(call), at: tick)
            case 16..<26 where !model.running.isEmpty:
                let call = model.running[random.below(model.running.count)]
                model.attempts += 1
                metrics.apply(.attemptStarted(call), at: tick)
            default:
                guard !model.running.isEmpty else { continue }
                let call = model.running.remove(at: random.below(model.running.count))
                let (isGood, latency) = (random.below(4) > 0, random.exponential(0.1))
                metrics.apply(
                    .requestCompleted(isGood ? .ok() : .error(.timeout), call, latency: latency), at: tick)
                model.ends.append(
                    .init(
                        route: call.route, host: call.host, tick: tick, isGood: isGood, latency: latency))
            }
            if step % 97 == 0 || step == Self.steps - 1 {
                expect(metrics, agreesWith: model, at: tick, "seed 4711, step \(step)")
            }
        }
    }

    private func expect(_ metrics: MetricsState, agreesWith model: Model, at tick: Int, _ comment: Comment) {
        let snapshot = MetricsSnapshot(metrics.counts, at: tick, takenAt: Date(), countingSince: Date())
        #expect(snapshot.total.completed == model.ends.count, comment)
        #expect(snapshot.total.succeeded == model.ends.count { $0.isGood }, comment)
        #expect(snapshot.total.attempts == model.attempts, comment)
        #expect(snapshot.inFlight == model.running.count, comment)
        let recent = model.ends.filter { $0.tick > tick - 7 }
        #expect(snapshot.total.lastMinute.completed == recent.count, comment)
        #expect(snapshot.total.lastFiveMinutes.completed == model.ends.count { $0.tick > tick - 31 }, comment)
        #expect(snapshot.hosts.values.reduce(0) { $0 + $1.completed } == model.ends.count, comment)
        #expect(snapshot.hosts.values.reduce(0) { $0 + $1.inFlight } == model.running.count, comment)
        for host in ["h0", "h1", "h2"] where snapshot.hosts["other"] == nil {
            #expect(snapshot.hosts[host]?.completed ?? 0 == model.ends.count { $0.host == host }, comment)
        }
        for (route, series) in snapshot.routes where route != "other" {
            #expect(model.named.contains(route), comment)
            #expect(series.inFlight == model.running.count { $0.route == route }, comment)
        }
        #expect(snapshot.routes.count <= 5, comment)
        guard let slowest = recent.map(\.latency).max() else { return }
        #expect(snapshot.total.lastMinute.latency.maximum == slowest, comment)
    }
}
