// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

/// Threads that note values in a seeded order, while the clock advances.
@Suite(.tags(.threads), .throttled)
struct ProgressMeterStressTests {
    /// The listener, which records what it must not see.
    private final class Listener: Sendable {
        struct State {
            var reports: [TransferProgress] = []
            var isInside = false
            var wasConcurrent = false
            var hasReturned = false
            var wasLate = false
        }

        let state = Locked(State())

        func take(_ progress: TransferProgress) {
            state.withLock { state in
                state.wasConcurrent = state.wasConcurrent || state.isInside
                state.wasLate = state.wasLate || state.hasReturned
                state.isInside = true
                state.reports.append(progress)
            }
            state.withLock { $0.isInside = false }
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func reportsStayInOrderAndOneAtATime(seed: UInt64) async {
        let random = SeededRandomness(seed: seed)
        for round in 0..<300 {
            let clock = SteppedUptime()
            let listener = Listener()
            let meter = ProgressMeter(clock: clock) { listener.take($0) }
            let total = random.next() % 3 == 0 ? nil : Int64(400)
            let count = 2 + Int(random.next() % 3)
            let seeds = (0..<count).map { _ in random.next() }
            await withTaskGroup(of: Void.self) { group in
                for seed in seeds {
                    group.addTask {
                        let random = SeededRandomness(seed: seed)
                        for _ in 0..<50 {
                            meter.note(.init(completed: Int64(random.next() % 450), total: total))
                            if random.next() % 8 == 0 { clock.advance(by: 0.03) }
                        }
                    }
                }
                // The end may come in between.
                if random.next() % 2 == 0 { await group.next() }
                await meter.end()
                listener.state.withLock { $0.hasReturned = true }
            }
            let state = listener.state.withLock { $0 }
            let place = "seed \(seed), round \(round)"
            #expect(!state.wasConcurrent && !state.wasLate && !state.isInside, "\(place)")
            let completed = state.reports.map(\.completed)
            #expect(completed == Array(Set(completed)).sorted(), "\(place)")
            #expect(completed.allSatisfy { $0 <= total ?? .max }, "\(place)")
            // One at once, one after each interval, the complete one, and the last.
            #expect(completed.count <= 3 + Int(clock.uptime / 0.1 + 1e-6), "\(place)")
        }
    }
}

/// A clock whose time any thread may advance.
private final class SteppedUptime: PulseClock {
    private let state = Locked<TimeInterval>(0)

    var now: Date { Date(timeIntervalSince1970: uptime) }
    var uptime: TimeInterval { state.withLock { $0 } }

    func advance(by seconds: TimeInterval) { state.withLock { $0 += seconds } }

    func sleep(_ seconds: TimeInterval) async throws {}
}
