// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins
@testable import PulseStorage

/// The disk cache under a client. Over sockets, under a stopped clock.
@Suite(.tags(.threads), .throttled)
struct CacheDiskWireTests {
    private static func run(_ body: (URL, CacheStage) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-cache-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let cache = CachePlugin(policy: .rfc9111, storage: DiskCacheStorage(directory: folder))
        try await CacheStage.run(cache) { try await body(folder, $0) }
    }

    private static func files(in folder: URL) -> [URL] {
        (FileManager.default.enumerator(at: folder, includingPropertiesForKeys: [.isRegularFileKey])?.allObjects ?? [])
            .compactMap { $0 as? URL }
            .filter { (try? $0.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile) == true }
    }

    /// As on Linux without libcrypto.
    @Test(arguments: [true, false])
    func withoutAHashFunctionOnlyMemoryStoresAndSeparatesUsersByCredential(isOnDisk: Bool) async throws {
        try await CacheDigest.$isUnsupported.withValue(true) {
            try await withStorage(onDisk: isOnDisk) { store in
                let cache = CachePlugin(policy: .rfc9111, storage: store)
                try await CacheStage.run(cache) { try await Self.requestAsTwoUsers($0, isStored: !isOnDisk) }
                #expect(await store.usage().entries == (isOnDisk ? 0 : 2))
            }
        }
    }

    private static func requestAsTwoUsers(_ stage: CacheStage, isStored: Bool) async throws {
        stage.serve(["Cache-Control": "max-age=60"])
        // Unique in this process, which may remember the digests of credentials.
        let (ada, bob) = (["Authorization": "Bearer ada \(UUID())"], ["Authorization": "Bearer bob \(UUID())"])
        try await stage.get("/a", ada)
        try await stage.get("/a", bob)
        #expect(try await stage.text("/a", ada) == (isStored ? "body 1 cache" : "body 3 network"))
        #expect(try await stage.text("/a", bob) == (isStored ? "body 2 cache" : "body 4 network"))
        #expect(stage.warnings.count == (isStored ? 0 : 1))
    }

    @Test func aFolderThatOthersMayWriteToIsReportedOnce() async throws {
        try await Self.run { folder, stage in
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            chmod(folder.path, 0o777)
            stage.serve(["Cache-Control": "max-age=60"])
            try await stage.get()
            // Waits for the scan, which looks at the folder.
            _ = await stage.cache.statistics
            for _ in 0..<2 { #expect(try await stage.text() == "body 1 cache") }
            #expect(stage.warnings.count == 1 && stage.warnings[0].contains("the directory of the cache"))
        }
    }

    @Test(arguments: [false, true])
    func aCallEndsThoughItsDiskHangs(byDeadline: Bool) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-cache-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let (disk, state) = (DispatchSemaphore(value: 0), Locked((hangs: false, isAsked: false)))
        var faulty = Disk.system
        faulty.open = { path, flags in
            let isLookup = flags & (O_ACCMODE | O_DIRECTORY) == O_RDONLY
            let hangs = state.withLock { state in
                guard isLookup else { return false }
                state.isAsked = state.hangs
                return state.hangs
            }
            if hangs { disk.wait() }
            return systemOpen(path, flags)
        }
        let storage = DiskCacheStorage(
            directory: folder, maxBytes: 1 << 20, maxEntries: 10, disk: faulty, clock: TestClock())
        try await CacheStage.run(CachePlugin(policy: .rfc9111, storage: storage)) { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            try await stage.get()
            state.withLock { $0.hangs = true }
            var options = RequestOptions()
            options.deadline = 2
            let call = Task { [options] in
                try await stage.client.rawRequest(Request<EmptyResponse>(.get, "/a"), options: options)
            }
            while !state.withLock({ $0.isAsked }) { await Task.yield() }
            if byDeadline { await stage.clock.advance(by: 2) } else { call.cancel() }
            let error = await #expect(throws: PulseError.self) { try await call.value }
            #expect(error?.kind == (byDeadline ? .deadlineExceeded : .cancelled))
            #expect(stage.sent == 1)
            state.withLock { $0.hangs = false }
            disk.signal()
        }
    }

    @Test func aDamagedEntryIsAMissNeverAnError() async throws {
        try await Self.run { folder, stage in
            stage.serve(["Cache-Control": "max-age=60"])
            try await stage.get()
            let file = try #require(Self.files(in: folder).first)
            var bytes = try Data(contentsOf: file)
            bytes[2] ^= 1
            try bytes.write(to: file)
            #expect(try await stage.text() == "body 2 network")
            #expect(try await stage.text() == "body 2 cache")
        }
    }

    @Test func aLargeDamagedBodyIsAMissBufferedStreamedAndRevalidated() async throws {
        try await Self.run { folder, stage in
            let body = Data(repeating: 7, count: 600_000)
            stage.server.on(.get, "/a") { request in
                let headers: HTTPHeaders = ["Cache-Control": "max-age=60", "ETag": "\"1\"", "Date": stage.date()]
                return request.headers["If-None-Match"] == nil
                    ? .data(body, headers: headers) : .status(304, headers: headers)
            }
            func damage() throws {
                let file = try #require(Self.files(in: folder).first)
                var bytes = try Data(contentsOf: file)
                bytes[300_000] ^= 1
                try bytes.write(to: file)
            }
            try await stage.get()
            try damage()
            let buffered = try await stage.get()
            #expect(buffered.origin == .network && buffered.data == body)
            // Confirmed by the server, but still unreadable.
            try damage()
            let confirmed = try await stage.get("/a", cache: .revalidate)
            #expect(confirmed.origin == .network && confirmed.data == body)
            try damage()
            let error = await #expect(throws: PulseError.self) { try await stage.get("/a", cache: .onlyIfCached) }
            #expect(error?.kind == .cacheMiss)
        }
    }

    @Test func aLaterClientFindsTheStoredEntries() async throws {
        try await Self.run { folder, stage in
            stage.serve(["Cache-Control": "max-age=60", "Vary": "Accept-Language"])
            try await stage.get("/a", ["Authorization": "Bearer a", "Accept-Language": "en"])
            let later = ClientStage.client(
                of: stage.server, plugins: [.cache(policy: .rfc9111, storage: .disk(directory: folder))],
                retry: .default, clock: stage.clock)
            let request = Request<String>(.get, "/a").header("Accept-Language", "en")
            let own = try await later.response(for: request.header("Authorization", "Bearer a"))
            #expect(own.response.origin == .cache && own.value == "body 1")
            let other = try await later.response(for: request.header("Authorization", "Bearer b"))
            #expect(other.response.origin == .network && other.value == "body 2")
            await later.shutdown()
        }
    }

    @Test func anUnwritableStoreWarnsOnceAndCallsSucceed() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-cache-\(UUID().uuidString)")
        try Data().write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let cache = CachePlugin(policy: .rfc9111, storage: DiskCacheStorage(directory: file))
        try await CacheStage.run(cache) { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            for _ in 0..<3 { try await stage.get() }
            #expect(stage.sent == 3)
            #expect(stage.warnings.count == 1)
        }
    }

    @Test func theAgeOfAResponseCountsFromItsOwnAttempt() async throws {
        let clock = TestClock(autoAdvances: true)
        try await CacheStage.run(after: [.retry(maxAttempts: 2, strategy: .constant(50))], clock: clock) { stage in
            stage.server.on(
                .get, "/a",
                script: [
                    .status(503), .text("body", headers: ["Cache-Control": "max-age=60", "Age": "1"]),
                ])
            _ = try await stage.client.rawRequest(Request<EmptyResponse>(.get, "/a"))
            #expect(clock.sleeps == [50])
            #expect(try await stage.age() == "1")
        }
    }
}
