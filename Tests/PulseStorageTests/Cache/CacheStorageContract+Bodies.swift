// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage
import Testing

extension CacheStorageContract {
    private static let large = String(repeating: "l", count: maxBytes / 4 + 1)

    func checkBodies(_ store: any CacheStorage) async throws {
        let key = CacheKey.test("/a")
        switch self {
        case .writesABodyInChunks:
            let writer = try await store.writer(for: key)
            for chunk in ["he", "", "llo"] { #expect(try await writer.write(Data(chunk.utf8))) }
            #expect(try await writer.commit(.test()))
            #expect(try await store.texts(key) == ["hello"])
            writer.discard()
            #expect(try await store.texts(key) == ["hello"])
        case .findsNothingBeforeACommit:
            try await store.put("old", key)
            let writer = try await store.writer(for: key)
            _ = try await writer.write(Data("new".utf8))
            #expect(try await store.texts(key) == ["old"])
            #expect(try await writer.commit(.test()))
            #expect(try await store.texts(key) == ["new"])
        case .findsNothingAfterADiscard:
            let writer = try await store.writer(for: key)
            _ = try await writer.write(Data("new".utf8))
            writer.discard()
            #expect(try await store.texts(key).isEmpty)
            #expect(await store.usage() == CacheUsage(entries: 0, bytes: 0))
        case .storesNothingLargerThanAQuarterOfTheBytes:
            for number in 0..<3 { try await store.put("small", .test("/\(number)")) }
            #expect(try await store.put(Self.large, key) == false)
            #expect(try await store.texts(key).isEmpty)
            #expect(await store.usage().entries == 3)
            let writer = try await store.writer(for: key)
            #expect(try await writer.write(Data(Self.large.utf8)) == false)
            #expect(try await writer.commit(.test()) == false)
            #expect(try await store.texts(key).isEmpty)
        case .variantsOfAKeyShareAQuarterOfTheBytes:
            try await store.put("other", .test("/other"))
            for language in ["en", "fr", "de", "it"] {
                try await store.put(
                    language + String(repeating: "x", count: 100_000), key, .test(language: language))
                let found = try await store.texts(key)
                #expect(found.contains { $0.hasPrefix(language) })
                #expect(found.reduce(0) { $0 + $1.utf8.count } <= Self.maxBytes / 4)
            }
            #expect(try await store.texts(.test("/other")) == ["other"])
        case .aResponseTooLargeRemovesTheOneItWouldReplace:
            try await store.put("old", key)
            try await store.put("fr", key, .test(language: "fr"))
            #expect(try await store.put(Self.large, key) == false)
            #expect(try await !store.texts(key).contains("old"))
        case .storesANewHeadForABodyOfTheStore:
            try await store.put("body", key, .test(["ETag": "\"1\""]))
            let found = try #require(await store.responses(for: key).first)
            let head = CachedResponse.Head.test(["ETag": "\"1\"", "Age": "0"])
            #expect(try await store.store(CachedResponse(head: head, body: found.body), for: key))
            let again = await store.responses(for: key)
            #expect(again.map(\.head) == [head])
            #expect(try await store.texts(key) == ["body"])
            // With other selecting fields, it is stored beside the first.
            let other = CachedResponse.Head.test(language: "fr")
            #expect(try await store.store(CachedResponse(head: other, body: found.body), for: key))
            #expect(try await store.texts(key) == ["body", "body"])
        default:
            try await store.put("old", key)
            let found = try #require(await store.responses(for: key).first)
            try await store.put("new", key)
            _ = try await store.remove(.all)
            #expect(try await found.body.data() == Data("old".utf8))
            #expect(try await found.body.stream().collect(upTo: 9) == Data("old".utf8))
        }
    }

    func checkEviction(_ store: any CacheStorage) async throws {
        switch self {
        case .evictsTheLeastRecentlyUsedAboveTheEntryLimit:
            for number in 0..<Self.maxEntries { try await store.put("\(number)", .test("/\(number)")) }
            #expect(try await store.texts(.test("/0")) == ["0"])
            try await store.put("more", .test("/more"))
            #expect(try await store.texts(.test("/0")) == ["0"])
            #expect(try await store.texts(.test("/1")).isEmpty)
            #expect(try await store.texts(.test("/more")) == ["more"])
            #expect(await store.usage().entries == Self.maxEntries)
        case .evictsTheLeastRecentlyUsedAboveTheByteLimit:
            let fifth = String(repeating: "f", count: Self.maxBytes / 5 - 2_000)
            for number in 0..<5 { #expect(try await store.put(fifth, .test("/\(number)"))) }
            _ = await store.responses(for: .test("/0"))
            #expect(try await store.put(fifth, .test("/5")))
            #expect(try await store.texts(.test("/0")).count == 1)
            #expect(try await store.texts(.test("/1")).isEmpty)
            #expect(await store.usage().bytes <= Self.maxBytes)
        case .countsEntriesAndBytes:
            try await store.put("12345", .test("/a"))
            try await store.put("fr", .test("/a"), .test(language: "fr"))
            let usage = await store.usage()
            #expect(usage.entries == 2)
            #expect(usage.bytes > 7)
            _ = try await store.remove(.all)
            #expect(await store.usage() == CacheUsage(entries: 0, bytes: 0))
        default:
            try await checkSelections(store)
        }
    }

    /// Six responses, of which some are removed.
    private func checkSelections(_ store: any CacheStorage) async throws {
        let keys: [String: CacheKey] = [
            "a": .test("/a"), "a of p": .test("/a", partition: "p"), "ab": .test("/a/b"), "b": .test("/b"),
            "b of p": .test("/b", partition: "p"), "query": .test("/a", digest: "d"),
        ]
        for (text, key) in keys {
            try await store.put(text, key, .test(tags: text.hasPrefix("b") ? ["feed", "b"] : ["a"]))
        }
        let (selection, gone): (CacheKey.Selection, Set<String>) =
            switch self {
            case .removesAURLInAllPartitions: (.url(CacheKey.test("/a").url), ["a", "a of p", "query"])
            case .removesAPrefix: (.prefix(CacheKey.test("/a").url), ["a", "a of p", "ab", "query"])
            case .removesATag: (.tag("feed"), ["b", "b of p"])
            case .removesAPartition: (.partition("p"), ["a of p", "b of p"])
            default: (.all, Set(keys.keys))
            }
        #expect(try await store.remove(selection) == gone.count)
        for (text, key) in keys {
            #expect(try await store.texts(key) == (gone.contains(text) ? [] : [text]), "\(text)")
        }
        #expect(await store.usage().entries == keys.count - gone.count)
    }
}
