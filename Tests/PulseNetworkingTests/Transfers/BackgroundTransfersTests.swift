// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulseStorage
import PulseTesting
import PulseTransports
import TestSupport
import Testing

@testable import PulseTransfers

/// The session, the launches for its events, and what is stored.
@Suite(.tags(.threads, .addresses), .throttled)
struct BackgroundTransfersTests {
    private let endpoint = Request<EmptyResponse>(.get, "/film")

    private func failure(_ body: () async throws -> Void) async -> PulseError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? PulseError
        }
    }

    // MARK: The session

    #if canImport(FoundationNetworking)
    @Test func thisPlatformHasNoBackgroundSession() async {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        let transfers = BackgroundTransfers(identifier: UUID().uuidString, directory: directory)
        for _ in 0..<2 {
            let error = await failure { try await transfers.start() }
            guard case .unsupported? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
        try? FileManager.default.removeItem(at: directory)
    }
    #endif

    @Test func anIdentifierHasOneSessionInAProcess() async throws {
        try await BackgroundWorld.run { world in
            let app = try world.launch()
            try await app.transfers.start()
            try await app.transfers.start()
            let second = BackgroundTransfers(
                identifier: "test", directory: world.root, BackgroundSettings(),
                BackgroundTransfers.Surroundings(makeSession: world.system.sessionMaker, registry: app.registry))
            let error = await failure { try await second.start() }
            guard case .transport(_, TransferFailure.busy as TransferFailure)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    @Test func aDirectoryThatOthersMayWriteToIsUsedWithAWarning() async throws {
        try await BackgroundWorld.run { world in
            let directory = world.root.appendingPathComponent("shared")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            chmod(directory.path, 0o777)
            let events = PulseEventBus()
            let heard = events.events
            let transfers = BackgroundTransfers(
                identifier: "test", directory: directory, BackgroundSettings(),
                BackgroundTransfers.Surroundings(
                    makeSession: world.system.sessionMaker, registry: BackgroundRegistry(), events: events))
            try await transfers.start()
            for await case .warning(let text) in heard {
                #expect(text.contains("background transfers"))
                break
            }
        }
    }

    @Test func settingsThatCannotBeAreErrors() async throws {
        let world = FakeBackgroundSystem()
        let settings = [
            ("", "file:///tmp", 1), ("a", "https://example.com", 1), ("a", "file:///tmp", -1),
            ("a", "file:///tmp", TimeInterval.nan),
        ]
        for (identifier, directory, timeout) in settings {
            var settings = BackgroundSettings()
            settings.resourceTimeout = timeout
            let transfers = BackgroundTransfers(
                identifier: identifier, directory: try #require(URL(string: directory)), settings,
                BackgroundTransfers.Surroundings(makeSession: world.sessionMaker, registry: BackgroundRegistry()))
            let error = await failure { try await transfers.start() }
            guard case .invalidRequest? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    /// A task of the system counts only with the number and the text of an entry.
    @Test func tasksThatNoEntryKnowsAreCancelled() async throws {
        try await BackgroundWorld.run { world in
            let first = try world.launch()
            let id = try await first.downloads.add(endpoint, to: first.file("film")).id
            await world.system.resumed(1)
            try world.kill()
            let strays = [nil, "other", id.uuidString].map { world.system.addStray(named: $0) }
            let second = try world.launch()
            try await second.transfers.start()
            #expect(world.system.tasks.keys.sorted() == [1], "\(strays)")
        }
    }

    /// The response may come while the system stops the task.
    @Test func aResponseThatComesWhileATaskIsStoppedCounts() {
        var machine = BackgroundTransfers.StateMachine()
        let entry = BackgroundEntry(id: "a", isUpload: false, request: "r", account: nil)
        _ = machine.handOver(entry, mayTakeOver: true)
        _ = machine.made("a", 1)
        #expect(machine.stopWaiting("a") == [.stop(1, "a")])
        let outcome = BackgroundEntry.Outcome.response(BackgroundHead(status: 200, fields: []), body: nil)
        _ = machine.ended(BackgroundTask(identifier: 1, name: "a"), outcome)
        #expect(machine.stopped("a", hasResumeData: true) == [.release("a")])
        #expect(machine.entries["a"]?.outcome == outcome)
        guard case .deliver? = machine.handOver(entry, mayTakeOver: true)?.first else {
            Issue.record("not delivered")
            return
        }
    }

    /// Its call must not wait for ever.
    @Test func aTransferIsForgottenWhileItsTaskIsStopped() {
        var machine = BackgroundTransfers.StateMachine()
        let entry = BackgroundEntry(id: "a", isUpload: false, request: "r", account: nil)
        _ = machine.handOver(entry, mayTakeOver: true)
        _ = machine.made("a", 1)
        #expect(machine.stopWaiting("a") == [.stop(1, "a")])
        #expect(machine.isStopping(1, "a"))
        #expect(machine.forget("a") == [.cancel(1), .remove("a"), .release("a")])
        // The data of the old task is not that of a new one.
        _ = machine.handOver(entry, mayTakeOver: true)
        _ = machine.made("a", 2)
        _ = machine.stopWaiting("a")
        #expect(!machine.isStopping(1, "a") && machine.isStopping(2, "a"))
    }

    @Test(arguments: [false, true])
    func aFailedHandOverKeepsWhatADownloadCanBeResumedWith(afterFailure isAfterFailure: Bool) throws {
        var machine = BackgroundTransfers.StateMachine()
        let entry = BackgroundEntry(id: "a", isUpload: false, request: "r", account: nil)
        _ = machine.handOver(entry, mayTakeOver: true)
        _ = machine.made("a", 1)
        if isAfterFailure {
            let failure = BackgroundFailure(code: .timedOut, phase: .maybeSent, resumeData: Data("rest".utf8))
            _ = machine.ended(BackgroundTask(identifier: 1, name: "a"), .failure(failure))
        } else {
            _ = machine.stopWaiting("a")
            _ = machine.stopped("a", hasResumeData: true)
        }
        var stopped = entry
        stopped.hasResumeData = true
        for hasTask in [false, true] {
            #expect(machine.handOver(entry, mayTakeOver: !isAfterFailure || hasTask)?.count == 2)
            #expect(machine.entries["a"]?.isResumed == true)
            if hasTask { _ = machine.made("a", 2) }
            // The disk is full.
            #expect(machine.abandon("a") == [.save(stopped)])
        }
        _ = machine.handOver(entry, mayTakeOver: true)
        #expect(machine.entries["a"]?.isResumed == true)
    }

    @Test func aHandOverThatFailsWithoutAnythingBeforeLeavesNothing() {
        var machine = BackgroundTransfers.StateMachine()
        let entry = BackgroundEntry(id: "a", isUpload: true, request: "r", account: nil)
        _ = machine.handOver(entry, mayTakeOver: true)
        #expect(machine.abandon("a") == [.remove("a")])
        #expect(machine.handOver(entry, mayTakeOver: true)?.count == 2)
    }

    // MARK: Launches

    private func launched(_ app: BackgroundApp) -> Locked<Int> {
        let count = Locked(0)
        app.registry.launched("test") { count.withLock { $0 += 1 } }
        return count
    }

    /// Returns when all that was told to the session is processed.
    private func settled(_ app: BackgroundApp) async { await app.transfers.leave("") }

    @Test func aLaunchIsCompletedOnceWhenItsOutcomesAreJudged() async throws {
        try await BackgroundWorld.run { world in
            let first = try world.launch()
            try await first.downloads.add(endpoint, to: first.file("film"))
            await world.system.resumed(1)
            try world.kill()
            world.system.respond(to: 1, 200, [:], Data("film".utf8))
            world.system.deliverAll()

            let second = try world.launch()
            // The system tells of the launch before anything is there.
            let count = launched(second)
            try await second.transfers.start()
            await settled(second)
            #expect(count.withLock { $0 } == 0)
            try await second.downloads.start()
            #expect(try await second.downloads.all.first?.file() == second.file("film"))
            await settled(second)
            #expect(count.withLock { $0 } == 1)
            world.system.deliverAll()
            await second.clock.advance(by: 20)
            await settled(second)
            #expect(count.withLock { $0 } == 1)
        }
    }

    @Test func aLaunchIsCompletedAfterAWhileWithoutCalls() async throws {
        try await BackgroundWorld.run { world in
            let first = try world.launch()
            try await first.downloads.add(endpoint, to: first.file("film"))
            await world.system.resumed(1)
            try world.kill()
            world.system.respond(to: 1, 200, [:], Data("film".utf8))
            world.system.deliverAll()
            let second = try world.launch()
            try await second.transfers.start()
            let counts = [launched(second), launched(second)]
            // Two launches, and the wait for events, all of which came before them.
            await second.clock.sleepers(atLeast: 3, for: .timeout)
            await second.clock.advance(by: 19)
            await settled(second)
            #expect(counts.map { $0.withLock { $0 } } == [0, 0])
            await second.clock.advance(by: 1)
            while counts[0].withLock({ $0 }) == 0 { await settled(second) }
            #expect(counts.map { $0.withLock { $0 } } == [1, 1])
            // What came is still there.
            try await second.downloads.start()
            #expect(try await second.downloads.all.first?.file() == second.file("film"))
        }
    }

    /// The system must not wait for the end of its events for ever.
    @Test func aLaunchWhoseEventsDoNotEndIsCompletedAfterAWhile() async throws {
        try await BackgroundWorld.run { world in
            let app = try world.launch()
            try await app.transfers.start()
            let count = launched(app)
            await app.clock.sleepers(atLeast: 1, for: .timeout)
            await app.clock.advance(by: 20)
            while count.withLock({ $0 }) == 0 { await settled(app) }
            // The next launch is another one.
            let next = launched(app)
            await settled(app)
            #expect(next.withLock { $0 } == 0)
            world.system.deliverAll()
            await settled(app)
            #expect([count, next].map { $0.withLock { $0 } } == [1, 1])
        }
    }

    @Test func aLaunchWithoutTransfersIsCompletedAfterAWhile() async {
        let (clock, count) = (TestClock(), Locked(0))
        let registry = BackgroundRegistry(clock: clock)
        registry.launched("test") { count.withLock { $0 += 1 } }
        await clock.sleepers(atLeast: 1, for: .timeout)
        await clock.advance(by: 19)
        #expect(count.withLock { $0 } == 0)
        await clock.advance(by: 1)
        while count.withLock({ $0 }) == 0 { await Task.yield() }
        #expect(registry.open("test") { _ in }.isEmpty)
    }

    /// The session may be opened by another attempt, or by other transfers.
    @Test func aLaunchOutlivesAFailedStart() async throws {
        try await BackgroundWorld.run { world in
            let fails = Locked(true)
            let app = try world.launch(opening: { if fails.withLock({ $0 }) { throw URLError(.unknown) } })
            let count = launched(app)
            await #expect(throws: PulseError.self) { try await app.transfers.start() }
            let second = BackgroundTransfers(
                identifier: "test", directory: world.directory, BackgroundSettings(),
                BackgroundTransfers.Surroundings(
                    makeSession: world.system.sessionMaker, registry: app.registry, clock: app.clock))
            try await second.start()
            world.system.deliverAll()
            await second.leave("")
            #expect(count.withLock { $0 } == 1)
        }
    }

    /// The system said so of an earlier launch, or just before it told of this one.
    @Test func anEndOfEventsBeforeALaunchCountsAfterAWhile() {
        var machine = BackgroundTransfers.StateMachine()
        #expect(machine.allDelivered().isEmpty)
        #expect(machine.launched() == [.wait(.earlyEnd(launch: 0))])
        #expect(machine.earlyEndCounts(launch: 0) == [.complete])
        #expect(machine.launched() == [])
        #expect(machine.earlyEndCounts(launch: 0).isEmpty)
        #expect(machine.allDelivered() == [.complete])
    }

    @Test func anEndOfEventsBeforeALaunchIsNotThatOfItsEvents() {
        var machine = BackgroundTransfers.StateMachine()
        _ = machine.handOver(BackgroundEntry(id: "a", isUpload: true, request: "r", account: nil), mayTakeOver: true)
        _ = machine.made("a", 1)
        _ = machine.allDelivered()
        #expect(machine.launched() == [.wait(.earlyEnd(launch: 0))])
        let head = BackgroundHead(status: 201, fields: [])
        _ = machine.ended(BackgroundTask(identifier: 1, name: "a"), .response(head, body: Data()))
        #expect(machine.settle("a") == [.remove("a")])
        #expect(machine.earlyEndCounts(launch: 0).isEmpty)
        #expect(machine.allDelivered() == [.complete])
    }

    /// A slow system must not lose what it is about to deliver.
    @Test func missingTasksAreNotLostWhileALaunchDelivers() {
        for isDelivered in [false, true] {
            var machine = BackgroundTransfers.StateMachine()
            var entry = BackgroundEntry(id: "a", isUpload: true, request: "r", account: nil)
            entry.task = 1
            machine.load([entry])
            #expect(machine.launched().isEmpty)
            #expect(machine.list([]) == [.wait(.lateEvents)])
            #expect(machine.lateEventsAreOver().isEmpty)
            entry.outcome = .failure(.lost)
            #expect((isDelivered ? machine.allDelivered() : machine.launchIsOver()) == [.save(entry)])
        }
    }

    @Test func aLaunchWithoutEventsIsCompletedAtOnce() async throws {
        try await BackgroundWorld.run { world in
            let app = try world.launch()
            try await app.transfers.start()
            let count = launched(app)
            await settled(app)
            #expect(count.withLock { $0 } == 0)
            world.system.deliverAll()
            await settled(app)
            #expect(count.withLock { $0 } == 1)
        }
    }

    @MainActor @Test func theSystemsClosureRunsOnTheMainThread() async {
        let identifier = UUID().uuidString
        await withCheckedContinuation { continuation in
            BackgroundTransfers.handleEvents(forSession: identifier) {
                MainActor.assertIsolated()
                continuation.resume()
            }
            BackgroundRegistry.process.open(identifier) { _ in }.forEach { $0.complete() }
        }
    }

    // MARK: What is stored

    private var entries: [BackgroundEntry] {
        var entry = BackgroundEntry(id: "a", isUpload: false, request: "r", account: "x")
        var entries = [entry]
        entry.task = 7
        entries.append(entry)
        entry.outcome = .response(BackgroundHead(status: 200, fields: [["A", "b"]], url: "https://a/"), body: nil)
        entries.append(entry)
        entry.outcome = .response(BackgroundHead(status: 500, fields: [], isDecoded: true), body: Data("b".utf8))
        entries.append(entry)
        for phase in [PulseError.Phase.beforeSend, .maybeSent, .responseStarted] {
            entry.outcome = .failure(BackgroundFailure(code: .timedOut, phase: phase))
            entries.append(entry)
        }
        entry.outcome = .tooLarge(limit: 3)
        (entry.isResumed, entry.hasResumeData) = (true, true)
        return entries + [entry]
    }

    @Test func anEntryIsReadAsItWasWritten() throws {
        for entry in entries { #expect(try entry.coded() == entry) }
    }

    private func inDirectory(_ body: (BackgroundDirectory) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let storage = BackgroundDirectory(path: directory.path)
        #expect(try storage.load().isEmpty)
        try body(storage)
    }

    @Test func anOutcomeCountsOnlyWithItsContent() throws {
        try inDirectory { storage in
            try storage.save(entries[2])
            #expect(try storage.load() == [entries[1]])
            let file = URL(fileURLWithPath: storage.path + "/from-the-system")
            try Data("film".utf8).write(to: file)
            try storage.takeContent(file, of: "a")
            #expect(try storage.load() == [entries[2]])
            #expect(try Data(contentsOf: storage.content(of: "a")) == Data("film".utf8))
            storage.remove("a")
            #expect(try FileManager.default.contentsOfDirectory(atPath: storage.path).isEmpty)
        }
    }

    @Test func resumeDataIsStoredBesideTheEntryForItsUserAlone() throws {
        try inDirectory { storage in
            var entry = entries[1]
            entry.outcome = .failure(
                BackgroundFailure(code: .timedOut, phase: .maybeSent, resumeData: Data("rest".utf8)))
            try storage.save(entry)
            #expect(storage.resumeData(of: "a") == Data("rest".utf8))
            for name in ["a.transfer", "a.resume"] {
                let path = storage.path + "/" + name
                let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
                #expect(mode == 0o600)
            }
        }
    }

    @Test func aDamagedEntryIsNotLoaded() throws {
        try inDirectory { storage in
            try storage.save(entries[1])
            let path = storage.path + "/a.transfer"
            let whole = try Data(contentsOf: URL(fileURLWithPath: path))
            for length in 0..<whole.count {
                try whole.prefix(length).write(to: URL(fileURLWithPath: path))
                #expect(try storage.load().isEmpty)
            }
            try whole.write(to: URL(fileURLWithPath: storage.path + "/b.transfer"))
            #expect(try storage.load().isEmpty, "its name is that of another one")
        }
    }

    @Test func anEntryThatCannotBeReadIsNoDamagedOne() throws {
        try inDirectory { storage in
            try storage.save(entries[1])
            // Opening a directory to read succeeds, reading it fails.
            try FileManager.default.createDirectory(
                atPath: storage.path + "/b.transfer", withIntermediateDirectories: false)
            #expect(throws: JournalFailure.self) { try storage.load() }
        }
    }

    // MARK: What the system says

    /// The system says once in a launch that all events are delivered; an outcome may come later.
    @Test func aLaunchIsCompletedOnceAllItsOutcomesAreJudged() throws {
        var machine = BackgroundTransfers.StateMachine()
        for (index, name) in ["a", "b"].enumerated() {
            let entry = BackgroundEntry(id: name, isUpload: true, request: name, account: nil)
            _ = machine.handOver(entry, mayTakeOver: true)
            _ = machine.made(name, index)
        }
        let head = BackgroundHead(status: 201, fields: [])
        #expect(machine.launched().isEmpty)
        _ = machine.ended(BackgroundTask(identifier: 0, name: "a"), .response(head, body: Data()))
        #expect(machine.allDelivered() == [])
        _ = machine.ended(BackgroundTask(identifier: 1, name: "b"), .response(head, body: Data()))
        #expect(machine.settle("a") == [.remove("a")])
        #expect(machine.settle("b") == [.remove("b"), .complete])
        #expect(machine.launchIsOver().isEmpty)
    }

    @Test func errorsOfTheSystemKeepTheirMeaning() {
        let user = [NSUnderlyingErrorKey: NSError(domain: "a", code: 1)]
        let cancelled = BackgroundFailure(URLError(.cancelled, userInfo: user), hasResponse: false)
        #expect(cancelled == BackgroundFailure(code: .networkConnectionLost, phase: .maybeSent))
        let lost = BackgroundFailure(
            URLError(.networkConnectionLost), hasResponse: true, resumeData: Data("r".utf8))
        #expect(
            lost
                == BackgroundFailure(
                    code: .networkConnectionLost, phase: .responseStarted, resumeData: Data("r".utf8)))
        // The system may have sent the request before, on a connection that it has lost since.
        for code in [URLError.Code.cannotFindHost, .cannotConnectToHost, .notConnectedToInternet] {
            let failure = BackgroundFailure(URLError(code), hasResponse: false)
            #expect(failure == BackgroundFailure(code: code, phase: .maybeSent))
        }
        let other = BackgroundFailure(NSError(domain: "other", code: 1), hasResponse: false)
        #expect(other.phase == .maybeSent)
    }

    @Test func progressWithoutATotalHasNone() {
        #expect(TransferProgress(counted: 5, expected: -1) == TransferProgress(completed: 5, total: nil))
        #expect(TransferProgress(counted: 5, expected: 9) == TransferProgress(completed: 5, total: 9))
        #expect(TransferProgress(counted: -1, expected: 0) == TransferProgress(completed: 0, total: nil))
    }

    @Test func aHeadKeepsItsFields() throws {
        let url = try #require(URL(string: "https://example.com/a"))
        let fields = ["Content-Type": "a/b", "Content-Encoding": "gzip", "Content-Length": "9"]
        let response = try #require(
            HTTPURLResponse(url: url, statusCode: 201, httpVersion: nil, headerFields: fields))
        let head = BackgroundHead(response)
        #expect(head.status == 201 && head.isDecoded)
        // The rest of it may be a secret.
        #expect(head.url == "https:")
        #expect(head.headers["Content-Type"] == "a/b" && head.headers["Content-Length"] == nil)
    }
}
