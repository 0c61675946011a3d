// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseStorage

@Suite(.throttled)
struct DiskCacheIndexTests {
    private static func name(_ number: UInt64) -> DiskName {
        DiskName(partition: .init(high: 1, low: 1), url: .init(high: number, low: number), body: 0)
    }

    private static func found(_ number: UInt64, size: Int) -> DiskCacheIndex.Found {
        DiskCacheIndex.Found(name: name(number), slot: 0, size: size, used: TimeInterval(number))
    }

    @Test func aFolderThatCannotBeScannedIsStillBounded() {
        var index = DiskCacheIndex(maxBytes: 1_000, maxEntries: 3)
        for number in 1...3 { #expect(index.add(Self.name(UInt64(number)), slot: 0, size: 10).isEmpty) }
        #expect(index.isOutdated)
        index.beginScan()
        index.failScan()
        #expect(index.add(Self.name(4), slot: 0, size: 10) == [Self.name(1)])
        #expect(index.usage == CacheUsage(entries: 3, bytes: 30))
        // A scan is not repeated for every response.
        #expect(!index.isOutdated)
        for number in 5...1_004 { _ = index.add(Self.name(UInt64(number)), slot: 0, size: 10) }
        #expect(index.isOutdated)
    }

    @Test func changesDuringAScanAreApplied() throws {
        var index = DiskCacheIndex(maxBytes: 1_000, maxEntries: 3)
        _ = index.add(Self.name(1), slot: 0, size: 10)
        index.beginScan()
        // The scan missed the removal of the first file and the creation of the second.
        index.remove(Self.name(1))
        _ = index.add(Self.name(2), slot: 0, size: 20)
        _ = index.use(Self.name(3))
        let found = [
            Self.found(1, size: 10), Self.found(3, size: 30), Self.found(4, size: 40), Self.found(5, size: 50),
        ]
        var next = index.successor(of: found)
        let changes = try #require(index.changesDuringScan)
        let evicted = next.apply(changes) { $0 == Self.name(2) ? [20] : [] }
        // One entry too many: the one with the oldest use is evicted, not the one used during the scan.
        #expect(evicted == [Self.name(4)])
        #expect(next.isKnown)
        #expect(next.usage == CacheUsage(entries: 3, bytes: 100))
        #expect((1...5).filter { next.contains(Self.name($0)) } == [2, 3, 5])
    }
}
