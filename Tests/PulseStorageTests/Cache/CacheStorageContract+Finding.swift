// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage
import Testing

extension CacheStorageContract {
    func checkLookup(_ store: any CacheStorage) async throws {
        let key = CacheKey.test("/a")
        switch self {
        case .returnsWhatWasStored:
            let head = CachedResponse.Head.test(
                ["Content-Type": "text/plain", "ETag": "\"1\""], language: "en", tags: ["t", "u"])
            #expect(try await store.put("hello", key, head))
            let found = try #require(await store.responses(for: key).first)
            #expect(found.head == head)
            #expect(found.body.count == 5)
            #expect(try await found.body.data() == Data("hello".utf8))
            #expect(try await found.body.stream().collect(upTo: 5) == Data("hello".utf8))
        case .findsNothingUnderAnotherKey:
            try await store.put("a", key)
            #expect(await store.responses(for: .test("/b")).isEmpty)
            #expect(await store.responses(for: .test("/a", partition: "p")).isEmpty)
            #expect(await store.responses(for: .test("/a", digest: "d")).isEmpty)
        case .replacesTheResponseWithTheSameSelectingFields:
            try await store.put("old", key)
            try await store.put("new", key)
            #expect(try await store.texts(key) == ["new"])
        case .storesVariantsBesideEachOther:
            try await store.put("none", key)
            try await store.put("en", key, .test(language: "en"))
            try await store.put("fr", key, .test(language: "fr"))
            try await store.put("en2", key, .test(language: "en"))
            #expect(try await store.texts(key) == ["en2", "fr", "none"])
        default:
            for number in 0..<12 { try await store.put("\(number)", key, .test(language: "\(number)")) }
            let texts = try await store.texts(key)
            #expect(texts.count == 8)
            #expect(texts.contains("11"))
        }
    }

    /// - Parameter store: a store of two entries.
    static func checkFewVariants(_ store: any CacheStorage) async throws {
        let key = CacheKey.test("/a")
        for (number, language) in ["en", "fr", "de"].enumerated() {
            var head = CachedResponse.Head.test(language: language)
            head.responseTime += TimeInterval(number)
            #expect(try await store.put(language, key, head))
        }
        #expect(try await store.texts(key) == ["de", "fr"])
        #expect(await store.usage().entries == 2)
    }

    func checkContents(_ store: any CacheStorage) async throws {
        let key = CacheKey.test("/a")
        switch self {
        case .storesQueriesByTheirBody:
            try await store.put("get", key)
            try await store.put("one", .test("/a", digest: "1"))
            try await store.put("two", .test("/a", digest: "2"))
            #expect(try await store.texts(key) == ["get"])
            #expect(try await store.texts(.test("/a", digest: "1")) == ["one"])
            _ = try await store.remove(.key(.test("/a", digest: "1")))
            #expect(try await store.texts(.test("/a", digest: "1")).isEmpty)
            #expect(try await store.texts(.test("/a", digest: "2")) == ["two"])
            _ = try await store.remove(.url(key.url))
            #expect(try await store.texts(.test("/a", digest: "2")).isEmpty)
        case .storesRepeatedHeadersInOrder:
            let head = CachedResponse.Head.test([
                "X-B": "1", "x-a": "2", "X-B": "", "Set-Cookie": "a=1", "Set-Cookie": "b=2",
            ])
            try await store.put("", key, head)
            let found = await store.responses(for: key).first?.head.headers.map { "\($0.name)=\($0.value)" }
            #expect(found == ["X-B=1", "x-a=2", "X-B=", "Set-Cookie=a=1", "Set-Cookie=b=2"])
        case .storesAnEmptyBody:
            #expect(try await store.put("", key))
            let found = try #require(await store.responses(for: key).first)
            #expect(found.body.count == 0)
            #expect(try await found.body.data().isEmpty)
            #expect(try await found.body.stream().collect(upTo: 1).isEmpty)
        case .storesThePartsOfABody:
            for length in [nil, 20, Int.max - 1] {
                var head = CachedResponse.Head.test()
                head.parts = CachedResponse.Parts(ranges: [0..<2, 5..<8], length: length)
                #expect(try await store.put("01567", key, head))
                #expect(await store.responses(for: key).map(\.head) == [head])
            }
            // A whole response replaces the parts.
            try await store.put("whole", key)
            #expect(await store.responses(for: key).map(\.head.parts) == [nil])
        default:
            let texts = [
                "/\u{0}", "/../../etc/passwd", "/é\u{301}👩‍👩‍👧", "/\r\n", "/" + String(repeating: "x", count: 5_000),
            ]
            for text in texts {
                let hostile = CacheKey(partition: text, url: text)
                try await store.put(text, hostile, .test(["X": text], language: text, tags: [text]))
                let found = try #require(await store.responses(for: hostile).first)
                #expect(found.head == .test(["X": text], language: text, tags: [text]))
                #expect(try await store.texts(hostile) == [text])
            }
            #expect(try await store.remove(.tag(texts[1])) == 1)
            #expect(try await store.remove(.partition(texts[2])) == 1)
            #expect(try await store.remove(.url(texts[3])) == 1)
        }
    }
}
