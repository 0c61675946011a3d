// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

/// A seeded random schedule against a plain model; `PULSE_STEPS` sets its length.
@Suite(.tags(.schedule), .throttled)
struct RetryBudgetScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 10_000

    /// Stores every time, and counts on demand.
    private struct Model {
        var calls: [TimeInterval] = []
        var retries: [TimeInterval] = []
        var granted: [TimeInterval] = []
        var latest: TimeInterval

        mutating func countCall(at now: TimeInterval) {
            move(to: now)
            calls.append(latest)
        }

        mutating func takeRetry(at now: TimeInterval) -> Bool {
            move(to: now)
            let isFew = granted.count { now - $0 < 10 } < 30
            guard isFew || Double(retries.count + 1) <= 0.2 * Double(calls.count) else { return false }
            retries.append(latest)
            granted.append(now)
            return true
        }

        private mutating func move(to now: TimeInterval) {
            latest = max(latest, now.rounded(.down))
            calls.removeAll { $0 <= latest - 10 }
            retries.removeAll { $0 <= latest - 10 }
            // An earlier time must not restore dropped entries.
            granted = granted.suffix(30)
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    @HeavyWork func theBudgetAgreesWithAPlainModel(seed: UInt64) async {
        let random = SeededRandomness(seed: seed)
        var now = TimeInterval(random.next() % 1000) / 7
        var budget = RetryBudget(at: now)
        var model = Model(latest: now.rounded(.down))
        var counts = (granted: 0, denied: 0)
        for step in 0..<Self.steps {
            // The other tests have only a few threads.
            if step % 100 == 0 { await Task.yield() }
            switch random.next() % 100 {
            case 0..<60:
                budget.countCall(at: now)
                model.countCall(at: now)
            case 60..<90:
                let isGranted = budget.takeRetry(at: now)
                let isExpected = model.takeRetry(at: now)
                #expect(isGranted == isExpected, "seed \(seed), step \(step), at \(now)")
                if isGranted { counts.granted += 1 } else { counts.denied += 1 }
            case 90..<97:
                now += TimeInterval(random.next() % 1000) / 2000
            case 97:
                // A late call: it started before calls that were already counted.
                let earlier = now - TimeInterval(random.next() % 30)
                budget.countCall(at: earlier)
                model.countCall(at: earlier)
            case 98:
                now += TimeInterval(random.next() % 12)
            default:
                now += random.next() % 4 == 0 ? 1e6 : 0
            }
        }
        #expect(counts.granted > Self.steps / 100 && counts.denied > Self.steps / 100, "the schedule met both")
    }
}
