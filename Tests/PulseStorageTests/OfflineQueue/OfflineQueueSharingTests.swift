// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseStorage

/// Several processes that share one directory, and the files that remain in it.
@Suite(.throttled)
struct OfflineQueueSharingTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func queue(
        starts: Bool = true, respond: @escaping QueueUnderTest.Responder = { _ in .failure(.noConnection) }
    ) -> QueueUnderTest {
        QueueUnderTest(directory.url, starts: starts, respond: respond)
    }

    // MARK: Several processes

    @Test func reportsAResultOfAnotherProcessAfterACompaction() async throws {
        let one = queue()
        let done = try await one.enqueue("/done", tag: "a")
        let removed = try await one.enqueue("/removed", tag: "b")
        let other = queue(starts: false)
        #expect(try await other.queue.pending().count == 2)
        try await one.queue.remove(id: removed)
        one.respond { _ in .status(201) }
        try await one.queue.drain()
        // The queue is empty, and the compacted journal contains no record of these entries.
        await one.queue.close()
        #expect(try await other.queue.pending().isEmpty)
        #expect(try await other.queue.result(of: done).statusCode == 201)
        let error = await #expect(throws: PulseError.self) { try await other.queue.result(of: removed) }
        #expect(error?.kind == .cancelled)
        #expect(
            other.events.events.contains {
                if case .offlineQueueRequestCompleted(done, true) = $0 { true } else { false }
            })
        await other.queue.close()
    }

    @Test func reportsWhyAnotherProcessGaveAnEntryUp() async throws {
        let one = queue()
        let id = try await one.enqueue("/1")
        let other = queue(starts: false)
        #expect(try await other.queue.pending().count == 1)
        one.respond { _ in .status(422) }
        try await one.queue.drain()
        #expect(try await other.queue.pending().isEmpty)
        let error = await #expect(throws: PulseError.self) { try await other.queue.result(of: id) }
        guard case .custom(let reason as PulseError.Summary) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.statusCode == 422)
        await one.queue.close()
        await other.queue.close()
    }

    @Test func anEditByAnotherProcessDuringAReplayIsSent() async throws {
        let other = queue(starts: false)
        let one = queue()
        let id = try await one.enqueue("/old")
        one.respond { replay in
            if replay.request.url?.path == "/old" {
                try? await other.queue.update(id: id) { $0.url = URL(string: "https://api.example.com/new") ?? $0.url }
            }
            return .status(200)
        }
        #expect(try await one.queue.drain() == 0)
        #expect(one.sent.suffix(2) == ["/old", "/new"])
        await one.queue.close()
        await other.queue.close()
    }

    /// The rewritten journal contains only the new revision.
    @Test func anEditFollowedByACompactionDuringAReplayIsSent() async throws {
        let other = queue(starts: false)
        let one = queue()
        let id = try await one.enqueue("/old")
        let removed = try await one.enqueue("/removed")
        one.respond { replay in
            if replay.request.url?.path == "/old" {
                try? await other.queue.update(id: id) { $0.url = URL(string: "https://api.example.com/new") ?? $0.url }
                try? await other.queue.remove(id: removed)
            }
            return .status(200)
        }
        #expect(try await one.queue.drain() == 0)
        #expect(one.sent.suffix(2) == ["/old", "/new"])
        await one.queue.close()
        await other.queue.close()
    }

    /// Simulates a directory that was deleted and recreated.
    @Test func aDrainerThatLostItsLockFileStopsWhenAnotherHoldsTheLock() async throws {
        let one = queue()
        try await one.enqueue("/1")
        #expect(try await one.queue.drain() == 1)
        let usurper = FileLock(path: directory.file("usurper.lock").path)
        #expect(try usurper.tryAcquire())
        // The new file is locked before it replaces the old one, since a drain pass may start at any moment.
        #expect(rename(directory.file("usurper.lock").path, directory.file("drainer.lock").path) == 0)
        let count = one.sent.count
        one.respond { _ in .status(200) }
        #expect(try await one.queue.drain() == 1)
        #expect(one.sent.count == count)
        await one.queue.close()
        usurper.close()
        let other = queue(respond: { _ in .status(200) })
        #expect(try await other.queue.drain() == 0)
        #expect(other.sent == ["/1"])
        await other.queue.close()
    }

    @Test func aDrainerThatLostItsLockFileContinuesIfNoOtherSends() async throws {
        let one = queue()
        try await one.enqueue("/1")
        #expect(try await one.queue.drain() == 1)
        try FileManager.default.removeItem(at: directory.file("drainer.lock"))
        one.respond { _ in .status(200) }
        #expect(try await one.queue.drain() == 0)
        await one.queue.close()
    }

    // MARK: Remaining files

    private func bodies() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.file("bodies").path)
    }

    @Test func theBodyOfAnEditIsRemovedWithItsEntryEvenAfterACompaction() async throws {
        let queue = queue()
        let id = try await queue.enqueue("/1")
        let removed = try await queue.enqueue("/2")
        try await queue.queue.update(id: id) { $0.body = Data(count: BodyFiles.limit + 1) }
        #expect(try bodies().count == 1)
        try await queue.queue.remove(id: removed)
        #expect(try bodies().count == 1)
        try await queue.queue.remove(id: id)
        #expect(try bodies().isEmpty)
        await queue.queue.close()
    }

    @Test func aSweepKeepsABodyWithoutARecordYet() async throws {
        let (mine, theirs) = (BodyFiles(in: directory.url, disk: .system), BodyFiles(in: directory.url, disk: .system))
        for name in ["written", "named", "left"] { try await mine.write(name, Data("of \(name)".utf8)) }
        mine.release("left")
        try theirs.sweep { _ in false }
        try mine.sweep { _ in false }
        #expect(try bodies().sorted() == ["named", "written"])
        mine.release("named")
        mine.discard("written")
        try theirs.sweep { _ in false }
        #expect(try bodies().isEmpty)
    }

    /// A descriptor closed by other code could belong to another file by then: to the journal.
    @Test func aBodyIsWrittenToItsOwnFileEvenIfItsEntryIsRemoved() async throws {
        let files = BodyFiles(in: directory.url, disk: .system)
        let (id, chunks, opened) = (UUID(), Locked(0), Locked<[Int32]>([]))
        try await files.write("\(id.uuidString)-1") {
            let count = chunks.withLock { count in
                count += 1
                return count
            }
            guard count <= 2 else { return nil }
            if count == 2 {
                files.removeAll(of: id)
                // Takes the lowest free descriptor number.
                let descriptor = try SystemFile.open(directory.file("other").path, O_RDWR | O_CREAT)
                opened.withLock { $0.append(descriptor) }
            }
            return Data("of the body".utf8)
        }
        files.release("\(id.uuidString)-1")
        for descriptor in opened.withLock({ $0 }) { _ = SystemFile.close(descriptor) }
        #expect(try Data(contentsOf: directory.file("other")).isEmpty)
        #expect(try bodies().isEmpty)
    }

    @Test(arguments: [nil, "ada"] as [String?])
    func removeAllRemovesBodiesLeftByACrash(account: String?) async throws {
        let queue = queue()
        try await queue.enqueue("/1", body: .data(Data(count: BodyFiles.limit + 1)), account: "ada")
        try await queue.queue.drain()
        try Data("left by a crash".utf8).write(to: directory.file("bodies").appendingPathComponent(UUID().uuidString))
        if let account {
            try await queue.queue.removeAll(account: account)
        } else {
            try await queue.queue.removeAll()
        }
        #expect(try bodies().isEmpty)
        await queue.queue.close()
    }

    /// The bytes of every file.
    private func everything() throws -> String {
        let paths = FileManager.default.enumerator(atPath: directory.url.path)?.compactMap { $0 as? String } ?? []
        return paths.map { path in
            let data = (try? Data(contentsOf: directory.url.appendingPathComponent(path))) ?? Data()
            return String(decoding: data, as: UTF8.self)
        }.joined()
    }

    @Test func removedContentIsErasedFromTheFiles() async throws {
        try Data("damaged of ada".utf8).write(to: directory.file("journal.damaged"))
        let queue = queue()
        let large = Data(String(repeating: "large of ada", count: 10_000).utf8)
        try await queue.enqueue("/1", tag: "1", body: .data(large), account: "ada")
        try await queue.enqueue("/2", tag: "2", headers: ["X-Note": "small of ada"], account: "ada")
        let filler = ["X-Note": String(repeating: "of bob ", count: 2_000)]
        try await queue.enqueue("/3", tag: "3", headers: filler, account: "bob")
        let single = try await queue.enqueue("/4", tag: "4", headers: ["X-Note": "of cleo"], account: "cleo")
        #expect(try everything().contains("small of ada"))
        try await queue.queue.removeAll(account: "ada")
        #expect(try !everything().contains("of ada"))
        try await queue.queue.remove(id: single)
        #expect(try !everything().contains("of cleo"))
        #expect(try await queue.queue.pending().map(\.account) == ["bob"])
        try await queue.queue.removeAll()
        #expect(try !everything().contains("of bob"))
        await queue.queue.close()
    }

    /// Three ways to remove all entries.
    private static let removals: [@Sendable (OfflineQueue, UUID) async throws -> Void] = [
        { queue, _ in try await queue.removeAll() },
        { queue, _ in try await queue.removeAll(account: "ada") },
        { queue, id in try await queue.remove(id: id) },
    ]

    @Test(arguments: removals.indices)
    func aRemovalThatCannotEraseTheFilesThrows(way: Int) async throws {
        let faulty = FaultyDisk()
        let queue = QueueUnderTest(directory.url, disk: faulty.disk, respond: { _ in .failure(.noConnection) })
        let id = try await queue.enqueue("/1", headers: ["X-Note": "of ada"], account: "ada")
        faulty.plan.withLock { $0.rename = EIO }
        let error = await #expect(throws: PulseError.self) { try await Self.removals[way](queue.queue, id) }
        guard case .custom(let failure as JournalFailure) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(failure == .system(operation: "rename", code: EIO))
        #expect(try await queue.queue.count() == 0)
        faulty.plan.withLock { $0.rename = 0 }
        try await queue.queue.removeAll()
        #expect(try !everything().contains("of ada"))
        await queue.queue.close()
    }

    /// The journal is cleaned nevertheless.
    @Test func aBodyThatCannotBeRemovedIsAnError() async throws {
        let isFaulty = Locked(false)
        var disk = Disk.system
        disk.open = { path, flags in
            guard isFaulty.withLock({ $0 }), path.contains("/bodies/") else { return Disk.system.open(path, flags) }
            errno = EACCES
            return -1
        }
        let queue = QueueUnderTest(directory.url, disk: disk, respond: { _ in .failure(.noConnection) })
        try await queue.enqueue("/1", headers: ["X-Note": "of ada"])
        // An idle drainer does not sweep the bodies again.
        try await queue.queue.drain()
        try FileManager.default.createDirectory(at: directory.file("bodies"), withIntermediateDirectories: true)
        let left = directory.file("bodies").appendingPathComponent(UUID().uuidString)
        try Data("left by a crash".utf8).write(to: left)
        isFaulty.withLock { $0 = true }
        let error = await #expect(throws: PulseError.self) { try await queue.queue.removeAll() }
        guard case .custom(let failure as JournalFailure) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(failure == .notPermitted)
        #expect(try !everything().contains("of ada"))
        isFaulty.withLock { $0 = false }
        try await queue.queue.removeAll()
        #expect(try bodies().isEmpty)
        await queue.queue.close()
    }

    @Test func aJournalCopyLeftByACrashIsRemoved() async throws {
        let first = queue()
        try await first.enqueue("/1")
        await first.queue.close()
        try Data("left".utf8).write(to: directory.file("journal.new"))
        let second = queue(starts: false)
        #expect(try await second.queue.pending().count == 1)
        #expect(!FileManager.default.fileExists(atPath: directory.file("journal.new").path))
        await second.queue.close()
    }

    @Test func allFilesAreReadableByTheirUserAlone() async throws {
        let queue = queue(respond: { _ in .status(200) })
        try await queue.enqueue("/1", body: .data(Data(count: BodyFiles.limit + 1)), isOffline: false)
        try await queue.queue.drain()
        await queue.queue.close()
        for name in try FileManager.default.contentsOfDirectory(atPath: directory.url.path) {
            #expect(try directory.permissions(of: name) == (name == "bodies" ? 0o700 : 0o600), "\(name)")
        }
    }

    @Test func noBodyIsStoredWhereOthersMayWrite() async throws {
        let queue = queue(starts: false)
        let bodies = directory.file("bodies").path
        try FileManager.default.createDirectory(atPath: bodies, withIntermediateDirectories: true)
        chmod(bodies, 0o777)
        let error = await #expect(throws: PulseError.self) {
            try await queue.enqueue("/1", body: .data(Data(count: BodyFiles.limit + 1)))
        }
        guard case .custom(JournalFailure.notPrivate) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: bodies).isEmpty)
        await queue.queue.close()
    }

    // MARK: Unreadable entries

    @Test func anUnreadableEntryHidesNoOtherAndBecomesADeadLetter() async throws {
        let log = FileJournal.open(directory.file("journal"), JournalMirror())
        let (unreadable, another) = (UUID(number: 1), UUID(number: 2))
        try await log.append([JournalRecord("E", unreadable, tag: "a", payload: Data("{}".utf8))])
        try await log.append([JournalRecord("E", another, tag: "b", payload: Data("no JSON".utf8))])
        await log.close()
        let queue = queue(starts: false)
        try await queue.enqueue("/1", tag: "c", account: "ada")
        try await queue.enqueue("/2", tag: "d", account: "bob")
        #expect(try await queue.queue.pending().map(\.url.path) == ["/1", "/2"])
        #expect(try await queue.queue.count() == 4)
        queue.start()
        try await queue.queue.drain()
        #expect(
            queue.events.events.contains {
                if case .offlineQueueDeadLettered(unreadable) = $0 { true } else { false }
            })
        #expect(try await queue.queue.deadLetters().isEmpty)
        #expect(try await queue.queue.count() == 2)
        // The account of unreadable entries is unknown: removing any account removes them.
        try await queue.queue.removeAll(account: "ada")
        #expect(try await queue.queue.pending().map(\.url.path) == ["/2"])
        #expect(try !everything().contains("no JSON"))
        await queue.queue.close()
    }
}
