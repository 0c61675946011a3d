// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

@Suite(.throttled)
struct RouteLatenciesTests {
    @Test func thereIsNoDelayBeforeTwentyCalls() {
        var latencies = RouteLatencies(extraLoad: 0.05)
        for _ in 0..<19 { latencies.add(1) }
        #expect(latencies.usualDelay == nil)
        latencies.add(1)
        #expect(latencies.usualDelay == 1)
    }

    @Test func theDelayIsThe95thPercentile() throws {
        var latencies = RouteLatencies(extraLoad: 0.05)
        for call in 1...100 { latencies.add(TimeInterval(call)) }
        // Computed every 16 calls: the last time at 100 = 20 + 5 · 16.
        #expect(latencies.usualDelay == 95)
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func theDelayMatchesThe95thPercentileOfRandomLatencies(seed: UInt64) {
        let random = SeededRandomness(seed: seed)
        var (latencies, all) = (RouteLatencies(extraLoad: 0.05), [Float]())
        for call in 1...500 {
            // Some are equal.
            let latency = TimeInterval(random.next() % 100 + 1)
            latencies.add(latency)
            all.append(Float(latency))
            guard call >= 20, (call - 20) % 16 == 0 else { continue }
            let latest = all.suffix(128).sorted()
            let rank = Int((Double(latest.count) * 0.95).rounded(.up))
            #expect(latencies.usualDelay == TimeInterval(latest[rank - 1]), "seed \(seed), call \(call)")
        }
    }

    @Test func theDelayIsAtLeastFiftyMilliseconds() {
        var latencies = RouteLatencies(extraLoad: 0.05)
        for _ in 0..<50 { latencies.add(0.001) }
        #expect(latencies.usualDelay == 0.05)
    }

    @Test func onlyTheLatestLatenciesCount() throws {
        var latencies = RouteLatencies(extraLoad: 0.05)
        for _ in 0..<500 { latencies.add(9) }
        for _ in 0..<160 { latencies.add(1) }
        #expect(latencies.usualDelay == 1)
    }

    @Test(arguments: [TimeInterval.nan, .infinity, -1])
    func invalidLatenciesAreIgnored(latency: TimeInterval) {
        var latencies = RouteLatencies(extraLoad: 0.05)
        for _ in 0..<50 { latencies.add(latency) }
        #expect(latencies.usualDelay == nil)
    }

    @Test func twentyCallsAllowOneCopyAndTenCopiesCanBeSaved() {
        var latencies = RouteLatencies(extraLoad: 0.05)
        for _ in 0..<19 { latencies.countCall() }
        var taken = [latencies.takeCopy()]
        latencies.countCall()
        taken += [latencies.takeCopy(), latencies.takeCopy()]
        #expect(taken == [false, true, false])
        for _ in 0..<10_000 { latencies.countCall() }
        let saved = (0..<20).count { _ in latencies.takeCopy() }
        #expect(saved == 10)
    }

    @Test(arguments: [1, 2, 1000])
    func aCopyTakesAsManyCallsAsTheLoadAllows(callsPerCopy: Int) {
        var latencies = RouteLatencies(extraLoad: 1 / Double(callsPerCopy))
        for _ in 1..<callsPerCopy { latencies.countCall() }
        var taken = [latencies.takeCopy()]
        latencies.countCall()
        taken += [latencies.takeCopy(), latencies.takeCopy()]
        #expect(taken == [false, true, false])
    }

    @Test(arguments: [(0.05, 50), (0.3, 300), (0.7, 700), (0.99, 990), (1, 1000)] as [(Double, Int)])
    func ofAThousandCallsTheWholeShareMayBeCopied(extraLoad: Double, copies: Int) {
        var latencies = RouteLatencies(extraLoad: extraLoad)
        let taken = (0..<1000).count { _ in
            latencies.countCall()
            return latencies.takeCopy()
        }
        #expect(taken == copies)
    }
}
