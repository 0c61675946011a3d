// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulsePlugins
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulseCalls
@testable import PulseTransfers

/// Lists of downloads over real sockets.
@Suite(.tags(.threads, .addresses), .throttled)
struct DownloadsTests {
    /// A server, a directory for files, and the lists in it.
    private struct World {
        let server: MockServer
        let directory: URL
        let data = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })

        var list: URL { directory.appendingPathComponent("list") }

        func file(_ name: String) -> URL { directory.appendingPathComponent(name) }

        func client(
            clock: TestClock = TestClock(), plugins: [any PulsePlugin] = [],
            connectivity: ManualConnectivityMonitor = ManualConnectivityMonitor(.satisfied),
            events: PulseEventBus = PulseEventBus(), query: [URLQueryItem] = []
        ) -> PulseClient {
            ClientStage.client(
                of: server, plugins: plugins, clock: EagerClock(clock), events: events,
                with: { ($0.connectivity, $0.defaultQueryItems) = (connectivity, query) })
        }

        /// Serves the file; after that many bytes, responses stop while `isHeld` says so.
        @discardableResult
        func serve(_ path: String, held isHeld: Locked<Bool> = Locked(false)) -> MockServer.File {
            let file = MockServer.File(data, etag: "\"a\"")
            file.answering { _, right in isHeld.withLock { $0 } ? right.fault(.stall, at: .body(100_000)) : right }
            server.serve(file, at: path)
            return file
        }

        var names: [String] {
            get throws { try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() }
        }
    }

    /// A clock by which every progress is due.
    private struct EagerClock: PulseClock {
        let base: TestClock
        let reads = Locked(0)

        init(_ base: TestClock) { self.base = base }

        var now: Date { base.now }
        var uptime: TimeInterval {
            let count = reads.withLock { reads in
                reads += 1
                return reads
            }
            return base.uptime + TimeInterval(count)
        }
        func sleep(_ seconds: TimeInterval) async throws { try await base.sleep(seconds) }
        func sleep(_ seconds: TimeInterval, for purpose: SleepPurpose) async throws {
            try await base.sleep(seconds, for: purpose)
        }
    }

    private func run(_ body: (World) async throws -> Void) async throws {
        try await MockServer.run { server in
            let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: directory) }
            try await body(World(server: server, directory: directory))
            try await server.wait { $0.openConnectionCount == 0 }
        }
    }

    private func path(_ path: String) -> Request<EmptyResponse> { Request(.get, path) }

    /// The events up to the first that fits, without their values.
    private func names(_ download: Download, until isLast: (Download.Event) -> Bool) async -> [String] {
        var names: [String] = []
        for await event in download.events {
            names.append("\(event)".prefix { $0 != "(" }.description)
            if isLast(event) { break }
        }
        return names
    }

    private func progress(of download: Download) async {
        for await event in download.events {
            if case .progress(let progress) = event, progress.completed > 0 { break }
        }
    }

    private func latest(_ download: Download) -> String { "\(download.latest)".prefix { $0 != "(" }.description }

    // MARK: The whole way

    @Test func aDownloadByPathTakesWhatAVerbTakes() async throws {
        try await run { world in
            world.serve("/files/{name}")
            let client = world.client()
            let downloads = Downloads(directory: world.list, client: client)
            let (name, template) = ("a/b", "/files/{name}")
            let first = try await downloads.add(
                "/files/\(name)", query: ["v": 2], headers: ["X-A": "1"], to: world.file("a.bin"))
            _ = try await first.file()
            let second = try await downloads.add(
                template, path: ["name": "c"], query: ["v": 3], headers: ["X-A": "2"], into: world.directory)
            _ = try await second.file()
            let requests = world.server.requests
            #expect(requests.map(\.target) == ["/files/a%2Fb?v=2", "/files/c?v=3"])
            #expect(requests.map { $0.headers["X-A"] } == ["1", "2"])
            await downloads.shutdown()
            await client.shutdown()
        }
    }

    @Test func aDownloadCompletesAndStaysInTheList() async throws {
        try await run { world in
            world.serve("/file")
            let client = world.client()
            let downloads = Downloads(directory: world.list, client: client)
            let download = try await downloads.add(path("/file"), to: world.file("a.bin"))
            #expect(try await download.file() == world.file("a.bin"))
            #expect(try Data(contentsOf: world.file("a.bin")) == world.data)
            let url = world.server.baseURL.appendingPathComponent("file")
            let other = try await downloads.add(url, into: world.directory)
            #expect(try await other.file().lastPathComponent == "file")
            #expect(downloads.all.map(\.id) == [download.id, other.id])
            await downloads.shutdown()
            #expect(downloads.all.isEmpty)

            let again = Downloads(directory: world.list, client: client)
            try await again.start()
            #expect(again.all.map(\.id) == [download.id, other.id])
            #expect(again.all.allSatisfy { latest($0) == "completed" })
            #expect(try await again.all.first?.file() == world.file("a.bin"))
            for download in again.all { await download.cancel() }
            #expect(again.all.isEmpty)
            #expect(try world.names == ["a.bin", "file", "list"])
            await again.shutdown()
            let last = Downloads(directory: world.list, client: client)
            try await last.start()
            #expect(last.all.isEmpty)
            await last.shutdown()
            await client.shutdown()
            #expect(world.server.requests.count == 2)
        }
    }

    @Test func aPauseKeepsWhatCameAndAResumeGoesOn() async throws {
        try await run { world in
            let isHeld = Locked(true)
            world.serve("/file", held: isHeld)
            let client = world.client()
            let downloads = Downloads(directory: world.list, client: client)
            let download = try await downloads.add(path("/file"), to: world.file("a.bin"))
            await progress(of: download)
            await download.pause()
            #expect(latest(download) == "paused")
            #expect(client.calls.count == 0)
            // A pause is no end, and does not end twice.
            await download.pause()
            await downloads.shutdown()

            let again = Downloads(directory: world.list, client: client)
            try await again.start()
            let same = try #require(again.all.first)
            #expect(again.all.count == 1 && same.id == download.id && latest(same) == "paused")
            isHeld.withLock { $0 = false }
            let events = same.events
            await same.resume()
            var names: [String] = []
            for await event in events { names.append("\(event)".prefix { $0 != "(" }.description) }
            #expect(names.filter { $0 != "progress" } == ["paused", "resumed", "waiting", "started", "completed"])
            #expect(try Data(contentsOf: world.file("a.bin")) == world.data)
            #expect(world.server.requests.map { $0.headers["Range"] != nil } == [false, true])
            await again.shutdown()
            await client.shutdown()
        }
    }

    @Test func aCancellationDropsWhatCame() async throws {
        try await run { world in
            world.serve("/file", held: Locked(true))
            let client = world.client()
            let downloads = Downloads(directory: world.list, client: client, maxConcurrent: 1)
            let running = try await downloads.add(path("/file"), to: world.file("a.bin"))
            let waiting = try await downloads.add(path("/file"), to: world.file("b.bin"))
            await progress(of: running)
            #expect(try world.names.contains(".a.bin.part"))
            await waiting.cancel()
            await running.cancel()
            #expect([running, waiting].map(latest) == ["cancelled", "cancelled"])
            #expect(try world.names == ["list"])
            #expect(downloads.all.isEmpty)
            await #expect(throws: PulseError.self) { try await running.file() }
            await downloads.shutdown()
            let again = Downloads(directory: world.list, client: client)
            try await again.start()
            #expect(again.all.isEmpty && world.server.requests.count == 1)
            await again.shutdown()
            await client.shutdown()
        }
    }

    /// The list is dropped without a shutdown, as at the end of a process.
    @Test func whatRanRunsAfterARelaunch() async throws {
        try await run { world in
            let isHeld = Locked(true)
            world.serve("/file", held: isHeld)
            let client = world.client()
            var downloads: Downloads? = Downloads(directory: world.list, client: client, maxConcurrent: 2)
            var ids: [UUID] = []
            for name in ["a", "b", "c"] {
                if let download = try await downloads?.add(path("/file"), to: world.file(name)) {
                    ids.append(download.id)
                }
            }
            for download in downloads?.all.prefix(2) ?? [] { await progress(of: download) }
            #expect(client.calls.count == 2)
            downloads = nil
            isHeld.withLock { $0 = false }
            let again = Downloads(directory: world.list, client: client, maxConcurrent: 1)
            // In one process, the transfers of the first list end before those of the next begin.
            while (try? await again.start()) == nil { await Task.yield() }
            #expect(again.all.map(\.id) == ids)
            for download in again.all {
                #expect(try Data(contentsOf: await download.file()) == world.data)
            }
            await again.shutdown()
            await client.shutdown()
        }
    }

    @Test func aFailureStaysUntilAnotherRequest() async throws {
        try await run { world in
            world.server.on(.get, "/old") { _ in .text("expired", status: 403) }
            world.serve("/new")
            let client = world.client()
            let downloads = Downloads(directory: world.list, client: client)
            let download = try await downloads.add(path("/old"), to: world.file("a.bin"))
            let error = await #expect(throws: PulseError.self) { try await download.file() }
            #expect(error?.statusCode == 403)
            // As after a crash at this moment.
            let copy = world.list.appendingPathExtension("copy")
            try FileManager.default.copyItem(at: world.list, to: copy)
            let crashed = Downloads(directory: copy, client: client)
            try await crashed.start()
            guard case .failed = crashed.all.first?.latest else {
                Issue.record("\(String(describing: crashed.all.first?.latest))")
                return
            }
            await crashed.shutdown()
            await downloads.shutdown()

            let again = Downloads(directory: world.list, client: client)
            try await again.start()
            let same = try #require(again.all.first)
            guard case .failed(.custom(let summary as PulseError.Summary)) = same.latest else {
                Issue.record("\(same.latest)")
                return
            }
            #expect(summary.statusCode == 403)
            await same.resume()
            _ = await names(same) { if case .failed = $0 { true } else { false } }
            #expect(world.server.requests.count == 2)
            try await same.resume(with: path("/new"))
            #expect(try Data(contentsOf: await same.file()) == world.data)
            await #expect(throws: PulseError.self) { try await same.resume(with: path("/new")) }
            await again.shutdown()
            await client.shutdown()
        }
    }

    /// A signed URL expires in the middle.
    @Test func anotherRequestGoesOnWithTheBytesOfTheFirst() async throws {
        try await run { world in
            let isHeld = Locked(true)
            world.serve("/old", held: isHeld)
            world.serve("/new")
            let client = world.client()
            let downloads = Downloads(directory: world.list, client: client)
            let download = try await downloads.add("/old", to: world.file("a.bin"))
            await progress(of: download)
            try await download.resume(with: "/new")
            #expect(try Data(contentsOf: await download.file()) == world.data)
            #expect(world.server.requests.map { $0.headers["Range"] != nil } == [false, true])
            await downloads.shutdown()
            await client.shutdown()
        }
    }

    /// A new key neither loses what has come nor leaves the old one in use.
    @Test func aStoredDownloadGoesOnWithTheDefaultQueryItemsOfItsTime() async throws {
        try await run { world in
            let isHeld = Locked(true)
            world.serve("/file", held: isHeld)
            let first = world.client(query: [URLQueryItem(name: "key", value: "K1")])
            let downloads = Downloads(directory: world.list, client: first)
            await progress(of: try await downloads.add("/file", into: world.directory))
            await downloads.shutdown()
            await first.shutdown()
            for name in try FileManager.default.contentsOfDirectory(atPath: world.list.path) {
                let bytes = try Data(contentsOf: world.list.appendingPathComponent(name))
                #expect(!String(decoding: bytes, as: UTF8.self).contains("K1"), "\(name)")
            }
            isHeld.withLock { $0 = false }
            let second = world.client(query: [URLQueryItem(name: "key", value: "K2")])
            let again = Downloads(directory: world.list, client: second)
            try await again.start()
            #expect(try Data(contentsOf: await again.all[0].file()) == world.data)
            #expect(world.server.requests.map(\.target) == ["/file?key=K1", "/file?key=K2"])
            #expect(world.server.requests.map { $0.headers["Range"] != nil } == [false, true])
            await again.shutdown()
            await second.shutdown()
        }
    }

    @Test func aRestartTellsWhy() async throws {
        try await run { world in
            let isHeld = Locked(true)
            let file = world.serve("/file", held: isHeld)
            let client = world.client()
            let downloads = Downloads(directory: world.list, client: client)
            let download = try await downloads.add(path("/file"), to: world.file("a.bin"))
            await progress(of: download)
            await download.pause()
            file.replace(with: Data(world.data.reversed()), etag: "\"b\"")
            isHeld.withLock { $0 = false }
            let events = download.events
            await download.resume()
            var reasons: [String] = []
            for await event in events { if case .restarted(let reason) = event { reasons.append(reason) } }
            #expect(reasons == ["the server sends the whole content"])
            #expect(try Data(contentsOf: world.file("a.bin")) == Data(world.data.reversed()))
            await downloads.shutdown()
            await client.shutdown()
        }
    }

    // MARK: Waiting

    @Test func theLimitHoldsAndTurnsAreInOrder() async throws {
        try await run { world in
            let running = Locked((now: 0, most: 0))
            world.server.on(.get, "/file") { [data = world.data] _ in
                running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                return .data(data)
            }
            let client = world.client(plugins: [Ended { running.withLock { $0.now -= 1 } }])
            let downloads = Downloads(directory: world.list, client: client, maxConcurrent: 2)
            var started: [Download] = []
            for number in 0..<8 { started.append(try await downloads.add(path("/file"), to: world.file("\(number)"))) }
            for download in started { _ = try await download.file() }
            #expect(running.withLock { $0.most } <= 2)
            await downloads.shutdown()
            await client.shutdown()
        }
    }

    private struct Ended: PulsePlugin {
        let identifier = "ended"
        let scope = PluginScope.call
        let note: @Sendable () -> Void

        init(_ note: @escaping @Sendable () -> Void) { self.note = note }

        func didComplete(_ context: PluginContext) async { note() }
    }

    private struct Session: TokenProvider {
        let account: Locked<String>

        var accountID: String? { get async { account.withLock { $0 } } }
        func accessToken() async -> String? { "token of \(account.withLock { $0 })" }
        func refreshToken() async throws -> String { throw PulseError.sessionExpired }
        func handleAuthenticationFailure() async {}
    }

    @Test func theDownloadOfAnotherAccountWaits() async throws {
        try await run { world in
            let isHeld = Locked(true)
            world.serve("/file", held: isHeld)
            let account = Locked("ada")
            let clock = TestClock()
            let client = world.client(clock: clock, plugins: [.auth(Session(account: account))])
            var downloads = Downloads(directory: world.list, client: client)
            await progress(of: try await downloads.add(path("/file"), to: world.file("a.bin")))
            await downloads.shutdown()
            account.withLock { $0 = "bob" }
            isHeld.withLock { $0 = false }
            downloads = Downloads(directory: world.list, client: client)
            try await downloads.start()
            let download = try #require(downloads.all.first)
            await clock.sleepers(atLeast: 1, for: .idle)
            #expect(latest(download) == "waiting" && world.server.requests.count == 1)
            await clock.advance(by: 60)
            await clock.sleepers(atLeast: 1, for: .idle)
            account.withLock { $0 = "ada" }
            await clock.advance(by: 60)
            #expect(try Data(contentsOf: await download.file()) == world.data)
            #expect(
                world.server.requests.map { $0.headers["Authorization"] } == [
                    "Bearer token of ada", "Bearer token of ada",
                ])
            // No token is on the disk.
            let stored = try Data(contentsOf: world.list.appendingPathComponent("downloads"))
            #expect(!String(decoding: stored, as: UTF8.self).contains("token of"))
            await downloads.shutdown()
            await client.shutdown()
        }
    }

    /// A monitor that stays wrong stops a download for five minutes at most.
    @Test(arguments: [true, false])
    func aDownloadWithoutAConnectionWaitsForOne(isReported: Bool) async throws {
        try await run { world in
            let (part, feed) = AsyncStream<Data>.makeStream()
            let file = world.serve("/file")
            file.answering { [server = world.server, count = world.data.count] _, right in
                switch server.requests.count {
                case 1:
                    // Lost once its first part was read.
                    var response = right.fault(.reset, at: .end)
                    response.headers["Content-Length"] = "\(count)"
                    response.body = .stream(part)
                    return response
                case 2: return right.fault(.reset, at: .body(0))
                default: return right
                }
            }
            let monitor = ManualConnectivityMonitor(.unsatisfied)
            let clock = TestClock()
            let client = world.client(clock: clock, connectivity: monitor)
            let downloads = Downloads(directory: world.list, client: client)
            let download = try await downloads.add(
                path("/file"), to: world.file("a.bin"), download: .init().with(\.maxAttemptsWithoutProgress, value: 1))
            #expect(["started", "progress"].contains(latest(download)))
            feed.yield(world.data.prefix(100_000))
            await progress(of: download)
            feed.finish()
            let events = await names(download) { if case .waiting = $0 { true } else { false } }
            #expect(events.drop { $0 == "progress" } == ["waiting"], "\(events)")
            #expect(world.server.requests.count == 2)
            if isReported {
                monitor.set(.satisfied)
            } else {
                await clock.sleepers(atLeast: 1, for: .connectivity)
                await clock.advance(by: 300)
            }
            #expect(try Data(contentsOf: await download.file()) == world.data)
            await downloads.shutdown()
            await client.shutdown()
        }
    }

    @Test func aClientThatShutsDownPausesAll() async throws {
        try await run { world in
            let isHeld = Locked(true)
            world.serve("/file", held: isHeld)
            let client = world.client()
            let downloads = Downloads(directory: world.list, client: client, maxConcurrent: 1)
            let first = try await downloads.add(path("/file"), to: world.file("a.bin"))
            let second = try await downloads.add(path("/file"), to: world.file("b.bin"))
            await progress(of: first)
            await client.shutdown()
            _ = await names(second) { if case .paused = $0 { true } else { false } }
            _ = await names(first) { if case .paused = $0 { true } else { false } }
            await downloads.shutdown()
            isHeld.withLock { $0 = false }
            let other = world.client()
            let again = Downloads(directory: world.list, client: other)
            try await again.start()
            for download in again.all { #expect(try Data(contentsOf: await download.file()) == world.data) }
            #expect(again.all.count == 2)
            await again.shutdown()
            await other.shutdown()
        }
    }

    // MARK: Shutdown

    @Test func aListThatIsDroppedIsFreedWithItsClientAndLeavesTheNextOneAlone() async throws {
        try await run { world in
            let isHeld = Locked(true)
            world.serve("/file", held: isHeld)
            var client: PulseClient? = world.client()
            weak let freed = client
            var handle: Download?
            do {
                let downloads = Downloads(directory: world.list, client: try #require(client))
                handle = try await downloads.add(path("/file"), to: world.file("a.bin"))
                try await downloads.add(path("/file"), to: world.file("b.bin")).pause()
                if let handle { await progress(of: handle) }
            }
            let events = try #require(handle?.events)
            for await _ in events {}
            #expect(handle.map(latest) == "paused")
            isHeld.withLock { $0 = false }
            do {
                // The first one is closed once its transfers have ended.
                let downloads = Downloads(directory: world.list, client: try #require(client))
                while (try? await downloads.start()) == nil { await Task.yield() }
                // A handle of the first one changes nothing.
                await handle?.cancel()
                #expect(downloads.all.count == 2)
                let next = try #require(downloads.all.first)
                #expect(try Data(contentsOf: await next.file()) == world.data)
                await downloads.shutdown()
                await client?.shutdown()
            }
            handle = nil
            client = nil
            // What runs last lets go of it.
            while freed != nil { await Task.yield() }
        }
    }

    @Test func aShutdownTellsEachReaderOnce() async throws {
        try await run { world in
            world.server.on(.get, "/file") { _ in .text("no", status: 403) }
            let client = world.client()
            let downloads = Downloads(directory: world.list, client: client)
            let download = try await downloads.add(path("/file"), to: world.file("a.bin"))
            _ = await names(download) { if case .failed = $0 { true } else { false } }
            let events = download.events
            await downloads.shutdown()
            var count = 0
            for await _ in events { count += 1 }
            #expect(count == 1)
            await client.shutdown()
        }
    }

    @Test func whatACancelAllStoppedGoesOnAtTheNextStart() async throws {
        try await run { world in
            let isHeld = Locked(true)
            world.serve("/file", held: isHeld)
            let client = world.client()
            let downloads = Downloads(directory: world.list, client: client)
            var all: [Download] = []
            for name in ["a", "b", "c", "d"] {
                all.append(try await downloads.add(path("/file"), to: world.file(name)))
            }
            for download in all.prefix(3) { await progress(of: download) }
            client.cancelAll()
            // The fourth one takes the place of none.
            for download in all { _ = await names(download) { if case .paused = $0 { true } else { false } } }
            isHeld.withLock { $0 = false }
            try await downloads.start()
            for download in all { #expect(try Data(contentsOf: await download.file()) == world.data) }
            await downloads.shutdown()
            await client.shutdown()
        }
    }

    @Test func aListThatWasMovedFindsItsFiles() async throws {
        try await run { world in
            world.serve("/file")
            let client = world.client()
            let (old, new) = (world.directory.appendingPathComponent("1"), world.directory.appendingPathComponent("2"))
            try FileManager.default.createDirectory(at: old, withIntermediateDirectories: true)
            var downloads = Downloads(directory: old.appendingPathComponent("list"), client: client)
            let first = try await downloads.add(path("/file"), to: old.appendingPathComponent("a.bin"))
            _ = try await first.file()
            try await downloads.add(path("/file"), to: old.appendingPathComponent("b.bin")).pause()
            await downloads.shutdown()
            try FileManager.default.moveItem(at: old, to: new)
            downloads = Downloads(directory: new.appendingPathComponent("list"), client: client)
            try await downloads.start()
            await downloads.all.last?.resume()
            var files: [URL] = []
            for download in downloads.all { files.append(try await download.file()) }
            #expect(files == ["a.bin", "b.bin"].map { new.appendingPathComponent($0) })
            #expect(try files.allSatisfy { try Data(contentsOf: $0) == world.data })
            await downloads.shutdown()
            await client.shutdown()
        }
    }

    // MARK: Bad input

    @Test func whatCannotBeStoredIsRefused() async throws {
        try await run { world in
            world.serve("/file", held: Locked(true))
            let client = world.client()
            let downloads = Downloads(directory: world.list, client: client)
            let secret = Request<EmptyResponse>(.get, "/file").header("Authorization", "Bearer x")
            var error = await #expect(throws: PulseError.self) {
                try await downloads.add(secret, to: world.file("a.bin"))
            }
            #expect(error?.kind == .unsupported)
            let web = try #require(URL(string: "https://example.com/a"))
            error = await #expect(throws: PulseError.self) { try await downloads.add(path("/file"), to: web) }
            #expect(error?.kind == .invalidRequest)
            error = await #expect(throws: PulseError.self) {
                try await downloads.add(
                    path("/file"), to: world.file("a.bin"), download: .init().with(\.digest, value: .sha256("x")))
            }
            #expect(error?.kind == .invalidRequest)
            try await downloads.add(path("/file"), to: world.file("a.bin"))
            error = await #expect(throws: PulseError.self) {
                try await downloads.add(path("/file"), to: world.file("a.bin"))
            }
            #expect(error?.transferFailure == .busy)
            let into = try await downloads.add(path("/file"), into: world.directory)
            error = await #expect(throws: PulseError.self) {
                try await downloads.add(path("/file"), into: world.directory)
            }
            #expect(error?.transferFailure == .busy)
            error = await #expect(throws: PulseError.self) {
                try await downloads.add(Request<EmptyResponse>(.head, "/file"), into: world.directory)
            }
            #expect(error?.kind == .invalidRequest)
            await into.cancel()
            #expect(downloads.all.count == 1)

            let second = Downloads(directory: world.list, client: client)
            error = await #expect(throws: PulseError.self) { try await second.start() }
            #expect(error?.transferFailure == .busy)
            await downloads.shutdown()
            try await second.start()
            #expect(second.all.count == 1)
            await second.shutdown()
            error = await #expect(throws: PulseError.self) { try await second.start() }
            #expect(error?.kind == .cancelled)
            error = await #expect(throws: PulseError.self) {
                try await Downloads(directory: world.list, client: client, maxConcurrent: 0).start()
            }
            #expect(error?.kind == .invalidRequest)
            error = await #expect(throws: PulseError.self) {
                try await Downloads(directory: web, client: client).start()
            }
            #expect(error?.kind == .invalidRequest)
            await client.shutdown()
        }
    }

    @Test func aDamagedEntryIsReportedAndTheOthersRun() async throws {
        try await run { world in
            let isHeld = Locked(true)
            world.serve("/file", held: isHeld)
            let events = PulseEventBus()
            let client = world.client(events: events)
            let downloads = Downloads(directory: world.list, client: client)
            for name in ["a", "b"] { try await downloads.add(path("/file"), to: world.file(name)).pause() }
            await downloads.shutdown()
            let file = world.list.appendingPathComponent("downloads")
            var bytes = try Data(contentsOf: file)
            let range = try #require(bytes.range(of: Data("/a\"".utf8)))
            bytes[range.lowerBound + 1] = UInt8(ascii: "z")
            try bytes.write(to: file)
            let heard = events.events
            let again = Downloads(directory: world.list, client: client)
            try await again.start()
            #expect(again.all.count == 1)
            for await case .warning(let text) in heard {
                #expect(text.contains("list of downloads"))
                break
            }
            await again.shutdown()
            await client.shutdown()
        }
    }

    @Test func aMovedContainerIsFollowed() {
        let moved = { (path: String, old: String, new: String) in StoredDownload.moved(path, from: old, to: new) }
        #expect(moved("/c/1/Documents/a", "/c/1/Library/list", "/c/2/Library/list") == "/c/2/Documents/a")
        #expect(moved("/c/1/list/a", "/c/1/list", "/d/list") == "/d/list/a")
        #expect(moved("/data/a", "/home/u/list", "/home/v/list") == "/data/a")
        #expect(moved("/home/u/files/a", "/home/u/list", "/home/u/other") == "/home/u/files/a")
    }
}

extension PulseError {
    fileprivate var transferFailure: TransferFailure? {
        guard case .transport(_, let failure) = self else { return nil }
        return failure as? TransferFailure
    }
}
