// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore
import TestSupport
import Testing

@testable import PulsePlatform

@Suite(.throttled, .timeLimit(.minutes(15)))
struct BlockingThreadPoolTests {
    /// A free thread takes the next job, so that a long job delays only itself.
    @Test func aLongJobDoesNotDelayLaterJobs() async {
        let pool = BlockingThreadPool(count: 2)
        let isFree = DispatchSemaphore(value: 0)
        let long = Task { await pool.run { isFree.wait() } }
        let (begun, began) = AsyncStream<Void>.makeStream()
        pool.begin { began.yield() }
        for await _ in begun { break }
        // Each job waits for the one before it on the remaining thread.
        for number in 0..<100 { #expect(await pool.run { number } == number) }
        await withTaskGroup(of: Int.self) { group in
            for number in 0..<100 { group.addTask { await pool.run { number } } }
            #expect(await group.reduce(0, +) == 4950)
        }
        isFree.signal()
        await long.value
    }

    @Test func oneThreadKeepsTheOrder() async {
        let pool = BlockingThreadPool(count: 1)
        let order = Locked<[Int]>([])
        for number in 0..<1_000 { pool.begin { order.withLock { $0.append(number) } } }
        await pool.run {}
        #expect(order.withLock { $0 } == Array(0..<1_000))
    }

    /// Else a file that the job has used would be closed some time after its last user has dropped it.
    @Test func aJobIsReleasedBeforeItsCallerGoesOn() async {
        final class Probe: Sendable {
            let isGone: Locked<Bool>
            init(_ isGone: Locked<Bool>) { self.isGone = isGone }
            deinit { isGone.withLock { $0 = true } }
        }
        func use(_ isGone: Locked<Bool>) async {
            let probe = Probe(isGone)
            await BlockingThreadPool.files.run { withExtendedLifetime(probe) {} }
        }
        for _ in 0..<2_000 {
            let isGone = Locked(false)
            await use(isGone)
            #expect(isGone.withLock { $0 })
        }
    }

    @Test func aFailureReachesTheCaller() async {
        await #expect(throws: CancellationError.self) {
            try await BlockingThreadPool.files.result { throw CancellationError() }
        }
    }
}
