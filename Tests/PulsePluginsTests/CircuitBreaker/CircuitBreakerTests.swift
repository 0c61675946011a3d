// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulsePlugins

/// Each rule of a circuit, as a value.
@Suite(.throttled)
struct CircuitBreakerTests {
    private let success = CircuitBreaker.Verdict.success(isSlow: false)
    private let failure = CircuitBreaker.Verdict.failure(retryAfter: nil)

    /// A circuit in a class, so that expectations may mutate it.
    private final class Circuit {
        private var breaker: CircuitBreaker

        init(_ policy: CircuitBreakerPlugin.Policy, epoch: UInt64 = 1) {
            breaker = CircuitBreaker(policy, epoch: epoch)
        }

        var state: CircuitBreaker.State { breaker.state }

        func permit(at now: TimeInterval) throws -> CircuitBreaker.Permit {
            let (admission, _) = breaker.admit(at: now)
            guard case .admitted(let permit) = admission else { throw PulseError.circuitOpen(name: "", retryAfter: 0) }
            return permit
        }

        func refusal(at now: TimeInterval) -> TimeInterval? {
            if case .refused(let retryAfter) = breaker.admit(at: now).0 { retryAfter } else { nil }
        }

        func settle(
            _ permit: CircuitBreaker.Permit, _ verdict: CircuitBreaker.Verdict, at now: TimeInterval
        ) -> CircuitBreaker.Change? {
            breaker.settle(permit, verdict, at: now)
        }

        /// A call that is admitted and settled at once.
        @discardableResult
        func call(_ verdict: CircuitBreaker.Verdict, at now: TimeInterval = 0) throws -> CircuitBreaker.Change? {
            settle(try permit(at: now), verdict, at: now)
        }

        /// Fails until the circuit opens; returns the first probe, at second 30.
        func halfOpen() throws -> CircuitBreaker.Permit {
            while state == .closed { try call(.failure(retryAfter: nil)) }
            let (admission, change) = breaker.admit(at: 30)
            #expect(change == .halfOpened)
            guard case .admitted(let permit) = admission else { throw PulseError.cancelled }
            return permit
        }

        func isolate() -> CircuitBreaker.Change? { breaker.isolate() }
    }

    private func threshold(_ count: Int = 3, cooldown: TimeInterval = 30, backsOff: Bool = false) -> Circuit {
        Circuit(.init(trip: .consecutiveFailures(count), cooldownDuration: cooldown, backsOff: backsOff))
    }

    private func rate(_ window: CircuitBreakerPlugin.Policy.RateWindow = .init()) -> Circuit {
        Circuit(.init(trip: .rate(window)))
    }

    // MARK: Threshold

    @Test func consecutiveFailuresOpenTheCircuit() throws {
        let breaker = threshold()
        #expect(try breaker.call(failure) == nil)
        #expect(try breaker.call(failure) == nil)
        #expect(try breaker.call(failure, at: 5) == .opened)
        #expect(breaker.state == .open(until: 35))
        #expect(breaker.refusal(at: 15) == 20)
    }

    @Test func aSuccessResetsTheFailureCount() throws {
        let breaker = threshold()
        for _ in 0..<10 {
            try breaker.call(failure)
            try breaker.call(failure)
            try breaker.call(success)
        }
        #expect(breaker.state == .closed)
    }

    @Test(arguments: [1, 0, -5, Int.min])
    func aThresholdBelowOneCountsAsOne(count: Int) throws {
        let breaker = threshold(count)
        #expect(try breaker.call(failure) == .opened)
    }

    @Test func ignoredOutcomesAreNotCounted() throws {
        let breaker = threshold()
        for verdict in [failure, failure, .ignored, .ignored, failure] { try breaker.call(verdict) }
        guard case .open = breaker.state else {
            Issue.record("\(breaker.state)")
            return
        }
    }

    // MARK: Half-open

    @Test func onlyOneProbePassesAfterTheCooldown() throws {
        let breaker = threshold()
        let probe = try breaker.halfOpen()
        #expect(breaker.refusal(at: 30) == 0)
        #expect(breaker.refusal(at: 59) == 0)
        #expect(breaker.settle(probe, success, at: 59) == .closed)
        #expect(breaker.refusal(at: 59) == nil)
    }

    @Test func aFailedProbeReopensTheCircuit() throws {
        let breaker = threshold()
        let probe = try breaker.halfOpen()
        #expect(breaker.settle(probe, failure, at: 40) == .opened)
        #expect(breaker.state == .open(until: 70))
    }

    /// Regression: the circuit must not stay half-open forever.
    @Test func anIgnoredProbeReturnsItsPermit() throws {
        let breaker = threshold()
        let probe = try breaker.halfOpen()
        #expect(breaker.settle(probe, .ignored, at: 31) == nil)
        // Regression: a cancelled probe must not close the circuit.
        #expect(breaker.state == .halfOpen)
        let next = try breaker.permit(at: 31)
        #expect(breaker.refusal(at: 31) == 0)
        #expect(breaker.settle(next, success, at: 31) == .closed)
    }

    @Test func aProbeThatNeverEndsIsDroppedAfterOneCooldown() throws {
        let breaker = threshold()
        let lost = try breaker.halfOpen()
        #expect(breaker.refusal(at: 59.9) == 0)
        let next = try breaker.permit(at: 60)
        #expect(breaker.settle(lost, failure, at: 61) == nil, "its late result is not counted")
        #expect(breaker.state == .halfOpen)
        #expect(breaker.refusal(at: 61) == 0, "a late result returns no permit")
        #expect(breaker.settle(next, success, at: 62) == .closed)
    }

    @Test func aPermitIsSettledOnce() throws {
        let breaker = rate()
        let probe = try breaker.halfOpen()
        #expect(breaker.settle(probe, success, at: 30) == nil)
        #expect(breaker.settle(probe, success, at: 30) == nil)
        #expect(breaker.state == .halfOpen)
    }

    @Test func inRateModeTwoGoodProbesOfThreeCloseTheCircuit() throws {
        let breaker = rate()
        let first = try breaker.halfOpen()
        let second = try breaker.permit(at: 30)
        let third = try breaker.permit(at: 30)
        #expect(breaker.refusal(at: 30) == 0)
        #expect(breaker.settle(first, success, at: 31) == nil)
        #expect(breaker.refusal(at: 31) == 0, "a verdict uses up the permit")
        #expect(breaker.settle(second, failure, at: 31) == nil)
        #expect(breaker.settle(third, success, at: 31) == .closed)
    }

    @Test func inRateModeTwoBadProbesReopenTheCircuit() throws {
        let breaker = rate()
        let first = try breaker.halfOpen()
        let second = try breaker.permit(at: 30)
        #expect(breaker.settle(first, failure, at: 31) == nil)
        #expect(breaker.settle(second, failure, at: 31) == .opened)
    }

    // MARK: Generations

    /// Regression: results from an earlier state must not count in a later one.
    @Test func callsFromAnEarlierStateAreNotCounted() throws {
        let breaker = threshold()
        let early = try (0..<5).map { _ in try breaker.permit(at: 0) }
        let probe = try breaker.halfOpen()
        #expect(breaker.settle(early[0], success, at: 30) == nil, "not a probe of the current state")
        #expect(breaker.settle(early[1], failure, at: 30) == nil)
        #expect(breaker.state == .halfOpen)
        #expect(breaker.settle(probe, success, at: 30) == .closed)
        for late in early[2...] { #expect(breaker.settle(late, failure, at: 30) == nil) }
        #expect(breaker.state == .closed)
        #expect(breaker.settle(probe, failure, at: 30) == nil)
    }

    @Test func aNewCircuitIgnoresTheCallsOfADroppedOne() throws {
        let old = threshold(1)
        let permit = try old.permit(at: 0)
        let breaker = Circuit(.init(trip: .consecutiveFailures(1)), epoch: 2)
        #expect(breaker.settle(permit, failure, at: 0) == nil)
        #expect(breaker.state == .closed)
    }

    // MARK: Rate

    @Test func halfOfAtLeastTenCallsFailingOpensTheCircuit() throws {
        let breaker = rate()
        for _ in 0..<5 { #expect(try breaker.call(success) == nil) }
        for _ in 0..<4 { #expect(try breaker.call(failure) == nil) }
        #expect(try breaker.call(failure) == .opened)
    }

    @Test func fewerThanTenCallsDoNotOpenTheCircuit() throws {
        let breaker = rate()
        for _ in 0..<9 { #expect(try breaker.call(failure) == nil) }
        #expect(try breaker.call(failure) == .opened)
    }

    @Test func onlyTheLatestTwentyCallsCount() throws {
        let breaker = rate()
        for _ in 0..<100 { #expect(try breaker.call(success) == nil) }
        for _ in 0..<9 { #expect(try breaker.call(failure) == nil) }
        #expect(try breaker.call(failure) == .opened)
    }

    @Test func onlyCallsOfTheLastThirtySecondsCount() throws {
        let breaker = rate()
        for _ in 0..<9 { #expect(try breaker.call(failure, at: 0) == nil) }
        #expect(try breaker.call(failure, at: 30) == nil)
        let other = rate()
        for _ in 0..<9 { #expect(try other.call(failure, at: 0) == nil) }
        #expect(try other.call(failure, at: 29.9) == .opened)
    }

    @Test func slowCallsCountIfThePolicyHasASlowCallDuration() throws {
        let breaker = rate(.init(slowCallDuration: 2, slowCallRate: 0.3))
        for _ in 0..<7 { #expect(try breaker.call(success) == nil) }
        for _ in 0..<2 { #expect(try breaker.call(.success(isSlow: true)) == nil) }
        #expect(try breaker.call(.success(isSlow: true)) == .opened)
        let probes = try (0..<2).map { _ in try breaker.permit(at: 30) }
        #expect(breaker.settle(probes[0], .success(isSlow: true), at: 33) == nil)
        #expect(breaker.settle(probes[1], .success(isSlow: true), at: 33) == .opened, "a slow probe counts as failed")
    }

    @Test func unusualWindowSettingsAreSafe() throws {
        for window in [
            CircuitBreakerPlugin.Policy.RateWindow(calls: 0), .init(calls: .min, minimumCalls: .max),
            .init(calls: .max),
            .init(duration: -1), .init(duration: .nan), .init(failureRate: .nan), .init(minimumCalls: .min),
        ] {
            let breaker = rate(window)
            for call in 0..<50 where breaker.state == .closed {
                try breaker.call(call % 3 == 0 ? success : failure, at: TimeInterval(call))
            }
        }
    }

    // MARK: Cooldown

    @Test func theCooldownIsLongerIfTheServerDemandsIt() throws {
        for (asked, until) in [(10, 30), (100, 100), (1e9, 3600), (.infinity, 3600)] as [(Double, Double)] {
            let breaker = threshold(1)
            try breaker.call(.failure(retryAfter: asked))
            #expect(breaker.state == .open(until: until))
        }
    }

    @Test func theCooldownDoublesUpToFiveMinutesIfThePolicyBacksOff() throws {
        let breaker = threshold(1, backsOff: true)
        var now: TimeInterval = 0
        for wait in [30, 60, 120, 240, 300, 300, 300] as [TimeInterval] {
            try breaker.call(failure, at: now)
            #expect(breaker.state == .open(until: now + wait))
            now += wait
        }
        try breaker.call(success, at: now)
        try breaker.call(failure, at: now)
        #expect(breaker.state == .open(until: now + 30), "once closed, the cooldown starts over")
    }

    @Test func backingOffDoesNotShortenALongCooldown() throws {
        let breaker = threshold(1, cooldown: 1000, backsOff: true)
        try breaker.call(failure)
        #expect(breaker.state == .open(until: 1000))
    }

    @Test(arguments: [0, -1, TimeInterval.nan])
    func withoutACooldownTheNextCallIsAProbe(cooldown: TimeInterval) throws {
        let breaker = threshold(1, cooldown: cooldown)
        try breaker.call(failure)
        #expect(try breaker.call(success) == .closed)
    }

    // MARK: Manual control

    @Test func anIsolatedCircuitRejectsCallsForever() throws {
        let breaker = threshold()
        let early = try breaker.permit(at: 0)
        #expect(breaker.isolate() == .opened)
        #expect(breaker.isolate() == nil)
        #expect(breaker.settle(early, success, at: 0) == nil)
        #expect(breaker.refusal(at: 1e9) == .infinity)
    }
}
