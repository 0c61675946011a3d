// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.tags(.threads, .addresses), .throttled)
struct LockedStressTests {
    @Test
    func noIncrementIsLostUnderContention() async {
        let counter = Locked(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    for _ in 0..<10_000 { counter.withLock { $0 += 1 } }
                }
            }
        }
        #expect(counter.withLock { $0 } == 160_000)
    }

    @Test
    func aStateOfSeveralPartsIsNeverSeenHalfChanged() async {
        struct Pair { var (left, right) = (0, 0) }
        let pair = Locked(Pair())
        let torn = Locked(0)
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for step in 0..<5000 {
                        if task.isMultiple(of: 2) {
                            pair.withLock { ($0.left, $0.right) = (step, step) }
                        } else if pair.withLock({ $0.left != $0.right }) {
                            torn.withLock { $0 += 1 }
                        }
                    }
                }
            }
        }
        #expect(torn.withLock { $0 } == 0)
    }

    @Test
    func theLockExcludesForeignThreads() {
        let counter = Locked([Int]())
        DispatchQueue.concurrentPerform(iterations: 64) { index in
            for _ in 0..<200 { counter.withLock { $0.append(index) } }
        }
        #expect(counter.withLock { $0.count } == 12_800)
    }
}

@Suite(.throttled)
struct LockedTests {
    private struct Refusal: Error {}

    @Test
    func aThrowingBodyReleasesTheLock() {
        let value = Locked(1)
        #expect(throws: Refusal.self) {
            try value.withLock { state in
                state = 2
                throw Refusal()
            }
        }
        #expect(value.withLock { $0 } == 2)
    }

    @Test
    func copiesShareTheirState() {
        let value = Locked("a")
        let copy = value
        copy.withLock { $0 = "b" }
        #expect(value.withLock { $0 } == "b")
    }

    @Test
    func theStateIsFreedWithTheLastCopy() {
        final class Owned: Sendable {}
        weak var freed: Owned?
        do {
            let owned = Owned()
            freed = owned
            let value = Locked<Owned?>(owned)
            value.withLock { _ in }
        }
        #expect(freed == nil)
    }
}
