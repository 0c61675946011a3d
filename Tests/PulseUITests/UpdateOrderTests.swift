// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import PulseUI

@Suite(.throttled)
struct UpdateOrderTests {
    @Test func updatesThatAlwaysOverlapAreShown() {
        var order = UpdateOrder()
        var running = order.start()
        var shown: [Bool] = []
        for _ in 0..<10 {
            let next = order.start()
            shown.append(order.finish(running))
            running = next
        }
        #expect(shown == Array(repeating: true, count: 10))
        #expect(order.started == 11)
    }

    @Test func anEarlierUpdateIsNotShownAfterALaterOne() {
        var order = UpdateOrder()
        let turns = [order.start(), order.start(), order.start()]
        #expect([turns[1], turns[0], turns[2]].map { order.finish($0) } == [true, false, true])
    }

    @Test func aReasonForOtherContentDiscardsTheUpdatesInProgress() {
        var order = UpdateOrder()
        let turns = [order.start(), order.start()]
        order.outdate()
        let next = order.start()
        #expect([turns[1], next, turns[0]].map { order.finish($0) } == [false, true, false])
    }
}
