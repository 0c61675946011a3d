// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseStorage

@Suite(.tags(.threads, .addresses), .throttled)
struct DiskCacheStorageStressTests {
    /// Many tasks and two stores use one folder: every response found is one that was stored there.
    @Test func everyResponseFoundIsIntactUnderConcurrentWrites() async throws {
        try await TestFolder.run { folder in
            let stores = (0..<2).map { _ in
                DiskCacheStorage(directory: folder.url, maxBytes: 2 << 20, maxEntries: 20)
            }
            let random = SeededRandomness(seed: 8)
            await withTaskGroup(of: Void.self) { group in
                for task in 0..<12 {
                    group.addTask {
                        for step in 0..<40 {
                            let store = stores[Int(random.next() % 2)]
                            let key = CacheKey.test("/\(random.next() % 10)", partition: "\(random.next() % 2)")
                            do {
                                switch random.next() % 8 {
                                case 0: _ = try await store.remove(.key(key))
                                case 1: _ = try await store.remove(.url(key.url))
                                case 2: _ = try await store.remove(.partition(key.partition))
                                case 3, 4:
                                    for response in await store.responses(for: key) {
                                        let text = String(decoding: try await response.body.data(), as: UTF8.self)
                                        #expect(text.hasPrefix("\(key.partition) \(key.url) "))
                                        #expect(text.hasSuffix(" end"))
                                    }
                                default:
                                    let filling = String(repeating: "x", count: Int(random.next() % 30_000))
                                    let text = "\(key.partition) \(key.url) \(task) \(step) \(filling) end"
                                    try await store.put(text, key, .test(language: "\(random.next() % 3)"))
                                }
                            } catch {
                                Issue.record(error)
                            }
                        }
                    }
                }
            }
            // Either store's count may be outdated: a new store scans the folder.
            let usage = await DiskCacheStorage(directory: folder.url, maxBytes: 2 << 20, maxEntries: 20).usage()
            #expect(usage.entries <= 20 && usage.bytes <= 2 << 20)
            #expect(folder.files.count == usage.entries)
        }
    }

    /// Simulates another process that has just removed the content of these folders.
    @Test func removingEmptyFoldersDoesNotFailConcurrentStores() async throws {
        try await TestFolder.run { folder in
            let store = DiskCacheStorage(directory: folder.url)
            let key = CacheKey.test("/a", partition: "p")
            let partition = try #require(DiskName.Half(of: "p"))
            let isOver = Locked(false)
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    while !isOver.withLock({ $0 }) {
                        store.folder.removeEmptyFolders(of: partition)
                        await Task.yield()
                    }
                }
                group.addTask {
                    for _ in 0..<40 {
                        await #expect(throws: Never.self) {
                            try await store.put("text", key, .test())
                            _ = try await store.remove(.key(key))
                        }
                    }
                    isOver.withLock { $0 = true }
                }
            }
        }
    }
}
