// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore
import TestSupport
import Testing

@Suite(.tags(.threads), .throttled)
struct LatchStressTests {
    /// The latch opens shortly before, while or shortly after the tasks suspend.
    @Test func everyWaitingTaskPasses() async {
        let queue = DispatchQueue(label: "latch")
        for round in 0..<1_000 {
            let latch = Latch()
            let passed = Locked(0)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        await latch.wait()
                        passed.withLock { $0 += 1 }
                    }
                }
                for _ in 0..<(round % 300) { _ = [round] }
                queue.async { latch.open() }
            }
            #expect(passed.withLock { $0 } == 4)
        }
    }

    @Test func anOpenLatchStaysOpen() async {
        let latch = Latch()
        for _ in 0..<2 {
            latch.open()
            await latch.wait()
        }
    }

    @Test func aCancelledTaskWaitsToo() async {
        let latch = Latch()
        let hasPassed = Locked(false)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await latch.wait()
            hasPassed.withLock { $0 = true }
        }
        for _ in 0..<100 { await Task.yield() }
        #expect(!hasPassed.withLock { $0 })
        latch.open()
        await task.value
    }
}
