// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore
import PulsePlatform
import PulseTesting
import TestSupport
import Testing

@testable import PulseStorage

@Suite(.throttled)
struct DiskCacheStorageTests {
    @Test func aMissingTemporaryFileCreatesNoFolders() async throws {
        try await TestFolder.run { folder in
            let name = try #require(DiskName(CacheKey.test("/a")))
            #expect(throws: JournalFailure.missing) {
                try DiskFolder(folder.url, using: .system).place(folder.url.path + "/gone", as: name, 0)
            }
            #expect(folder.everything.isEmpty)
        }
    }

    @Test(arguments: CacheStorageContract.allCases)
    func fulfillsTheContract(_ rule: CacheStorageContract) async throws {
        try await TestFolder.run { folder in
            let store = folder.store()
            // Scan the folder while it is empty, so that its content is known in every case.
            _ = await store.usage()
            try await rule.check(store)
        }
    }

    @Test func storesTheNewestVariantsIfTheEntryLimitIsLower() async throws {
        try await TestFolder.run { folder in
            let store = DiskCacheStorage(directory: folder.url, maxEntries: 2)
            _ = await store.usage()
            try await CacheStorageContract.checkFewVariants(store)
        }
    }

    /// Its owner is unknown.
    @Test(arguments: [CacheKey.Selection.all, .partition("account:alice")])
    func leftoversOfAKilledProcessAreRemovedWithEverything(selection: CacheKey.Selection) async throws {
        try await TestFolder.run { folder in
            let rest = folder.url.appendingPathComponent("v2/tmp/0-killed")
            try FileManager.default.createDirectory(
                at: rest.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data("half a response".utf8).write(to: rest)
            _ = try await folder.store().remove(selection)
            #expect(!FileManager.default.fileExists(atPath: rest.path))
        }
    }

    /// Either by a removal of everything, or by a scan of the folder.
    @Test(arguments: [CacheKey.Selection?.some(.all), .some(.partition("account:alice")), nil])
    func filesOfAnEarlierFormatAreMissesAndRemoved(selection: CacheKey.Selection?) async throws {
        try await TestFolder.run { folder in
            let store = folder.store()
            try await store.put("old", .test("/a"))
            _ = await store.usage()
            let earlier = folder.url.appendingPathComponent("v1")
            try FileManager.default.moveItem(at: folder.url.appendingPathComponent("v2"), to: earlier)
            let next = folder.store()
            if let selection { _ = try await next.remove(selection) } else { _ = await next.usage() }
            #expect(try await next.texts(.test("/a")).isEmpty)
            #expect(!FileManager.default.fileExists(atPath: earlier.path))
        }
    }

    @Test func aFileOfAnEarlierFormatUnderALaterNameIsDamaged() async throws {
        try await TestFolder.run { folder in
            try await folder.store().put("old", .test("/a"))
            let file = try #require(folder.files.first)
            var bytes = try Data(contentsOf: file)
            bytes[bytes.count - 3] = 1
            try bytes.write(to: file)
            #expect(try await folder.store().texts(.test("/a")).isEmpty)
        }
    }

    /// A file whose parts do not match its body's length would be read at wrong offsets.
    @Test func aFileWithPartsThatDoNotMatchItsBodyIsDamaged() async throws {
        try await TestFolder.run { folder in
            let parts = try #require(CachedResponse.Parts(ranges: [0..<2, 5..<9], length: 20))
            var head = CachedResponse.Head.test()
            head.parts = parts
            try await folder.store().put("12345", .test("/a"), head)
            #expect(await folder.store().responses(for: .test("/a")).isEmpty)
            try await folder.store().put("123456", .test("/a"), head)
            #expect(await folder.store().responses(for: .test("/a")).map(\.head) == [head])
        }
    }

    @Test func theFolderIsProtectedBeforeAnythingIsInIt() async throws {
        try await TestFolder.run { folder in
            let contents = Locked<[String: [String]]>([:])
            var disk = Disk.system
            disk.protect = { path in
                contents.withLock { $0[path] = try? FileManager.default.contentsOfDirectory(atPath: path) }
            }
            let cache = DiskFolder(folder.url, using: disk)
            try cache.makeFolders(cache.temporaryPath)
            #expect(contents.withLock { $0 } == [folder.url.path: [], cache.path: [], cache.temporaryPath: []])
            #expect(FileManager.default.fileExists(atPath: cache.temporaryPath))
        }
    }

    @Test func anotherProcessFindsWhatThisOneStored() async throws {
        try await TestFolder.run { folder in
            try await folder.store().put("hello", .test("/a", partition: "p"))
            let other = folder.store()
            #expect(try await other.texts(.test("/a", partition: "p")) == ["hello"])
            #expect(await other.usage().entries == 1)
        }
    }

    @Test func anEntryRemovedByOneProcessIsNotFoundByAnother() async throws {
        try await TestFolder.run { folder in
            let (one, other) = (folder.store(), folder.store())
            try await one.put("hello", .test("/a"))
            #expect(try await other.texts(.test("/a")) == ["hello"])
            #expect(try await other.remove(.url(CacheKey.test("/a").url)) == 1)
            #expect(try await one.texts(.test("/a")).isEmpty)
        }
    }

    @Test func aLookupCreatesNoFolder() async throws {
        try await TestFolder.run { folder in
            let store = folder.store()
            _ = await store.responses(for: .test("/a"))
            #expect(!FileManager.default.fileExists(atPath: folder.url.path))
        }
    }

    @Test func filesArePrivateAndTheirNamesRevealNothing() async throws {
        try await TestFolder.run { folder in
            try await folder.store().put("hello", .test("/secret-path", partition: "account:alice"))
            let files = folder.files
            #expect(files.count == 1)
            for file in folder.everything {
                let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
                let mode = attributes[.posixPermissions] as? Int
                let isFolder = attributes[.type] as? FileAttributeType == .typeDirectory
                #expect(mode == (isFolder ? 0o700 : 0o600), "\(file.path)")
                #expect(!file.path.contains("secret") && !file.path.contains("alice"))
            }
            let bytes = try Data(contentsOf: files[0])
            #expect(bytes.range(of: Data("alice".utf8)) == nil)
        }
    }

    @Test(arguments: [(0o700, 0o700), (0o755, 0o700), (0o777, 0o700), (0o700, 0o720)] as [(mode_t, mode_t)])
    func aFolderThatOthersMayWriteToIsUsedWithAWarning(own: mode_t, version: mode_t) async throws {
        try await TestFolder.run { folder in
            try await folder.store().put("hello", .test("/a"))
            let store = folder.store()
            chmod(store.folder.path, version)
            chmod(folder.url.path, own)
            #expect(try await store.texts(.test("/a")) == ["hello"])
            // Waits for the scan.
            _ = await store.usage()
            #expect((store.folderWarning != nil) == ((own | version) & 0o022 != 0))
        }
    }

    // MARK: A disk that hangs

    /// A store whose reads wait for the gate, if it is closed.
    private func store(in folder: TestFolder, _ gate: DiskGate, _ clock: TestClock) -> DiskCacheStorage {
        var disk = Disk.system
        disk.open = { path, flags in
            if flags.opensToRead { gate.pass() }
            return systemOpen(path, flags)
        }
        return DiskCacheStorage(directory: folder.url, maxBytes: 1 << 20, maxEntries: 100, disk: disk, clock: clock)
    }

    @Test func aCancelledLookupDoesNotWaitAndOtherWorkHasItsThreads() async throws {
        try await TestFolder.run { folder in
            let gate = DiskGate()
            let store = store(in: folder, gate, TestClock())
            try await store.put("hello", .test("/a"))
            gate.close()
            let lookups = (0..<8).map { _ in Task { await store.responses(for: .test("/a")) } }
            await gate.waiters(atLeast: 1)
            await BlockingThreadPool.files.run {}
            lookups.forEach { $0.cancel() }
            for lookup in lookups { #expect(await lookup.value.isEmpty) }
            gate.open()
        }
    }

    @Test func aDiskThatHangsIsSkippedUntilItRespondsAgain() async throws {
        try await TestFolder.run { folder in
            let (gate, clock) = (DiskGate(), TestClock())
            let store = store(in: folder, gate, clock)
            try await store.put("hello", .test("/a"))
            try await store.put("hello", .test("/b"))
            gate.close()
            let lookup = Task { await store.responses(for: .test("/a")) }
            await gate.waiters(atLeast: 1)
            for _ in 0..<2 {
                #expect(!store.watch.isHanging)
                await clock.sleepers(atLeast: 1, for: .timeout)
                await clock.advance(by: DiskWatch.period)
            }
            #expect(await lookup.value.isEmpty)
            #expect(store.watch.isHanging)
            #expect(await store.responses(for: .test("/b")).isEmpty)
            await #expect(throws: PulseError.self) { try await store.put("new", .test("/c")) }
            gate.open()
            while store.watch.isHanging { await Task.yield() }
            #expect(try await store.texts(.test("/b")) == ["hello"])
            #expect(try await store.texts(.test("/c")).isEmpty)
        }
    }

    @Test(
        arguments: [(.key(.test("/a")), ["/b"]), (.url(CacheKey.test("/a").url), [])]
            as [(CacheKey.Selection, [String])])
    func aRemovalFromADiskThatHangsIsMadeUpForBeforeTheNextLookup(
        selection: CacheKey.Selection, rest: [String]
    ) async throws {
        try await TestFolder.run { folder in
            let (gate, clock) = (DiskGate(), TestClock())
            let store = store(in: folder, gate, clock)
            for path in ["/a", "/b"] { try await store.put("hello", .test(path)) }
            let isLate = DispatchSemaphore(value: 0)
            store.watch.runLate(on: store.changes) { isLate.wait() }
            for _ in 0..<2 {
                await #expect(throws: PulseError.self) { try await store.remove(selection) }
            }
            #expect(store.watch.isHanging)
            isLate.signal()
            while store.watch.isHanging { await Task.yield() }
            for path in ["/a", "/b"] {
                #expect(await store.responses(for: .test(path)).isEmpty == !rest.contains(path))
            }
        }
    }

    @Test func foundFilesAreBoundedAndTheLeastRecentlyUsedEvicted() async throws {
        try await TestFolder.run { folder in
            let first = folder.store()
            for number in 0..<20 { try await first.put("\(number)", .test("/\(number)")) }
            // The order of use is that of the times set here, even within the same second.
            for (index, number) in (0..<20).reversed().enumerated() {
                let path = first.folder.path(of: try #require(DiskName(.test("/\(number)"))), 0)
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSince1970: 1_000_000 + TimeInterval(index))],
                    ofItemAtPath: path)
            }
            let second = DiskCacheStorage(directory: folder.url, maxBytes: 1_000_000, maxEntries: 5)
            #expect(await second.usage().entries == 5)
            for number in 0..<20 {
                #expect(try await second.texts(.test("/\(number)")) == (number < 5 ? ["\(number)"] : []))
            }
        }
    }

    @Test func aUseUpdatesTheFilesTimeForLaterProcesses() async throws {
        try await TestFolder.run { folder in
            let store = folder.store()
            try await store.put("a", .test("/a"))
            let path = store.folder.path(of: try #require(DiskName(.test("/a"))), 0)
            let old = Date(timeIntervalSince1970: 1_000_000)
            try FileManager.default.setAttributes([.modificationDate: old], ofItemAtPath: path)
            _ = await store.responses(for: .test("/a"))
            let date = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
            #expect(try #require(date) > old)
        }
    }

    @Test func removesOnlyTheLeftoversOfKilledProcesses() async throws {
        try await TestFolder.run { folder in
            let store = folder.store()
            try await store.put("a", .test("/a"))
            let temporary = URL(fileURLWithPath: store.folder.temporaryPath)
            try Data("x".utf8).write(to: temporary.appendingPathComponent("2147483646-0123456789abcdef"))
            try Data("x".utf8).write(to: temporary.appendingPathComponent("\(getpid())-0123456789abcdef"))
            let writer = try await store.writer(for: .test("/b"))
            _ = try await writer.write(Data("in progress".utf8))
            _ = await folder.store().usage()
            #expect(try SystemDirectory.names(in: temporary.path).count == 1)
            #expect(try await writer.commit(.test()))
            #expect(try await store.texts(.test("/b")) == ["in progress"])
        }
    }

    @Test(arguments: [1, 5, 100, 300])
    func aFullDiskLeavesTheStoreUnchanged(limit: Int) async throws {
        try await TestFolder.run { folder in
            try await folder.store().put("old", .test("/a"))
            var disk = Disk.system
            disk.write = { file, bytes, offset in
                guard Int(offset) + bytes.count > limit else { return Disk.system.write(file, bytes, offset) }
                errno = ENOSPC
                return -1
            }
            let full = DiskCacheStorage(directory: folder.url, maxBytes: 1_000_000, maxEntries: 100, disk: disk)
            let body = String(repeating: "n", count: 400)
            let error = await #expect(throws: PulseError.self) { try await full.put(body, .test("/a")) }
            #expect(error?.description == "DiskFailure: No space left on device")
            await #expect(throws: PulseError.self) {
                let writer = try await full.writer(for: .test("/a"))
                for _ in 0..<400 { _ = try await writer.write(Data("n".utf8)) }
                _ = try await writer.commit(.test())
            }
            #expect(try await full.texts(.test("/a")) == ["old"])
            #expect(folder.files.count == 1)
            #expect(try SystemDirectory.names(in: full.folder.temporaryPath).isEmpty)
        }
    }

    @Test func aLargeBodyIsVerifiedAndThenReadInChunks() async throws {
        try await TestFolder.run { folder in
            let store = DiskCacheStorage(directory: folder.url, maxBytes: 64 << 20, maxEntries: 10)
            let body = Data((0..<(3 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
            _ = try await store.store(CachedResponse(head: .test(), body: CachedResponse.Body(body)), for: .test("/a"))
            let found = try #require(await store.responses(for: .test("/a")).first)
            #expect(found.body.inMemory == nil)
            #expect(try await found.body.data() == body)
            var collected = Data()
            var largest = 0
            for try await chunk in try await found.body.stream() {
                collected += chunk
                largest = max(largest, chunk.count)
            }
            #expect(collected == body)
            #expect(largest <= DiskBody.chunkSize)
            // A new head over the same body, which is copied without loading it into memory.
            let head = CachedResponse.Head.test(["X": "1"])
            #expect(try await store.store(CachedResponse(head: head, body: found.body), for: .test("/a")))
            let again = try #require(await store.responses(for: .test("/a")).first)
            #expect(again.head == head)
            #expect(try await again.body.data() == body)
            // Change one byte near the end.
            let file = try FileHandle(forUpdating: folder.files[0])
            try file.seek(toOffset: UInt64(body.count - 7))
            try file.write(contentsOf: Data([body[body.count - 7] ^ 1]))
            try file.close()
            let damaged = try #require(await store.responses(for: .test("/a")).first)
            await #expect(throws: (any Error).self) { try await damaged.body.stream() }
            await #expect(throws: (any Error).self) { try await damaged.body.data() }
        }
    }

    @Test func aLargeBodyThatChangesDuringAReadIsNotReadToItsEnd() async throws {
        try await TestFolder.run { folder in
            let store = DiskCacheStorage(directory: folder.url, maxBytes: 64 << 20, maxEntries: 10)
            let body = Data((0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
            _ = try await store.store(CachedResponse(head: .test(), body: CachedResponse.Body(body)), for: .test("/a"))
            let found = try #require(await store.responses(for: .test("/a")).first)
            var collected = Data()
            await #expect(throws: (any Error).self) {
                for try await chunk in try await found.body.stream() {
                    if collected.isEmpty {
                        let file = try FileHandle(forUpdating: folder.files[0])
                        try file.seek(toOffset: UInt64(body.count / 2))
                        try file.write(contentsOf: Data([body[body.count / 2] ^ 1]))
                        try file.close()
                    }
                    collected += chunk
                }
            }
            #expect(!collected.isEmpty && collected.count < body.count)
        }
    }

    /// A process that has too many open files for a moment must not lose its cache.
    @Test(arguments: [EMFILE, ENFILE, EACCES, EIO])
    func aFileThatCannotBeOpenedForAMomentIsAMissAndIsKept(code: Int32) async throws {
        try await TestFolder.run { folder in
            let isRefused = Locked(true)
            var disk = Disk.system
            disk.open = { path, flags in
                guard flags.opensToRead, isRefused.withLock({ $0 }) else { return systemOpen(path, flags) }
                errno = code
                return -1
            }
            let store = DiskCacheStorage(directory: folder.url, maxBytes: 1_000_000, maxEntries: 100, disk: disk)
            try await folder.store().put("old", .test("/a"))
            #expect(try await store.texts(.test("/a")).isEmpty)
            await #expect(throws: PulseError.self) { try await store.put("new", .test("/a")) }
            isRefused.withLock { $0 = false }
            #expect(try await store.texts(.test("/a")) == ["old"])
        }
    }

    /// Checks every offset: truncated there, one bit of the byte flipped, all bits flipped.
    @Test func aFileDamagedAnywhereIsAMissAtWorst() async throws {
        try await TestFolder.run { folder in
            let store = folder.store()
            let head = CachedResponse.Head.test(
                ["ETag": "\"1\"", "Vary": "Accept-Language"], language: "en", tags: ["t"])
            let key = CacheKey.test("/a", partition: "p", digest: "d")
            try await store.put("a body of some length", key, head)
            let file = try #require(folder.files.first)
            let whole = try Data(contentsOf: file)
            func check(_ damaged: Data, _ what: String) async throws {
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try damaged.write(to: file)
                for response in await store.responses(for: key) {
                    // Whatever is found must be what was stored.
                    #expect(damaged == whole, "\(what)")
                    #expect(response.head == head)
                    #expect(try await response.body.data() == Data("a body of some length".utf8), "\(what)")
                }
            }
            for offset in whole.indices {
                try await check(whole.prefix(offset), "cut at \(offset)")
                for change in [UInt8(1) << UInt8(offset % 8), 0xFF] {
                    var flipped = whole
                    flipped[offset] ^= change
                    try await check(flipped, "\(change) at \(offset)")
                }
            }
            try await check(whole + Data([0]), "longer")
            try await check(Data(repeating: 0, count: whole.count), "zeros")
            try await check(whole, "as it was")
            #expect(try await store.texts(key) == ["a body of some length"])
        }
    }

    @Test func aFileUnderAnotherKeysNameIsAMiss() async throws {
        try await TestFolder.run { folder in
            let store = folder.store()
            try await store.put("of a", .test("/a", partition: "a"))
            try await store.put("of b", .test("/a", partition: "b"))
            let paths = try ["a", "b"].map { partition in
                store.folder.path(of: try #require(DiskName(.test("/a", partition: partition))), 0)
            }
            try Data(contentsOf: URL(fileURLWithPath: paths[1])).write(to: URL(fileURLWithPath: paths[0]))
            #expect(try await store.texts(.test("/a", partition: "a")).isEmpty)
        }
    }

    /// Its content is unknown: reporting it as removed would be wrong.
    @Test func anUnreadableFolderIsNotTakenForEmpty() async throws {
        try await TestFolder.run { folder in
            let store = folder.store()
            try await store.put("a", .test("/a", partition: "p"))
            let real = store.folder.path
            let partition = try #require(SystemDirectory.names(in: real).first { $0 != "tmp" })
            for path in ["\(real)/\(partition)", real] {
                try FileManager.default.moveItem(atPath: path, toPath: real + ".real")
                // A link to itself, which no process can follow, not even with every permission.
                try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
                for selection in [CacheKey.Selection.all, .partition("p"), .url(CacheKey.test("/a").url), .tag("t")] {
                    await #expect(throws: PulseError.self, "\(selection)") { try await store.remove(selection) }
                }
                #expect(await folder.store().usage().entries == 0)
                try FileManager.default.removeItem(atPath: path)
                try FileManager.default.moveItem(atPath: real + ".real", toPath: path)
                #expect(try await store.texts(.test("/a", partition: "p")) == ["a"])
            }
            #expect(try await store.remove(.all) == 1)
        }
    }

    @Test func emptyFoldersAreRemoved() async throws {
        try await TestFolder.run { folder in
            let store = folder.store()
            for number in 0..<5 { try await store.put("x", .test("/\(number)", partition: "p\(number)")) }
            func partitions() throws -> Int { try store.folder.partitions().count }
            #expect(try partitions() == 5)
            _ = try await store.remove(.partition("p0"))
            #expect(try partitions() == 4)
            // A folder left by another process, or by a removal by key, is found by the scan.
            _ = try await store.remove(.key(.test("/1", partition: "p1")))
            _ = await folder.store().usage()
            #expect(try partitions() == 3)
            _ = try await store.remove(.all)
            #expect(try partitions() == 0)
            try await store.put("x", .test("/1", partition: "p1"))
            #expect(try await store.texts(.test("/1", partition: "p1")) == ["x"])
        }
    }

    @Test(arguments: [(EACCES, 1), (EPERM, 1), (EIO, 0)] as [(Int32, Int)])
    func foldersOfAnotherUserAreSkipped(code: Int32, count: Int) async throws {
        try await TestFolder.run { folder in
            let store = folder.store()
            for partition in ["own", "other"] { try await store.put("x", .test("/a", partition: partition)) }
            let other = try #require(DiskName(.test("/a", partition: "other")))
            // The folder of the partition, or the one in it.
            for name in [other.partition.text, other.folder] {
                var disk = Disk.system
                disk.open = { path, flags in
                    guard path.hasSuffix(name) else { return systemOpen(path, flags) }
                    errno = code
                    return -1
                }
                let later = DiskCacheStorage(directory: folder.url, maxBytes: 1 << 20, maxEntries: 100, disk: disk)
                #expect(await later.usage().entries == count)
            }
        }
    }

    /// It would wait for the medium, and need not survive a power failure.
    @Test func nothingIsSynced() async throws {
        try await TestFolder.run { folder in
            let faulty = FaultyDisk()
            let store = DiskCacheStorage(
                directory: folder.url, maxBytes: 1 << 20, maxEntries: 100, disk: faulty.disk)
            try await store.put("a", .test("/a"))
            #expect(try await store.remove(.all) == 1)
            #expect(faulty.plan.withLock { $0.syncs } == 0)
        }
    }

    @Test func anUnreadableFolderDoesNotLiftTheLimits() async throws {
        try await TestFolder.run { folder in
            let store = folder.store()
            try await store.put("x", .test("/0"))
            // A link to itself, which no user can open.
            let name = String(repeating: "0", count: try #require(try store.folder.partitions().first).text.count)
            let path = store.folder.path + "/" + name
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
            let later = folder.store()
            for number in 1...2 * CacheStorageContract.maxEntries { try await later.put("x", .test("/\(number)")) }
            #expect(folder.files.count <= CacheStorageContract.maxEntries + 2)
        }
    }

    @Test func foldersAndLinksInPlaceOfFilesAreMisses() async throws {
        try await TestFolder.run { folder in
            let store = folder.store()
            try await store.put("a", .test("/a"))
            let path = store.folder.path(of: try #require(DiskName(.test("/a"))), 0)
            try FileManager.default.moveItem(atPath: path, toPath: path + ".real")
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path + ".real")
            #expect(try await store.texts(.test("/a")).isEmpty)
            try? FileManager.default.removeItem(atPath: path)
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            #expect(try await store.texts(.test("/a")).isEmpty)
        }
    }
}

extension Int32 {
    /// Whether these flags open a file to read it, rather than a new file or a directory.
    fileprivate var opensToRead: Bool { self & (O_ACCMODE | O_DIRECTORY) == O_RDONLY }
}

/// Lets the threads of a store pass, or holds them like a disk that hangs.
private final class DiskGate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let state = Locked((isClosed: false, waiters: 0))

    func pass() {
        let waits = state.withLock { state in
            if state.isClosed { state.waiters += 1 }
            return state.isClosed
        }
        guard waits else { return }
        semaphore.wait()
        // For the next one.
        semaphore.signal()
    }

    func close() { state.withLock { $0.isClosed = true } }

    func open() {
        state.withLock { $0.isClosed = false }
        semaphore.signal()
    }

    func waiters(atLeast count: Int) async {
        while state.withLock({ $0.waiters }) < count { await Task.yield() }
    }
}
