// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseObservability

@Suite(.throttled)
struct PackedCountsTests {
    private static func all(_ counts: PackedCounts) -> [UInt64] { (0..<counts.count).map { counts[$0] } }

    @Test func countsGrowBeyondTheInitialWidth() {
        var counts = PackedCounts(count: 3)
        for _ in 0..<70_000 { counts.increment(1) }
        for _ in 0..<255 { counts.increment(2) }
        #expect(Self.all(counts) == [0, 70_000, 255])
    }

    @Test(arguments: [1, 200, 300, 66_000])
    func countsOfAnyWidthCanBeAdded(number: Int) {
        var one = PackedCounts(count: 2)
        for _ in 0..<number { one.increment(1) }
        var sum = PackedCounts(count: 4)
        sum.increment(3)
        // The total determines the width of the sums.
        sum.add(one, at: 2, total: number + 1)
        #expect(Self.all(sum) == [0, 0, 0, UInt64(number) + 1])
        sum.add(one, at: 0, total: 1 << 40)
        sum.add(sum, at: 0, total: 1 << 40)
        #expect(Self.all(sum) == [0, UInt64(number) * 2, 0, UInt64(number) * 2 + 2])
        var narrow = PackedCounts(count: 4)
        narrow.add(sum, at: 0, total: number * 4 + 2)
        #expect(Self.all(narrow) == Self.all(sum))
    }

    @Test func countsCanGrowAtBothEnds() {
        var counts = PackedCounts()
        counts.grow(front: 1, back: 1)
        counts.increment(0)
        for _ in 0..<300 { counts.increment(1) }
        counts.grow(front: 2, back: 1)
        #expect(Self.all(counts) == [0, 0, 1, 300, 0])
    }
}
