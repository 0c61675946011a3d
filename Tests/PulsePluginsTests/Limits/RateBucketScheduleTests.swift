// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

/// A seeded random schedule against a plain model that counts tokens tick by tick; `PULSE_STEPS` sets its length.
@Suite(.tags(.schedule), .throttled)
struct RateBucketScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 10_000
    private static let tick: TimeInterval = 1.0 / 16

    /// Tokens that drip, and the waiters.
    private struct Model {
        static let interval: TimeInterval = 0.25
        static let burst: Double = 3

        var now: TimeInterval = 0
        var tokens = burst
        var pausedUntil: TimeInterval = 0
        var queue: [(id: UInt64, latest: TimeInterval)] = []

        mutating func move(to time: TimeInterval) {
            tokens = min(Self.burst, tokens + (time - now) / Self.interval)
            now = time
        }

        mutating func take() -> Bool {
            guard tokens >= 1, now >= pausedUntil else { return false }
            tokens -= 1
            return true
        }

        mutating func admit() -> [UInt64] {
            var admitted: [UInt64] = []
            while let first = queue.first, take() {
                admitted.append(first.id)
                queue.removeFirst()
            }
            return admitted
        }

        /// When a waiter behind this many others may go, found by advancing the time.
        func due(behind others: Int) -> TimeInterval {
            var copy = self
            var left = others + 1
            while true {
                while left > 0, copy.take() { left -= 1 }
                if left == 0 { return copy.now }
                copy.move(to: copy.now + tick)
            }
        }

        mutating func pause(until time: TimeInterval) -> [UInt64] {
            guard time > max(now, pausedUntil) else { return [] }
            pausedUntil = time
            var (stay, late): ([(id: UInt64, latest: TimeInterval)], [UInt64]) = ([], [])
            for waiter in queue {
                if due(behind: stay.count) <= waiter.latest { stay.append(waiter) } else { late.append(waiter.id) }
            }
            queue = stay
            return late
        }
    }

    @Test(arguments: [11, 12, 13] as [UInt64])
    @HeavyWork func agreesWithAPlainModelForRandomSchedules(_ seed: UInt64) {
        let random = SeededRandomness(seed: seed)
        func below(_ count: UInt64) -> Int { Int(random.next() % count) }
        var model = Model()
        var bucket = RateBucket<UInt64>(Rate(requests: 4, per: 1, burst: 3))
        for step in 0..<Self.steps {
            let place: Comment = "seed \(seed), step \(step)"
            switch below(12) {
            case 0...4:
                let due = bucket.enter(now: model.now)
                if model.queue.isEmpty, model.take() {
                    #expect(due == nil, place)
                } else {
                    let expected = model.due(behind: model.queue.count)
                    #expect(due == expected, place)
                    let latest = expected + Double(below(16)) * Self.tick
                    model.queue.append((UInt64(step), latest))
                    bucket.join(UInt64(step), id: UInt64(step), latest: latest)
                }
            case 5...6 where !model.queue.isEmpty:
                let id = model.queue.remove(at: below(UInt64(model.queue.count))).id
                #expect(bucket.leave(id: id) == id, place)
                #expect(bucket.leave(id: id) == nil, place)
            case 7:
                let until = model.now + Double(below(40) - 8) * Self.tick
                let late = bucket.pause(until: until, now: model.now)
                #expect(late.map(\.waiter) == model.pause(until: until), place)
            case 8 where below(20) == 0:
                model.move(to: model.now + 1000)
            default:
                model.move(to: model.now + Double(below(8)) * Self.tick)
            }
            #expect(bucket.admit(now: model.now) == model.admit(), place)
            #expect(bucket.waiterCount == model.queue.count, place)
            #expect(bucket.due(now: model.now) == (model.queue.isEmpty ? nil : model.due(behind: 0)), place)
        }
    }
}
