// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore
import TestSupport
import Testing

/// The thread sanitizer reports the reader's access if the value does not pass the lock.
@Suite(.tags(.threads), .throttled)
struct PromiseStressTests {
    /// Two threads set the value shortly before, while or shortly after the task suspends.
    @Test func theFirstValueReachesTheTask() async {
        let queue = DispatchQueue(label: "promise", attributes: .concurrent)
        var seen = 0
        for round in 0..<2_000 {
            let promise = Promise<[Int]>()
            for number in 1...2 { queue.async { promise.fulfill([round, number]) } }
            for _ in 0..<(round % 300) { _ = [round] }
            let value = await promise.value()
            promise.fulfill([0, 3])
            let again = await promise.value()
            if value[0] == round, (1...2).contains(value[1]), value == again { seen += 1 }
        }
        #expect(seen == 2_000)
    }

    @Test func aCancelledTaskAsksForAValue() async {
        for _ in 0..<200 {
            let promise = Promise<Bool>()
            let task = Task { await promise.value { promise.fulfill(false) } }
            task.cancel()
            #expect(await task.value == false)
        }
    }
}
