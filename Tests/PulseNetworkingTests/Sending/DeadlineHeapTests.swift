// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import Testing

@testable import PulseNetworking

private final class Strikes: Sendable {
    private let ids = Locked<[Int]>([])

    func add(_ id: Int) { ids.withLock { $0.append(id) } }

    func take() -> [Int] {
        ids.withLock { ids in
            defer { ids = [] }
            return ids
        }
    }
}

@Suite(.timeLimit(.minutes(1)))
struct DeadlineHeapTests {
    @Test func strikesEachAtItsTimeInOrderAndNoRemovedOne() async {
        let clock = TestClock()
        let heap = DeadlineHeap(clock: clock)
        let strikes = Strikes()
        _ = heap.add(3) { strikes.add(3) }
        let second = heap.add(2) { strikes.add(2) }
        _ = heap.add(1) { strikes.add(1) }
        heap.remove(second)
        heap.remove(second)
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: 1)
        #expect(strikes.take() == [1])
        await clock.advance(by: 1.5)
        #expect(strikes.take() == [])
        await clock.advance(by: 0.5)
        #expect(strikes.take() == [3])
    }

    @Test func holdsOneSleeperForAnyNumberOfDeadlines() async {
        let clock = TestClock()
        let heap = DeadlineHeap(clock: clock)
        let alarms = (1...1000).map { heap.add(TimeInterval($0)) {} }
        await clock.sleepers(atLeast: 1)
        #expect(clock.sleeperCount == 1)
        alarms.forEach(heap.remove)
        heap.shutdown()
    }

    @Test func endsItsSleeperAtShutdownAndWhenItIsDropped() async {
        let clock = TestClock()
        let strikes = Strikes()
        let heap = DeadlineHeap(clock: clock)
        _ = heap.add(1) { strikes.add(1) }
        await clock.sleepers(atLeast: 1)
        heap.shutdown()
        await clock.advance(by: 2)
        #expect(strikes.take() == [])
        do {
            let dropped = DeadlineHeap(clock: clock)
            _ = dropped.add(10) { strikes.add(10) }
            await clock.sleepers(atLeast: 1)
        }
        await clock.advance(by: 20)
        #expect(strikes.take() == [])
        #expect(clock.sleeperCount == 0)
    }
}

/// A seeded random schedule against a plain model.
@Suite(.timeLimit(.minutes(5)))
struct DeadlineHeapRandomTests {
    @Test func agreesWithAPlainModelOverARandomSchedule() async {
        let steps = 10_000
        let random = SeededRandomness(seed: 42)
        let clock = TestClock()
        let heap = DeadlineHeap(clock: clock)
        let strikes = Strikes()
        var model: [(id: Int, deadline: TimeInterval, alarm: DeadlineHeap.Alarm)] = []
        for step in 0..<steps {
            switch random.next() % 8 {
            case 0...3:
                let deadline = clock.uptime + TimeInterval(random.next() % 16 + 1) / 4
                model.append((step, deadline, heap.add(deadline) { strikes.add(step) }))
            case 4...5 where !model.isEmpty:
                heap.remove(model.remove(at: Int(random.next() % UInt64(model.count))).alarm)
            default:
                await clock.advance(by: TimeInterval(random.next() % 8) / 4)
                let due = model.filter { $0.deadline <= clock.uptime }.sorted { $0.deadline < $1.deadline }
                model.removeAll { $0.deadline <= clock.uptime }
                // What has struck may still be on its way from the heap's task.
                var struck = strikes.take()
                while struck.count < due.count {
                    await Task.yield()
                    struck += strikes.take()
                }
                #expect(Set(struck) == Set(due.map(\.id)), "seed \(random.seed), step \(step)")
            }
        }
        heap.shutdown()
    }
}
