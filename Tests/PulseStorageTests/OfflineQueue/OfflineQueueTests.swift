// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseStorage

@Suite(.throttled)
struct OfflineQueueTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func queue(
        policy: OfflineQueuePolicy = OfflineQueuePolicy(), clock: TestClock = TestClock(), disk: Disk = .system,
        starts: Bool = true, respond: @escaping QueueUnderTest.Responder = { _ in .status(200) }
    ) -> QueueUnderTest {
        QueueUnderTest(directory.url, policy: policy, clock: clock, disk: disk, starts: starts, respond: respond)
    }

    /// The entries that a later process finds.
    private func found() async throws -> [OfflineQueue.Entry] {
        let later = queue(starts: false)
        let pending = try await later.queue.pending()
        await later.queue.close()
        return pending
    }

    // MARK: Queueing and sending

    @Test func anEntryIsOnTheDiskWhenEnqueueReturns() async throws {
        let first = queue(respond: { _ in .failure(.noConnection) })
        let id = try await first.enqueue("/a", tag: "t", body: .data(Data("body".utf8)), headers: ["X-A": "1"])
        let entry = try #require(try await found().first)
        #expect(entry.id == id)
        #expect(entry.url.path == "/a")
        #expect(entry.headers == ["X-A": "1"])
        #expect(entry.body == Data("body".utf8))
        #expect(entry.tag == "t")
        #expect(entry.idempotencyKey == "key-/a")
        #expect(entry.method == .post)
        await first.queue.close()
    }

    @Test func entriesAreSentInOrderAfterARelaunch() async throws {
        let first = queue(respond: { _ in .failure(.noConnection) })
        for number in 1...3 { try await first.enqueue("/\(number)") }
        await first.queue.close()
        let second = queue()
        #expect(try await second.queue.drain() == 0)
        #expect(second.sent == ["/1", "/2", "/3"])
        #expect(second.replayed.map(\.key) == ["key-/1", "key-/2", "key-/3"])
        await second.queue.close()
        #expect(try await found().isEmpty)
    }

    @Test func aQueueWithEntriesDrainsOnStart() async throws {
        let first = queue(respond: { _ in .failure(.noConnection) })
        let id = try await first.enqueue("/1")
        await first.queue.close()
        let second = queue()
        await second.event { $0.isCompletion(of: id) }
        #expect(second.sent == ["/1"])
        await second.queue.close()
    }

    @Test func anEmptyJournalStartsNoDrainer() async throws {
        let first = queue()
        try await first.enqueue("/1")
        try await first.queue.drain()
        await first.queue.close()
        let second = queue()
        #expect(second.queue.drainer.task == nil)
        await second.queue.close()
    }

    @Test func drainsWhenTheConnectionReturns() async throws {
        let queue = queue(respond: { _ in .failure(.noConnection) })
        queue.connectivity.set(.unsatisfied)
        let id = try await queue.enqueue("/1")
        // Wait until the drainer sleeps.
        await queue.clock.sleepers(atLeast: 1)
        queue.respond { _ in .status(200) }
        queue.connectivity.set(.satisfied)
        await queue.event { $0.isCompletion(of: id) }
        #expect(queue.clock.uptime == 0)
        await queue.queue.close()
    }

    @Test func retriesAfterABackoff() async throws {
        let queue = queue(respond: { _ in .failure(.noConnection) })
        let id = try await queue.enqueue("/1")
        await queue.clock.sleepers(atLeast: 1)
        #expect(queue.sent.isEmpty)
        queue.respond { _ in .status(200) }
        await queue.event(movingBy: 1) { $0.isCompletion(of: id) }
        #expect(queue.sent == ["/1"])
        await queue.queue.close()
    }

    @Test func aPauseDoesNotOutliveItsDrainer() async throws {
        let queue = queue(respond: { _ in .failure(.noConnection) })
        let removed = try await queue.enqueue("/1")
        try await queue.queue.drain()
        try await queue.queue.remove(id: removed)
        await queue.queue.drainer.task?.value
        queue.respond { _ in .status(200) }
        let id = try await queue.enqueue("/2", isOffline: false)
        await queue.event { $0.isCompletion(of: id) }
        #expect(queue.clock.uptime == 0)
        await queue.queue.close()
    }

    @Test func anEntryQueuedDuringADrainIsSentByIt() async throws {
        let queue = queue(respond: { _ in .failure(.noConnection) })
        try await queue.enqueue("/1", isOffline: false)
        queue.respond { [weak queue] replay in
            if replay.request.url?.path == "/1" { _ = try? await queue?.enqueue("/2", isOffline: false) }
            return .status(200)
        }
        try await queue.queue.drain()
        while queue.sent.count < 2 { try await queue.queue.drain() }
        #expect(queue.sent.suffix(2) == ["/1", "/2"])
        await queue.queue.close()
    }

    @Test func emitsEventsForQueuedDeliveredAndRefusedEntries() async throws {
        let queue = queue(respond: { $0.request.url?.path == "/bad" ? .status(400) : .status(200) })
        let good = try await queue.enqueue("/good", tag: "a")
        let bad = try await queue.enqueue("/bad", tag: "b")
        try await queue.queue.drain()
        let names = queue.events.names
        #expect(names.filter { $0 == "offlineQueueEnqueued" }.count == 2)
        #expect(names.contains("offlineQueueDraining"))
        #expect(names.contains("offlineQueueDeadLettered"))
        #expect(
            queue.events.events.contains {
                if case .offlineQueueRequestCompleted(good, true) = $0 { true } else { false }
            })
        #expect(
            queue.events.events.contains {
                if case .offlineQueueRequestCompleted(bad, false) = $0 { true } else { false }
            })
        await queue.queue.close()
    }

    // MARK: Bodies

    @Test func aLargeBodyHasItsOwnFileAndIsRemovedWithItsEntry() async throws {
        let first = queue(respond: { _ in .failure(.noConnection) })
        let body = Data(repeating: 7, count: BodyFiles.limit + 1)
        let id = try await first.enqueue("/1", body: .data(body))
        await first.queue.close()
        let file = directory.file("bodies").appendingPathComponent(id.uuidString)
        #expect(try Data(contentsOf: file) == body)
        let read = Locked<Data?>(nil)
        let second = queue(respond: { replay in
            if case .file(let url) = replay.body { read.withLock { $0 = try? Data(contentsOf: url) } }
            return .status(200)
        })
        try await second.queue.drain()
        #expect(read.withLock { $0 } == body)
        #expect(!FileManager.default.fileExists(atPath: file.path))
        await second.queue.close()
    }

    @Test func fileAndStreamBodiesAreCopied() async throws {
        let source = directory.file("source")
        try Data("from a file".utf8).write(to: source)
        let first = queue(respond: { _ in .failure(.noConnection) })
        try await first.enqueue("/file", body: .file(source))
        let stream = RequestBody.Stream(length: nil) { ByteStream([Data("from ".utf8), Data("a stream".utf8)]) }
        try await first.enqueue("/stream", body: .stream(stream))
        await first.queue.close()
        try FileManager.default.removeItem(at: source)
        let texts = Locked<[String]>([])
        let second = queue(respond: { replay in
            if case .file(let url) = replay.body, let data = try? Data(contentsOf: url) {
                texts.withLock { $0.append(String(decoding: data, as: UTF8.self)) }
            }
            return .status(200)
        })
        try await second.queue.drain()
        #expect(texts.withLock { $0 } == ["from a file", "from a stream"])
        await second.queue.close()
    }

    @Test func aOneShotStreamIsRefused() async throws {
        let queue = queue()
        let stream = RequestBody.Stream(length: nil, isOneShot: true) { ByteStream([]) }
        let error = await #expect(throws: PulseError.self) { try await queue.enqueue("/1", body: .stream(stream)) }
        #expect(error?.kind == .unsupported)
        await queue.queue.close()
    }

    @Test func aBodyFileWithoutAnEntryIsRemovedOnStart() async throws {
        let first = queue(respond: { _ in .failure(.noConnection) })
        let kept = try await first.enqueue("/1", body: .data(Data(count: BodyFiles.limit + 1)))
        await first.queue.close()
        let orphan = directory.file("bodies").appendingPathComponent(UUID().uuidString)
        try Data("left by a crash".utf8).write(to: orphan)
        let second = queue(respond: { _ in .failure(.noConnection) })
        try await second.queue.drain()
        #expect(!FileManager.default.fileExists(atPath: orphan.path))
        #expect(
            FileManager.default.fileExists(
                atPath: directory.file("bodies").appendingPathComponent(kept.uuidString).path))
        await second.queue.close()
    }

    /// Simulates a process that ends while it copies the first body.
    @Test(arguments: [false, true])
    func aBodyFileWithoutAnEntryIsRemovedEvenIfTheQueueIsEmpty(hasJournal: Bool) async throws {
        if hasJournal {
            let first = queue()
            try await first.enqueue("/1")
            try await first.queue.drain()
            await first.queue.close()
        }
        let bodies = directory.file("bodies")
        try FileManager.default.createDirectory(at: bodies, withIntermediateDirectories: true)
        let orphan = bodies.appendingPathComponent(UUID().uuidString)
        try Data("left by a crash".utf8).write(to: orphan)
        let second = queue()
        await second.queue.drainer.task?.value
        #expect(!FileManager.default.fileExists(atPath: orphan.path))
        await second.queue.close()
        let third = queue()
        #expect(third.queue.drainer.task == nil)
        await third.queue.close()
    }

    // MARK: Verdicts

    @Test func aRefusedEntryBecomesADeadLetterThatCanBeRetried() async throws {
        let queue = queue(respond: { _ in .status(422) })
        let id = try await queue.enqueue("/1")
        try await queue.queue.drain()
        #expect(try await queue.queue.pending().isEmpty)
        let letter = try #require(try await queue.queue.deadLetters().first)
        #expect(letter.id == id)
        #expect(letter.reason.statusCode == 422)
        queue.respond { _ in .status(200) }
        try await queue.queue.retryDeadLetter(id: id)
        try await queue.queue.drain()
        #expect(try await queue.queue.deadLetters().isEmpty)
        #expect(queue.replayed.map(\.key) == ["key-/1", "key-/1"])
        await queue.queue.close()
    }

    @Test func aServerErrorKeepsTheEntry() async throws {
        let queue = queue(respond: { _ in .status(503) })
        try await queue.enqueue("/1")
        #expect(try await queue.queue.drain() == 1)
        #expect(try await queue.queue.pending().first?.attempts == 1)
        await queue.queue.close()
        #expect(try await found().first?.attempts == 1)
    }

    @Test func anExpiredEntryIsRemovedWithAnEvent() async throws {
        let clock = TestClock()
        let queue = queue(
            policy: OfflineQueuePolicy(requestExpiry: 60), clock: clock, respond: { _ in .failure(.noConnection) })
        let id = try await queue.enqueue("/1")
        try await queue.queue.drain()
        await queue.event(movingBy: 31) { if case .offlineQueueExpired(id) = $0 { true } else { false } }
        #expect(try await queue.queue.pending().isEmpty)
        await queue.queue.close()
    }

    /// Trap: an entry that was queued by a wrong clock expires unsent once the clock is right.
    ///
    /// - Parameters:
    ///   - jump: of the wall clock while the first launch runs.
    ///   - gap: the time until the second launch, by the wall clock.
    @Test(
        arguments: [
            (0, 30, true), (0, 61, false), (40 * 86400, 30, true), (40 * 86400, 61, false), (-40 * 86400, 30, true),
            (-40 * 86400, 61, false), (0, -86400, true),
        ] as [(TimeInterval, TimeInterval, Bool)])
    func anEntryAgesByTheRunningTimeAndByTheGapsBetweenLaunches(
        jump: TimeInterval, gap: TimeInterval, isSent: Bool
    ) async throws {
        let policy = OfflineQueuePolicy(requestExpiry: 60)
        let first = queue(policy: policy, respond: { _ in .failure(.noConnection) })
        try await first.enqueue("/1")
        first.clock.shiftWallClock(by: jump)
        #expect(try await first.queue.drain() == 1)
        let expiresAt = try #require(try await first.queue.pending().first?.expiresAt)
        #expect(abs(expiresAt.timeIntervalSince(first.clock.now) - 60) < 0.01)
        await first.queue.close()
        let second = queue(policy: policy, clock: TestClock(now: first.clock.now + gap, uptime: 7))
        #expect(try await second.queue.drain() == 0)
        #expect(second.sent == (isSent ? ["/1"] : []))
        await second.queue.close()
    }

    @Test func anEntryHeldByAnIsolatedCircuitIsSentByTheNextDrain() async throws {
        let queue = queue(respond: { _ in .failure(.circuitOpen(name: "a", retryAfter: .infinity)) })
        try await queue.enqueue("/1")
        try await queue.enqueue("/2")
        #expect(try await queue.queue.drain() == 2)
        queue.respond { _ in .status(200) }
        #expect(try await queue.queue.drain() == 0)
        #expect(queue.sent == ["/1", "/1", "/2"])
        await queue.queue.close()
    }

    @Test func anEntryOfAnotherAccountWaitsWithoutCountingAttempts() async throws {
        let queue = queue(respond: { replay in
            replay.account == "a"
                ? ReplayOutcome(result: .failure(.unauthorized()), isOfOtherAccount: true) : .status(200)
        })
        try await queue.enqueue("/1", tag: "x", account: "a")
        try await queue.enqueue("/2", tag: "y", account: "b")
        #expect(try await queue.queue.drain() == 1)
        let waiting = try #require(try await queue.queue.pending().first)
        #expect(waiting.account == "a")
        #expect(waiting.attempts == 0)
        await queue.queue.close()
    }

    // MARK: Capacity

    @Test func aFullQueueRefusesEntries() async throws {
        let queue = queue(policy: OfflineQueuePolicy(maxQueueSize: 2), respond: { _ in .failure(.noConnection) })
        try await queue.enqueue("/1")
        try await queue.enqueue("/2")
        let error = await #expect(throws: PulseError.self) { try await queue.enqueue("/3") }
        #expect(error?.kind == .offlineQueueFull)
        #expect(try await queue.queue.pending().count == 2)
        await queue.queue.close()
    }

    @Test func aFullQueueDropsTheOldestEntryIfConfigured() async throws {
        let policy = OfflineQueuePolicy(maxQueueSize: 2, whenFull: .dropOldest)
        let queue = queue(policy: policy, respond: { _ in .failure(.noConnection) })
        let oldest = try await queue.enqueue("/1")
        try await queue.enqueue("/2")
        try await queue.enqueue("/3")
        #expect(try await queue.queue.pending().map(\.url.path) == ["/2", "/3"])
        #expect(queue.events.events.contains { $0.isCompletion(of: oldest) })
        await queue.queue.close()
    }

    @Test func aFullDiskIsATypedErrorAndTheEntryIsNotQueued() async throws {
        let faulty = FaultyDisk()
        let queue = queue(disk: faulty.disk, respond: { _ in .failure(.noConnection) })
        try await queue.enqueue("/1")
        faulty.plan.withLock { $0.write = ENOSPC }
        for body in [RequestBodySample.none, .data(Data(count: BodyFiles.limit + 1))] {
            let error = await #expect(throws: PulseError.self) { try await queue.enqueue("/2", body: body) }
            guard case .custom(let failure as JournalFailure) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(failure == .noSpace)
        }
        faulty.plan.withLock { $0.write = 0 }
        #expect(try await queue.queue.pending().map(\.url.path) == ["/1"])
        await queue.queue.close()
    }

    @Test func anOutcomeThatCannotBeWrittenIsRetriedWithoutResending() async throws {
        let faulty = FaultyDisk()
        let queue = queue(disk: faulty.disk, respond: { _ in .failure(.noConnection) })
        let id = try await queue.enqueue("/1")
        queue.respond { _ in
            faulty.plan.withLock { $0.sync = EIO }
            return .status(200)
        }
        try await queue.queue.drain()
        faulty.plan.withLock { $0.sync = 0 }
        await queue.event(movingBy: 30) { $0.isCompletion(of: id) }
        #expect(queue.sent == ["/1"])
        await queue.queue.close()
        #expect(try await found().isEmpty)
    }

    // MARK: Editing

    @Test func removesOneEntryAllEntriesOrThoseOfAnAccount() async throws {
        let queue = queue(respond: { _ in .failure(.noConnection) })
        let first = try await queue.enqueue("/1", account: "a")
        try await queue.enqueue("/2", account: "b")
        try await queue.enqueue("/3", account: "a")
        try await queue.enqueue("/4")
        try await queue.queue.remove(id: first)
        try await queue.queue.removeAll(account: "a")
        #expect(try await queue.queue.pending().map(\.url.path) == ["/2", "/4"])
        let error = await #expect(throws: PulseError.self) { try await queue.queue.remove(id: first) }
        #expect(error?.kind == .invalidRequest)
        try await queue.queue.removeAll()
        #expect(try await queue.queue.pending().isEmpty)
        await queue.queue.close()
        #expect(try await found().isEmpty)
    }

    /// A later attempt might use the token of the next user.
    @Test(arguments: ["one", "all", "account"])
    func anEntryRemovedDuringItsReplayIsCancelledAndBlocksNoOther(removing: String) async throws {
        let queue = queue()
        let (isInFlight, replays) = AsyncStream.makeStream(of: Void.self)
        queue.respond { [clock = queue.clock] replay in
            guard replay.request.url?.path == "/1" else { return .status(200) }
            replays.yield()
            // Sleeps until the replay is cancelled.
            try? await clock.sleep(.greatestFiniteMagnitude)
            return .failure(.cancelled)
        }
        let id = try await queue.enqueue("/1", account: "a", isOffline: false)
        for await _ in isInFlight { break }
        switch removing {
        case "one": try await queue.queue.remove(id: id)
        case "all": try await queue.queue.removeAll()
        default: try await queue.queue.removeAll(account: "a")
        }
        let next = try await queue.enqueue("/2", isOffline: false)
        await queue.event { $0.isCompletion(of: next) }
        #expect(queue.sent == ["/1", "/2"])
        #expect(queue.clock.uptime == 0)
        await queue.queue.close()
    }

    @Test(arguments: [false, true])
    func aRemovalCancelsNoOtherReplay(isOfAccount: Bool) async throws {
        let queue = queue()
        let (areInFlight, replays) = AsyncStream.makeStream(of: Void.self)
        let (cancelled, cancellations) = AsyncStream.makeStream(of: String.self)
        queue.respond { [clock = queue.clock] replay in
            replays.yield()
            do {
                try await clock.sleep(1)
                return .status(200)
            } catch {
                cancellations.yield(replay.request.url?.path ?? "")
                return .failure(.cancelled)
            }
        }
        let removed = try await queue.enqueue("/1", tag: "a", account: "a", isOffline: false)
        let kept = try await queue.enqueue("/2", tag: "b", account: "b", isOffline: false)
        var started = areInFlight.makeAsyncIterator()
        for _ in 0..<2 { await started.next() }
        if isOfAccount {
            try await queue.queue.removeAll(account: "a")
        } else {
            try await queue.queue.remove(id: removed)
        }
        await queue.event(movingBy: 1) { $0.isCompletion(of: kept) }
        #expect(queue.sent.count == 2)
        await queue.queue.close()
        // The removal does not wait for the replay that it cancels.
        var paths = cancelled.makeAsyncIterator()
        #expect(await paths.next() == "/1")
        cancellations.finish()
        #expect(await paths.next() == nil)
    }

    /// Without a network there are no outcomes to write.
    @Test(arguments: [false, true])
    func aJournalDoesNotGrowWithoutAConnection(isUpdated: Bool) async throws {
        let policy = OfflineQueuePolicy(maxQueueSize: 2, requestExpiry: .infinity, whenFull: .dropOldest)
        let queue = queue(policy: policy, respond: { _ in .failure(.noConnection) })
        let body = Data(repeating: 1, count: 10_000)
        let id = try await queue.enqueue("/1")
        for number in 0..<100 {
            if isUpdated {
                try await queue.queue.update(id: id) { $0.body = body + Data("\(number)".utf8) }
            } else {
                try await queue.enqueue("/\(number)", body: .data(body))
            }
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: directory.file("journal").path)
        #expect(try #require(attributes[.size] as? Int) <= 384 << 10)
        await queue.queue.close()
        #expect(try await found().count == (isUpdated ? 1 : 2))
    }

    @Test func aDeadLetterBeingRemovedCannotBeRevivedAndARevivedOneIsNotRemoved() async throws {
        let queue = queue(respond: { _ in .status(422) })
        let id = try await queue.enqueue("/1", isOffline: false)
        try await queue.queue.drain()
        queue.queue.store.decide { $0.entries[id]?.isEnding = true }
        let error = await #expect(throws: PulseError.self) { try await queue.queue.retryDeadLetter(id: id) }
        #expect(error?.kind == .invalidRequest)
        queue.queue.store.decide { $0.entries[id]?.isEnding = false }
        queue.respond { _ in .failure(.noConnection) }
        try await queue.queue.retryDeadLetter(id: id)
        await queue.queue.store.end(id, .surplus)
        #expect(try await queue.queue.pending().map(\.id) == [id])
        await queue.queue.close()
    }

    @Test func anUpdateKeepsTheEntrysPositionAndKey() async throws {
        let queue = queue(respond: { _ in .failure(.noConnection) })
        let id = try await queue.enqueue("/1", body: .data(Data("old".utf8)))
        try await queue.enqueue("/2")
        try await queue.queue.update(id: id) {
            $0.body = Data("new".utf8)
            $0.headers["X-Edited"] = "1"
        }
        queue.respond { _ in .status(200) }
        try await queue.queue.drain()
        #expect(queue.sent.suffix(2) == ["/1", "/2"])
        let replay = try #require(queue.replayed.last { $0.id == id })
        #expect(replay.request.httpBody == Data("new".utf8))
        #expect(replay.request.value(forHTTPHeaderField: "X-Edited") == "1")
        #expect(replay.key == "key-/1")
        await queue.queue.close()
    }

    @Test func concurrentUpdatesAllTakeEffect() async throws {
        let queue = queue(respond: { _ in .failure(.noConnection) })
        let id = try await queue.enqueue("/1", body: .data(Data(count: BodyFiles.limit + 1)))
        try await queue.queue.drain()
        let other = QueueUnderTest(directory.url, starts: false)
        let body = Data(repeating: 1, count: BodyFiles.limit + 2)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                group.addTask {
                    try await (number % 2 == 0 ? queue : other).queue.update(id: id) { request in
                        request.headers["X-\(number)"] = "1"
                        if number == 10 { request.body = body }
                    }
                }
            }
            try await group.waitForAll()
        }
        let read = Locked<Data?>(nil)
        queue.respond { replay in
            if case .file(let url) = replay.body { read.withLock { $0 = try? Data(contentsOf: url) } }
            return .status(200)
        }
        #expect(try await queue.queue.drain() == 0)
        let replay = try #require(queue.replayed.last)
        for number in 0..<20 { #expect(replay.request.value(forHTTPHeaderField: "X-\(number)") == "1") }
        #expect(read.withLock { $0 } == body)
        await queue.queue.close()
        await other.queue.close()
    }

    @Test(arguments: ["Authorization", "X-Plain"])
    func anUpdateCannotAddASecretHeader(name: String) async throws {
        let queue = queue(respond: { _ in .failure(.noConnection) })
        let id = try await queue.enqueue("/1")
        let error = await #expect(throws: PulseError.self) {
            try await queue.queue.update(id: id) { $0.headers[name] = "Bearer x" }
        }
        #expect(error?.kind == .unsupported)
        await queue.queue.close()
    }

    @Test func aDescriptionMasksASecretInThePath() async throws {
        let queue = queue(respond: { _ in .failure(.noConnection) })
        try await queue.enqueue("/1;jsessionid=hunter2")
        let entry = try #require(try await queue.queue.pending().first)
        let text = "\(entry)"
        #expect(text.contains("/1;jsessionid=\(Redaction.mask)") && !text.contains("hunter2"))
        await queue.queue.close()
    }

    // MARK: Several processes

    @Test func twoProcessesEnqueueAndOneSends() async throws {
        let other = queue(starts: false)
        let left = Locked(0)
        let one = queue(respond: { [left] replay in
            guard replay.request.url?.path == "/1" else { return .status(200) }
            // While the replay of the first entry runs.
            _ = try? await other.enqueue("/2")
            other.start()
            let count = try? await other.queue.drain()
            left.withLock { $0 = count ?? 0 }
            return .status(200)
        })
        try await one.enqueue("/1")
        #expect(try await one.queue.drain() == 0)
        #expect(left.withLock { $0 } == 2)
        #expect(one.sent == ["/1", "/2"])
        #expect(other.sent.isEmpty)
        await one.queue.close()
        #expect(try await other.queue.pending().isEmpty)
        await other.queue.close()
    }

    /// The system may suspend a process that only waits, and kills it if it holds a lock then.
    @Test func aWaitingProcessLetsAnotherSendAndReadsItsResults() async throws {
        let one = queue(respond: { _ in .failure(.noConnection) })
        let id = try await one.enqueue("/1")
        #expect(try await one.queue.drain() == 1)
        let other = queue()
        #expect(try await other.queue.drain() == 0)
        #expect(other.sent == ["/1"])
        let count = one.sent.count
        // The first queue sends new entries, and not those that are done.
        await other.queue.close()
        one.respond { _ in .status(200) }
        try await one.enqueue("/2")
        #expect(try await one.queue.drain() == 0)
        #expect(one.sent.dropFirst(count) == ["/2"])
        #expect(try await one.queue.result(of: id).statusCode == 200)
        await one.queue.close()
    }

    @Test func aReturningConnectionDoesNotResendWhatAnotherProcessSent() async throws {
        let one = queue(respond: { _ in .failure(.noConnection) })
        let id = try await one.enqueue("/1")
        #expect(try await one.queue.drain() == 1)
        let other = queue()
        #expect(try await other.queue.drain() == 0)
        one.respond { _ in .status(200) }
        let count = one.sent.count
        // Repeat until the change is seen: the monitor may merge two changes in quick succession.
        let flicker = Task {
            while !Task.isCancelled {
                one.connectivity.set(.unsatisfied)
                await Task.yield()
                one.connectivity.set(.satisfied)
                await Task.yield()
            }
        }
        await one.event { $0.isCompletion(of: id) }
        flicker.cancel()
        await flicker.value
        #expect(one.sent.count == count)
        await one.queue.close()
        await other.queue.close()
    }

    @Test(arguments: [["Retry-After": "60"], [:]])
    func noOtherProcessSendsDuringAServerBackoff(headers: [String: String]) async throws {
        let one = queue(respond: { _ in .status(503, headers: HTTPHeaders(headers)) })
        try await one.enqueue("/1")
        #expect(try await one.queue.drain() == 1)
        let other = queue()
        #expect(try await other.queue.drain() == 1)
        #expect(other.sent.isEmpty)
        await one.queue.close()
        await other.queue.close()
    }

    @Test func anotherProcessTakesOverWhenTheDrainerCloses() async throws {
        let one = queue(respond: { _ in .status(503, headers: ["Retry-After": "60"]) })
        try await one.enqueue("/1")
        try await one.queue.drain()
        let other = queue()
        let id = try await other.enqueue("/2")
        await one.queue.close()
        await other.event(movingBy: 5) { $0.isCompletion(of: id) }
        #expect(other.sent == ["/1", "/2"])
        await other.queue.close()
    }

    // MARK: Without a disk

    @Test func aQueueInMemorySendsItsEntries() async throws {
        let queue = QueueUnderTest(nil, respond: { _ in .failure(.noConnection) })
        try await queue.enqueue("/1", body: .data(Data(count: BodyFiles.limit + 1)))
        try await queue.enqueue("/2")
        try await queue.queue.drain()
        queue.respond { _ in .status(200) }
        #expect(try await queue.queue.drain() == 0)
        #expect(queue.sent.suffix(2) == ["/1", "/2"])
        #expect(queue.replayed.last { $0.request.url?.path == "/1" }?.request.httpBody?.count == BodyFiles.limit + 1)
        await queue.queue.close()
    }

    // MARK: Closing

    @Test func aClosedQueueRefusesEntriesAndHoldsNoLock() async throws {
        let queue = queue(respond: { _ in .failure(.noConnection) })
        try await queue.enqueue("/1")
        try await queue.queue.drain()
        await queue.queue.close()
        let error = await #expect(throws: PulseError.self) { try await queue.enqueue("/2") }
        #expect(error?.kind == .cancelled)
        let lock = FileLock(path: directory.file("drainer.lock").path)
        #expect(try lock.tryAcquire())
    }

    @Test func anEntryInFlightAtCloseStaysInTheJournal() async throws {
        let started = Locked<CheckedContinuation<Void, Never>?>(nil)
        let queue = queue(respond: { _ in
            started.withLock { $0 }?.resume()
            // Ends with its task, as a call of the client does.
            try? await SystemClock().sleep(.infinity)
            return .failure(.cancelled)
        })
        await withCheckedContinuation { continuation in
            started.withLock { $0 = continuation }
            Task { try await queue.enqueue("/1", isOffline: false) }
        }
        await queue.queue.close()
        #expect(try await found().map(\.url.path) == ["/1"])
    }
}
