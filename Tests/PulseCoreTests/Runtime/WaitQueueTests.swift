// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct WaitQueueTests {
    private static func queue(_ ids: ClosedRange<UInt64>) -> WaitQueue<UInt64> {
        var queue = WaitQueue<UInt64>()
        for id in ids { queue.append(id, id: id) }
        return queue
    }

    @Test func waitersAreServedInOrderAndRemovedOnesSkipped() {
        var queue = Self.queue(1...4)
        #expect(queue.remove(id: 2) == 2)
        #expect(queue.remove(id: 2) == nil)
        #expect(queue.remove(id: 9) == nil)
        #expect(queue.count == 3 && !queue.isEmpty)
        let served = (0..<4).map { _ in queue.popFirst() }
        #expect(served == [1, 3, 4, nil])
        #expect(queue.isEmpty)
        queue.append(5, id: 5)
        #expect(queue.popFirst() == 5)
    }

    @Test func removeAllWhereReportsHowManyWaitersStayBeforeEach() {
        var queue = Self.queue(1...6)
        _ = queue.remove(id: 3)
        var stayingBefore: [UInt64: Int] = [:]
        let removed = queue.removeAll { id, staying in
            stayingBefore[id] = staying
            return id % 2 == 0
        }
        #expect(removed == [2, 4, 6])
        #expect(stayingBefore == [1: 0, 2: 1, 4: 1, 5: 1, 6: 2])
        #expect(queue.removeAll() == [1, 5])
        #expect(queue.isEmpty && queue.slotCount == 0)
    }

    @Test func aQueueThatIsNeverEmptyHasBoundedStorage() {
        var queue = Self.queue(1...1)
        for id in 2...10_000 as ClosedRange<UInt64> {
            queue.append(id, id: id)
            let removed = id % 2 == 0 ? queue.popFirst() : queue.remove(id: id - 1)
            #expect(removed == id - 1)
            #expect(queue.count == 1)
        }
        #expect(queue.slotCount <= 1025)
    }
}
