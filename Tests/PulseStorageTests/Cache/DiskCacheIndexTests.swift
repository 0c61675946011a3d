// SPDX-License-Identifier: MIT

import PulseCore
import Testing

@testable import PulseStorage

@Suite(.timeLimit(.minutes(1)))
struct DiskCacheIndexTests {
    private static func name(_ number: UInt64) -> DiskName {
        DiskName(partition: .init(high: 1, low: 1), url: .init(high: number, low: number), body: 0)
    }

    private static func found(_ number: UInt64, size: Int) -> DiskCacheIndex.Found {
        DiskCacheIndex.Found(name: name(number), slot: 0, size: size, used: TimeInterval(number))
    }

    @Test func aFolderThatCannotBeLookedThroughIsBoundedAllTheSame() {
        var ledger = DiskCacheIndex(maximumBytes: 1_000, maximumEntries: 3)
        for number in 1...3 { #expect(ledger.add(Self.name(UInt64(number)), slot: 0, size: 10).isEmpty) }
        #expect(ledger.isOutdated)
        ledger.beginLook()
        ledger.endLook()
        #expect(ledger.add(Self.name(4), slot: 0, size: 10) == [Self.name(1)])
        #expect(ledger.usage == CacheUsage(entries: 3, bytes: 30))
        // Nor is it looked through again for every answer.
        #expect(!ledger.isOutdated)
        for number in 5...1_004 { _ = ledger.add(Self.name(UInt64(number)), slot: 0, size: 10) }
        #expect(ledger.isOutdated)
    }

    @Test func whatHappensWhileTheFolderIsLookedThroughCounts() throws {
        var ledger = DiskCacheIndex(maximumBytes: 1_000, maximumEntries: 3)
        _ = ledger.add(Self.name(1), slot: 0, size: 10)
        ledger.beginLook()
        // The look came by before the one was removed, and before the other was written.
        ledger.remove(Self.name(1))
        _ = ledger.add(Self.name(2), slot: 0, size: 20)
        _ = ledger.use(Self.name(3))
        let found = [
            Self.found(1, size: 10), Self.found(3, size: 30), Self.found(4, size: 40), Self.found(5, size: 50),
        ]
        var next = ledger.successor(of: found)
        let meanwhile = try #require(ledger.meanwhile)
        let leaving = next.catchUp(with: meanwhile) { $0 == Self.name(2) ? [20] : [] }
        // One too many: that which was used longest ago, which is not the one that was used meanwhile.
        #expect(leaving == [Self.name(4)])
        #expect(next.isKnown)
        #expect(next.usage == CacheUsage(entries: 3, bytes: 100))
        #expect((1...5).filter { next.holds(Self.name($0)) } == [2, 3, 5])
    }
}
