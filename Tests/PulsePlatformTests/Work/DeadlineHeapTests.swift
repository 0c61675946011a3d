// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore
import PulsePlatform
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct DeadlineHeapTests {
    @Test func deadlinesExpireInOrderAndRemovedOnesNever() async {
        let clock = TestClock()
        let heap = DeadlineHeap(clock: clock)
        let expiries = Expiries()
        _ = heap.add(3) { expiries.add(3) }
        let second = heap.add(2) { expiries.add(2) }
        _ = heap.add(1) { expiries.add(1) }
        heap.remove(second)
        heap.remove(second)
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 1)
        #expect(await expiries.take(1) == [1])
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 1.5)
        #expect(expiries.take() == [])
        await clock.advance(by: 0.5)
        #expect(await expiries.take(1) == [3])
    }

    @Test func theHeapHasOneSleeperForAnyNumberOfDeadlines() async {
        let clock = TestClock()
        let heap = DeadlineHeap(clock: clock)
        let alarms = (1...1000).map { heap.add(TimeInterval($0)) {} }
        await clock.sleepers(atLeast: 1, for: .deadline)
        #expect(clock.sleeperCount(for: .deadline) == 1)
        alarms.forEach(heap.remove)
        heap.shutdown()
    }

    @Test func theSleeperEndsAtShutdownAndWhenTheHeapIsReleased() async {
        let clock = TestClock()
        let expiries = Expiries()
        let heap = DeadlineHeap(clock: clock)
        _ = heap.add(1) { expiries.add(1) }
        await clock.sleepers(atLeast: 1, for: .deadline)
        heap.shutdown()
        await clock.advance(by: 2)
        #expect(expiries.take() == [])
        do {
            let dropped = DeadlineHeap(clock: clock)
            _ = dropped.add(10) { expiries.add(10) }
            await clock.sleepers(atLeast: 1, for: .deadline)
        }
        await clock.advance(by: 20)
        #expect(expiries.take() == [])
        #expect(clock.sleeperCount(for: .deadline) == 0)
    }

    @Test func aDeadlineInThePastExpiresAtOnce() async {
        let clock = TestClock(uptime: 10)
        let heap = DeadlineHeap(clock: clock)
        let expiries = Expiries()
        _ = heap.add(9) { expiries.add(9) }
        #expect(await expiries.take(1) == [9])
        _ = heap.add(20) { expiries.add(20) }
        await clock.sleepers(atLeast: 1, for: .deadline)
        _ = heap.add(10) { expiries.add(10) }
        _ = heap.add(-.infinity) { expiries.add(0) }
        #expect(await expiries.take(2).sorted() == [0, 10])
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 10)
        #expect(await expiries.take(1) == [20])
    }

    @Test func anExpiryMayAddAndRemoveDeadlinesInOrder() async {
        let clock = OversleepingClock()
        let heap = DeadlineHeap(clock: clock)
        let expiries = Expiries()
        await withCheckedContinuation { continuation in
            let removed = heap.add(4) { expiries.add(4) }
            _ = heap.add(3) { expiries.add(3) }
            _ = heap.add(5) { continuation.resume() }
            _ = heap.add(2) {
                expiries.add(2)
                _ = heap.add(1) { expiries.add(1) }
                heap.remove(removed)
            }
            clock.wake()
        }
        #expect(expiries.take() == [2, 1, 3])
    }

    @Test func theHeapReadsTheClockOutsideItsLock() async {
        let clock = MeddlingClock()
        let heap = DeadlineHeap(clock: clock)
        let other = heap.add(1e9) {}
        clock.meddling.withLock { $0 = { heap.remove(other) } }
        await withCheckedContinuation { continuation in
            _ = heap.add(0) { continuation.resume() }
        }
        clock.meddling.withLock { $0 = nil }
        #expect(clock.wasKeptWaiting.withLock { $0 } == false)
        heap.shutdown()
    }
}

/// All sleepers sleep until `wake`, and then until long after their times.
private final class OversleepingClock: PulseClock {
    private let isAwake = Locked(false)

    var now: Date { Date(timeIntervalSince1970: uptime) }
    var uptime: TimeInterval { isAwake.withLock { $0 } ? 100 : 0 }

    func wake() {
        isAwake.withLock { $0 = true }
    }

    func sleep(_ seconds: TimeInterval) async throws {
        while !isAwake.withLock({ $0 }) {
            try Task.checkCancellation()
            await Task.yield()
        }
    }
}

/// Its readings come from another thread, which uses the heap first.
private final class MeddlingClock: PulseClock {
    let meddling = Locked<(@Sendable () -> Void)?>(nil)
    let wasKeptWaiting = Locked(false)

    var now: Date { Date(timeIntervalSince1970: 0) }

    var uptime: TimeInterval {
        guard let meddling = meddling.withLock({ $0 }) else { return 0 }
        let isDone = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            meddling()
            isDone.signal()
        }
        // Bounded, so that a heap that holds its lock fails the test instead of hanging it.
        if isDone.wait(timeout: .now() + 100) == .timedOut { wasKeptWaiting.withLock { $0 = true } }
        return 0
    }

    func sleep(_ seconds: TimeInterval) async throws {
        guard seconds > 0 else { return }
        try await SystemClock().sleep(seconds)
    }
}
