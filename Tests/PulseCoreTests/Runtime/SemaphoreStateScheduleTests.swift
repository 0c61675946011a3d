// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

/// A seeded random schedule against a plain model; `PULSE_STEPS` sets its length.
@Suite(.tags(.schedule), .throttled)
struct SemaphoreStateScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 10_000

    @Test(arguments: [1, 2, 5])
    @HeavyWork func theSemaphoreAgreesWithAPlainModel(_ limit: Int) {
        let random = SeededRandomness(seed: UInt64(70 + limit))
        var semaphore = SemaphoreState<UInt64>(limit: limit)
        var holders: [UInt64] = []
        var waiters: [(id: UInt64, priority: RequestOptions.Priority)] = []
        for step in 0..<UInt64(Self.steps) {
            let comment: Comment = "seed \(random.seed), step \(step)"
            switch random.next() % 9 {
            case 0...3:
                let acquired = semaphore.tryAcquire()
                #expect(acquired == (holders.count < limit), comment)
                if acquired {
                    holders.append(step)
                } else {
                    let priority = RequestOptions.Priority(rawValue: Int(random.next() % 3)) ?? .normal
                    semaphore.enqueue(step, id: step, priority: priority)
                    waiters.append((step, priority))
                }
            case 4...5 where !waiters.isEmpty:
                let id = waiters.remove(at: Int(random.next() % UInt64(waiters.count))).id
                #expect(semaphore.remove(id: id) == id, comment)
                #expect(semaphore.remove(id: id) == nil, comment)
            case 6 where step % 50 == 0:
                let all = waiters.indices.sorted { (waiters[$1].priority, $0) < (waiters[$0].priority, $1) }
                #expect(semaphore.removeAll() == all.map { waiters[$0].id }, comment)
                waiters = []
            default:
                guard !holders.isEmpty else { continue }
                holders.remove(at: Int(random.next() % UInt64(holders.count)))
                let most = waiters.map(\.priority).max()
                let index = waiters.firstIndex { $0.priority == most }
                let expected = index.map { waiters.remove(at: $0).id }
                #expect(semaphore.release() == expected, comment)
                if let expected { holders.append(expected) }
            }
            #expect(semaphore.active == holders.count, comment)
            #expect(semaphore.waiterCount == waiters.count, comment)
            // No waiter is queued while a permit is free.
            #expect(waiters.isEmpty || holders.count == limit, comment)
        }
    }
}
