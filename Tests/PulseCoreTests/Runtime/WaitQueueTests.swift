// SPDX-License-Identifier: MIT

import PulseCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct WaitQueueTests {
    private static func line(_ ids: ClosedRange<UInt64>) -> WaitQueue<UInt64> {
        var line = WaitQueue<UInt64>()
        for id in ids { line.append(id, id: id) }
        return line
    }

    @Test func servesTheFirstToComeAndSkipsThoseWhoLeft() {
        var line = Self.line(1...4)
        #expect(line.remove(id: 2) == 2)
        #expect(line.remove(id: 2) == nil)
        #expect(line.remove(id: 9) == nil)
        #expect(line.count == 3 && !line.isEmpty)
        let served = (0..<4).map { _ in line.popFirst() }
        #expect(served == [1, 3, 4, nil])
        #expect(line.isEmpty)
        line.append(5, id: 5)
        #expect(line.popFirst() == 5)
    }

    @Test func takesOutThoseWhoAreMeantAndTellsHowManyStayBeforeEach() {
        var line = Self.line(1...6)
        _ = line.remove(id: 3)
        var told: [UInt64: Int] = [:]
        let left = line.removeAll { id, staying in
            told[id] = staying
            return id % 2 == 0
        }
        #expect(left == [2, 4, 6])
        #expect(told == [1: 0, 2: 1, 4: 1, 5: 1, 6: 2])
        #expect(line.removeAll() == [1, 5])
        #expect(line.isEmpty && line.placeCount == 0)
    }

    @Test func keepsItsLengthWithinBoundsThoughItIsNeverEmpty() {
        var line = Self.line(1...1)
        for id in 2...10_000 as ClosedRange<UInt64> {
            line.append(id, id: id)
            let gone = id % 2 == 0 ? line.popFirst() : line.remove(id: id - 1)
            #expect(gone == id - 1)
            #expect(line.count == 1)
        }
        #expect(line.placeCount <= 1025)
    }
}
