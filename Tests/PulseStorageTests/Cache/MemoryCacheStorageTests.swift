// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct MemoryCacheStorageTests {
    @Test(arguments: CacheStorageContract.allCases)
    func fulfillsTheContract(_ rule: CacheStorageContract) async throws {
        try await rule.check(
            MemoryCacheStorage(
                maxBytes: CacheStorageContract.maxBytes, maxEntries: CacheStorageContract.maxEntries))
    }

    @Test func storesNothingWithoutSpace() async throws {
        for store in [MemoryCacheStorage(maxBytes: 0), MemoryCacheStorage(maxEntries: -1)] {
            #expect(try await store.put("a", .test("/a")) == false)
            #expect(await store.usage() == CacheUsage(entries: 0, bytes: 0))
        }
    }

    @Test func storesTheNewestVariantsIfTheEntryLimitIsLower() async throws {
        try await CacheStorageContract.checkFewVariants(MemoryCacheStorage(maxEntries: 2))
    }

    /// The counters match the content after any sequence of changes.
    @Test func usageMatchesTheContentOverARandomSchedule() async throws {
        let random = SeededRandomness(seed: 3)
        func number(_ limit: UInt64) -> Int { Int(random.next() % limit) }
        let store = MemoryCacheStorage(maxBytes: 20_000, maxEntries: 12)
        for step in 0..<5_000 {
            let key = CacheKey.test("/\(number(8))", partition: ["", "p"][number(2)], digest: [nil, "d"][number(2)])
            switch number(12) {
            case 0: _ = try await store.remove(.key(key))
            case 1: _ = try await store.remove(.url(key.url))
            case 2: _ = try await store.remove(number(4) == 0 ? .all : .partition(key.partition))
            case 3: _ = await store.responses(for: key)
            default:
                let body = String(repeating: "b", count: number(6_000))
                try await store.put(body, key, .test(language: "\(number(10))"))
            }
            var (entries, bodies) = (0, 0)
            for path in 0..<8 {
                for partition in ["", "p"] {
                    for digest in [nil, "d"] {
                        let key = CacheKey.test("/\(path)", partition: partition, digest: digest)
                        let found = await store.responses(for: key)
                        entries += found.count
                        bodies += found.reduce(0) { $0 + $1.body.count }
                    }
                }
            }
            let usage = await store.usage()
            #expect(usage.entries == entries, "seed \(random.seed), step \(step)")
            #expect(usage.bytes >= bodies && usage.bytes <= bodies + entries * 500, "seed \(random.seed), step \(step)")
            #expect(usage.bytes <= 20_000 && usage.entries <= 12, "seed \(random.seed), step \(step)")
        }
    }
}
