// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore
import Testing

@testable import PulsePlatform

@Suite(.timeLimit(.minutes(5)))
struct BlockingThreadPoolTests {
    /// Whichever lane is free takes the next piece: a long one holds up none but itself.
    @Test func aLongPieceHoldsUpNoneBehindIt() async {
        let lanes = BlockingThreadPool(count: 2)
        let isFree = DispatchSemaphore(value: 0)
        let long = Task { await lanes.run { isFree.wait() } }
        let (begun, began) = AsyncStream<Void>.makeStream()
        lanes.begin { began.yield() }
        for await _ in begun { break }
        // Each waits for the one before it on the lane that is left.
        for number in 0..<100 { #expect(await lanes.run { number } == number) }
        await withTaskGroup(of: Int.self) { group in
            for number in 0..<100 { group.addTask { await lanes.run { number } } }
            #expect(await group.reduce(0, +) == 4950)
        }
        isFree.signal()
        await long.value
    }

    @Test func oneLaneKeepsTheOrder() async {
        let lanes = BlockingThreadPool(count: 1)
        let order = Locked<[Int]>([])
        for number in 0..<1_000 { lanes.begin { order.withLock { $0.append(number) } } }
        await lanes.run {}
        #expect(order.withLock { $0 } == Array(0..<1_000))
    }

    @Test func aFailureReachesWhoWaits() async {
        await #expect(throws: CancellationError.self) {
            try await BlockingThreadPool.files.result { throw CancellationError() }
        }
    }
}
