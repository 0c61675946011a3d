// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

@Suite(.throttled)
struct RateBucketTests {
    /// Two per second, with a burst of two after a pause.
    private static let rate = Rate(requests: 2, per: 1, burst: 2)

    @Test func aBurstPassesAndThenOneRequestAtATime() {
        var bucket = RateBucket<Int>(Self.rate)
        #expect(bucket.enter(now: 10) == nil)
        #expect(bucket.enter(now: 10) == nil)
        #expect(bucket.enter(now: 10) == 10.5)
        #expect(bucket.enter(now: 10.5) == nil)
        #expect(bucket.enter(now: 10.5) == 11)
        // A pause fills it, up to the burst.
        #expect(bucket.enter(now: 100) == nil)
        #expect(bucket.enter(now: 100) == nil)
        #expect(bucket.enter(now: 100) == 100.5)
    }

    /// Despite the rounding error of many intervals.
    @Test(
        arguments: [(10, 1), (20, 1), (50, 1), (100, 1), (100, 60), (3, 1), (7, 3), (1_000, 60)],
        [0, 1, 30, 1_000, 1e6, 1e9])
    func aBurstPassesDespiteRoundingErrors(rate: (requests: Int, period: TimeInterval), uptime: TimeInterval) {
        let burst = rate.requests
        var bucket = RateBucket<Int>(Rate(requests: rate.requests, per: rate.period, burst: burst))
        let allowed = (0..<burst).count { _ in bucket.enter(now: uptime) == nil }
        #expect(allowed == burst)
        let due = bucket.enter(now: uptime)
        #expect(due.map { $0 > uptime + rate.period / Double(rate.requests) * 0.9 } == true)
    }

    @Test func waitersGoInOrderAndBeforeNewCalls() {
        var bucket = RateBucket<Int>(Self.rate)
        for _ in 0..<2 { #expect(bucket.enter(now: 0) == nil) }
        for id in 1...3 {
            #expect(bucket.enter(now: 0) == 0.5 * Double(id))
            bucket.join(id, id: UInt64(id), latest: 9)
        }
        #expect(bucket.due(now: 0) == 0.5)
        #expect(bucket.admit(now: 0.25) == [])
        // Although a token is available.
        #expect(bucket.enter(now: 0.5) == 2)
        #expect(bucket.admit(now: 0.5) == [1])
        #expect(bucket.admit(now: 1.5) == [2, 3])
        #expect(bucket.due(now: 1.5) == nil)
    }

    @Test func aCancelledWaiterTakesNoTokenAndLaterOnesMoveUp() {
        var bucket = RateBucket<Int>(Self.rate)
        for _ in 0..<2 { #expect(bucket.enter(now: 0) == nil) }
        for id in 1...3 { bucket.join(id, id: UInt64(id), latest: 9) }
        #expect(bucket.leave(id: 2) == 2)
        #expect(bucket.leave(id: 2) == nil)
        #expect(bucket.admit(now: 0.5) == [1])
        #expect(bucket.admit(now: 1) == [3])
    }

    @Test func aPauseDelaysAllWaitersAndAShorterOneDoesNotEndItEarly() {
        var bucket = RateBucket<Int>(Self.rate)
        let late = bucket.pause(until: 5, now: 0) + bucket.pause(until: 3, now: 0)
        #expect(late.isEmpty)
        #expect(bucket.enter(now: 4) == 5)
        // The bucket is full then: two at once.
        #expect(bucket.enter(now: 5) == nil)
        #expect(bucket.enter(now: 5) == nil)
        #expect(bucket.enter(now: 5) == 5.5)
    }

    @Test func aPauseRemovesWaitersThatCannotGoInTime() {
        var bucket = RateBucket<Int>(Rate(requests: 1, per: 1, burst: 1))
        #expect(bucket.enter(now: 0) == nil)
        for (id, latest) in [(1, 9.0), (2, 4.0), (3, 6.0), (4, 7.0)] {
            bucket.join(id, id: UInt64(id), latest: latest)
        }
        let late = bucket.pause(until: 5, now: 0)
        // Waiter 2 cannot wait for second 5, so 3 goes at 6 and 4 at 7.
        #expect(late.map(\.waiter) == [2])
        #expect(late.map(\.due) == [6])
        #expect((5...7).map { bucket.admit(now: Double($0)) } == [[1], [3], [4]])
    }

    @Test func unusualRatesAreUnlimitedOrVeryStrict() {
        for period in [0, -1, .nan] as [TimeInterval] {
            var bucket = RateBucket<Int>(Rate(requests: 0, per: period, burst: -5))
            for _ in 0..<100 { #expect(bucket.enter(now: 1) == nil) }
        }
        var strict = RateBucket<Int>(Rate(requests: Int.min, per: .infinity, burst: 0))
        #expect(strict.enter(now: 1) == nil)
        #expect(strict.enter(now: 2) == 3e9 + 1)
        var wide = RateBucket<Int>(Rate(requests: .max, per: 1, burst: .max))
        for _ in 0..<100 { #expect(wide.enter(now: 1) == nil) }
    }
}
