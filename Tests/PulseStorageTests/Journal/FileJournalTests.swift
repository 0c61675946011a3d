// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseStorage

@Suite(.throttled)
struct FileJournalTests {
    private let directory: TemporaryDirectory
    private var url: URL { directory.file("journal") }

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func contents() async throws -> JournalMirror.Contents {
        let mirror = JournalMirror()
        let log = FileJournal.open(url, mirror)
        try await log.refresh {}
        await log.close()
        return mirror.now
    }

    // Without the log's queue and its syncs: some hundred files would compete with all other tests.
    private func opened(_ records: [JournalRecord] = []) throws -> JournalMirror {
        let mirror = JournalMirror()
        let disk = Disk(write: Disk.system.write, sync: { _ in 0 }, rename: Disk.system.rename)
        let file = JournalFile(url, disk: disk) { mirror.apply($0) }
        defer { file.close() }
        let lines = try JournalBatch(records)
        try file.exclusively { if !lines.bytes.isEmpty { try file.append(lines) } }
        return mirror
    }

    private func openedAndAppended() throws -> JournalMirror {
        try opened([.sample(9)])
    }

    private func write(_ count: Int) async throws {
        let log = FileJournal.open(url, JournalMirror())
        for number in 0..<count { try await log.append([.sample(number)]) }
        await log.close()
    }

    /// The descriptor number may belong to another file by then. If the process may open no more files, it certainly
    /// does.
    @Test func aRepairThatCannotReopenTheFileClosesNoOtherFile() async throws {
        try await write(3)
        var bytes = try Data(contentsOf: url)
        bytes[JournalHeader.line.count + 20] ^= 0xFF
        try bytes.write(to: url)
        let (opened, other) = (Locked(0), Locked<Int32>(-1))
        var disk = Disk.system
        disk.open = { [path = url.path] file, flags in
            if file == path { opened.withLock { $0 += 1 } }
            guard file == path, opened.withLock({ $0 }) == 2 else { return systemOpen(file, flags) }
            other.withLock { $0 = systemOpen("/dev/null", O_RDONLY) }
            errno = EMFILE
            return -1
        }
        let file = JournalFile(url, disk: disk) { _ in }
        #expect(throws: JournalFailure.self) { try file.exclusively {} }
        file.close()
        let number = other.withLock { $0 }
        #expect(number >= 0 && fcntl(number, F_GETFD) != -1)
        _ = SystemFile.close(number)
    }

    // MARK: Records

    @Test func recordsAreReadInTheOrderOfTheirAppends() async throws {
        try await write(5)
        #expect(try await contents().items.map(\.id) == (0..<5).map { UUID(number: $0) })
    }

    @Test func readsARecordByItsLocation() async throws {
        let mirror = JournalMirror()
        let log = FileJournal.open(url, mirror)
        let record = JournalRecord.sample(2, tag: "a b", payload: #"{"a": "b  c"}"#)
        try await log.append([.sample(1), record, .sample(3)])
        let id = record.id
        #expect(try await log.read { mirror.location(of: id) } == record)
        #expect(try await log.read { nil } == nil)
        await log.close()
    }

    @Test func appliesARecordBeforeTheAppendReturns() async throws {
        let mirror = JournalMirror()
        let log = FileJournal.open(url, mirror)
        try await log.append([.sample(1)])
        #expect(mirror.ids == [UUID(number: 1)])
        await log.close()
    }

    @Test func syncsBeforeTheAppendReturns() async throws {
        let faulty = FaultyDisk()
        let log = FileJournal.open(url, JournalMirror(), disk: faulty.disk)
        try await log.append([.sample(1)])
        let before = faulty.plan.withLock { $0.syncs }
        try await log.append([.sample(2)])
        #expect(faulty.plan.withLock { $0.syncs } == before + 1)
        await log.close()
    }

    // MARK: In place

    private func inPlaceDisk(_ limit: TimeInterval, sync: @escaping @Sendable () -> Void = {}) -> Disk {
        var disk = Disk.system
        disk.inPlaceLimit = limit
        disk.sync = { descriptor in
            sync()
            return Disk.system.sync(descriptor)
        }
        return disk
    }

    @Test func appendsInPlaceIfTheDiskIsQuick() async throws {
        let threads = Locked<[ThreadID]>([])
        let disk = inPlaceDisk(.infinity) { threads.withLock { $0.append(ThreadID.current) } }
        let log = FileJournal.open(url, JournalMirror(), disk: disk)
        try await log.append([.sample(1)])
        // The append returns a moment before the log's own thread has finished.
        while log.isWorking { await Task.yield() }
        threads.withLock { $0 = [] }
        for number in 2..<50 {
            let before = ThreadID.current
            try await log.append([.sample(number)])
            #expect(threads.withLock { $0 } == [before])
            #expect(ThreadID.current == before)
            threads.withLock { $0 = [] }
        }
        await log.close()
    }

    /// The system has few threads for tasks: if all of them waited for a slow disk, no task of the process could run.
    @Test(arguments: [false, true])
    func aSlowDiskOrLockBlocksNoCallersThread(isLock: Bool) async throws {
        let count = ProcessInfo.processInfo.activeProcessorCount * 2
        let gate = DispatchSemaphore(value: 0)
        let isShut = Locked(false)
        let disk = inPlaceDisk(isLock ? .infinity : 0) {
            if isShut.withLock({ $0 }) { gate.wait() }
        }
        let logs = (0..<count).map { number in
            FileJournal.open(directory.file("journal-\(number)"), JournalMirror(), disk: disk)
        }
        for log in logs { try await log.append([.sample(1)]) }
        let locks = (0..<count).map { FileLock(path: directory.file("journal-\($0).lock").path) }
        if isLock { for lock in locks { try lock.acquire() } } else { isShut.withLock { $0 = true } }
        async let all: Void = withThrowingTaskGroup(of: Void.self) { group in
            for log in logs { group.addTask { try await log.append([.sample(2)]) } }
            try await group.waitForAll()
        }
        // Each append was handed over, and this task still runs.
        while logs.contains(where: { !$0.isWorking }) { await Task.yield() }
        isShut.withLock { $0 = false }
        for _ in logs { gate.signal() }
        locks.forEach { $0.close() }
        try await all
        for log in logs { await log.close() }
    }

    @Test func aFailedAppendInPlaceReleasesTheLock() async throws {
        let faulty = FaultyDisk()
        let (log, mirror) = (FileJournal.open(url, JournalMirror(), disk: faulty.disk), JournalMirror())
        let other = FileLock(path: directory.file("journal.lock").path)
        try await log.append([.sample(1)])
        while log.isWorking { await Task.yield() }
        for change in [\FaultyDisk.Plan.write, \.sync] {
            faulty.plan.withLock { $0[keyPath: change] = EIO }
            await #expect(throws: PulseError.self) { try await log.append([.sample(2)]) }
            faulty.plan.withLock { $0[keyPath: change] = 0 }
            #expect(try other.tryAcquire())
            other.release()
        }
        try await log.append([.sample(3)])
        await log.close()
        let second = FileJournal.open(url, mirror)
        try await second.refresh {}
        #expect(mirror.ids == [1, 3].map { UUID(number: $0) })
        await second.close()
    }

    @Test func writesRecordsThatArriveDuringAnAppendInPlace() async throws {
        let mirror = JournalMirror()
        let log = FileJournal.open(url, mirror, disk: inPlaceDisk(.infinity))
        try await log.append([.sample(0)])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<16 {
                group.addTask {
                    for number in 1...25 { try await log.append([.sample(writer * 25 + number)]) }
                }
            }
            try await group.waitForAll()
        }
        #expect(Set(mirror.ids) == Set((0...400).map { UUID(number: $0) }))
        #expect(mirror.ids.count == 401)
        await log.close()
        #expect(try await contents().items.map(\.id) == mirror.ids)
    }

    // MARK: Admission

    @Test func aRejectedAppendDoesNotAffectOthers() async throws {
        let mirror = JournalMirror()
        let log = FileJournal.open(url, mirror)
        await #expect(throws: PulseError.self) {
            try await log.append([.sample(1)]) { throw PulseError.offlineQueueFull }
        }
        try await log.append([.sample(2)]) { [.sample(3)] }
        #expect(mirror.ids == [3, 2].map { UUID(number: $0) })
        await log.close()
    }

    @Test func filesAreReadableByTheirUserAlone() async throws {
        try await write(1)
        #expect(try directory.permissions(of: "journal") == 0o600)
        #expect(try directory.permissions(of: "journal.lock") == 0o600)
    }

    /// Another owner may change the permissions; only root can give a directory away.
    @Test(arguments: [(0o770, nil), (0o702, nil), (0o1777, nil), (0o755, 4711)] as [(mode_t, uid_t?)])
    func aDirectoryThatOthersMayWriteToIsRefused(permissions: mode_t, owner: uid_t?) async throws {
        guard owner == nil || geteuid() == 0 else { return }
        let path = directory.url.path
        chmod(path, permissions)
        chown(path, owner ?? geteuid(), getegid())
        let log = FileJournal.open(url, JournalMirror())
        let error = await #expect(throws: PulseError.self) { try await log.append([.sample(1)]) }
        guard case .custom(JournalFailure.notPrivate) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: path).isEmpty)
        chmod(path, 0o755)
        chown(path, geteuid(), getegid())
        try await log.append([.sample(2)])
        await log.close()
    }

    /// Without its name, the directory could not be found after a power failure.
    @Test func aNewDirectoryIsSyncedWithItsParents() throws {
        let faulty = FaultyDisk()
        let nested = directory.file("a").appendingPathComponent("b").appendingPathComponent("c")
        try SystemFile.makeDirectory(nested.path, using: faulty.disk)
        #expect(faulty.plan.withLock { $0.syncs } == 3)
        try SystemFile.makeDirectory(nested.path, using: faulty.disk)
        #expect(faulty.plan.withLock { $0.syncs } == 3)
        faulty.plan.withLock { $0.sync = EIO }
        #expect(throws: JournalFailure.self) {
            try SystemFile.makeDirectory(nested.appendingPathComponent("d").path, using: faulty.disk)
        }
    }

    @Test func aClosedLogRefusesAppends() async throws {
        let log = FileJournal.open(url, JournalMirror())
        await log.close()
        await log.close()
        let error = await #expect(throws: PulseError.self) { try await log.append([.sample(1)]) }
        #expect(error?.kind == .cancelled)
    }

    // MARK: Damage

    @Test func aLogTruncatedAtAnyByteOpensWithAllWholeRecords() async throws {
        try await write(3)
        let whole = try Data(contentsOf: url)
        let size = whole.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0
        let ends = try await contents().items.map { $0.location.offset + $0.location.length }
        for length in 0...size {
            try whole[..<length].write(to: url)
            let mirror = try openedAndAppended()
            let expected = (0..<ends.count { $0 <= length }).map { UUID(number: $0) } + [UUID(number: 9)]
            #expect(mirror.ids == expected, "\(length)")
            let again = try opened().now
            #expect(again.items.map(\.id) == expected, "\(length)")
            #expect(again.damagedBytes == 0)
        }
        #expect(!FileManager.default.fileExists(atPath: directory.file("journal.damaged").path))
    }

    @Test func aLogWithAnyByteChangedOpensWithAllIntactRecords() async throws {
        try await write(3)
        var whole = try Data(contentsOf: url)
        whole = whole[...(whole.lastIndex { $0 != 0 } ?? 0)]
        let ranges = try await contents().items.map { $0.location.offset..<$0.location.offset + $0.location.length }
        for index in whole.indices {
            var changed = whole
            changed[index] ^= 0x15
            try changed.write(to: url)
            let mirror = try openedAndAppended()
            // A byte between two records damages neither of them.
            let intact = ranges.indices.filter { !ranges[$0].contains(index) }
            #expect(mirror.ids == (intact + [9]).map { UUID(number: $0) }, "\(index)")
            #expect(mirror.now.damagedBytes > 0 || index == whole.count - 1, "\(index)")
            // The damage is reported once, and moved out of the file.
            let again = try opened().now
            #expect(again.damagedBytes == 0)
            #expect(again.items.map(\.id) == mirror.ids)
        }
        let aside = try Data(contentsOf: directory.file("journal.damaged"))
        #expect(!aside.isEmpty)
        #expect(try directory.permissions(of: "journal.damaged") == 0o600)
    }

    @Test func damageTooLargeToStoreIsCountedSeparately() throws {
        let large = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20) + [UInt8(ascii: "\n")]
        let small = Array("small\n".utf8)
        var bytes = JournalHeader.line + large
        try JournalRecord.sample(1).write(to: &bytes)
        bytes += small
        try JournalRecord.sample(2).write(to: &bytes)
        try Data(bytes).write(to: url)
        let contents = try opened().now
        #expect(contents.items.map(\.id) == [1, 2].map { UUID(number: $0) })
        #expect(contents.damagedBytes == large.count + small.count)
        #expect(contents.keptBytes == small.count)
        #expect(try Data(contentsOf: directory.file("journal.damaged")) == Data(small))
    }

    @Test func aFileOfANewerVersionIsLeftUnchanged() async throws {
        let newer = Data(JournalHeader.line(version: 2)) + Data("an unknown format\n".utf8)
        try newer.write(to: url)
        let log = FileJournal.open(url, JournalMirror())
        let error = await #expect(throws: PulseError.self) { try await log.append([.sample(1)]) }
        guard case .custom(let failure as JournalFailure) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(failure == .newerVersion(2))
        #expect(try Data(contentsOf: url) == newer)
        await log.close()
    }

    // MARK: Failures

    /// The failure may affect the lock, the file itself, its replacement, or the folder.
    @Test(
        arguments: [(EACCES, JournalFailure.notPermitted), (EROFS, .readOnly), (ENOSPC, .noSpace)],
        [\FaultyDisk.Plan.open, \.makeDirectory] as [WritableKeyPath<FaultyDisk.Plan, Int32> & Sendable])
    func aFailureToOpenOrCreateAFileIsATypedError(
        failure: (code: Int32, expected: JournalFailure), call: WritableKeyPath<FaultyDisk.Plan, Int32> & Sendable
    ) async throws {
        let faulty = FaultyDisk()
        let mirror = JournalMirror()
        let log = FileJournal.open(
            directory.file("folder").appendingPathComponent("journal"), mirror, disk: faulty.disk)
        faulty.plan.withLock { $0[keyPath: call] = failure.code }
        for _ in 0..<2 {
            let error = await #expect(throws: PulseError.self) { try await log.append([.sample(1)]) }
            guard case .custom(let actual as JournalFailure) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(actual == failure.expected)
        }
        faulty.plan.withLock { $0[keyPath: call] = 0 }
        try await log.append([.sample(2)])
        #expect(mirror.ids == [UUID(number: 2)])
        await log.close()
    }

    @Test(arguments: [
        (ENOSPC, JournalFailure.noSpace), (EACCES, .notPermitted), (EROFS, .readOnly),
        (EIO, .system(operation: "pwrite", code: EIO)),
    ])
    func aFailedWriteIsATypedErrorAndLeavesNothing(code: Int32, expected: JournalFailure) async throws {
        let faulty = FaultyDisk()
        let mirror = JournalMirror()
        let log = FileJournal.open(url, mirror, disk: faulty.disk)
        try await log.append([.sample(1)])
        faulty.plan.withLock { ($0.write, $0.partial) = (code, 20) }
        let error = await #expect(throws: PulseError.self) { try await log.append([.sample(2)]) }
        guard case .custom(let failure as JournalFailure) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(failure == expected)
        faulty.plan.withLock { $0.write = 0 }
        try await log.append([.sample(3)])
        await log.close()
        #expect(mirror.ids == [1, 3].map { UUID(number: $0) })
        #expect(try await contents().items.map(\.id) == mirror.ids)
    }

    @Test func aRecordWhoseSyncFailedDoesNotReappear() async throws {
        let faulty = FaultyDisk()
        let mirror = JournalMirror()
        let log = FileJournal.open(url, mirror, disk: faulty.disk)
        try await log.append([.sample(1)])
        faulty.plan.withLock { $0.sync = EIO }
        await #expect(throws: PulseError.self) { try await log.append([.sample(2)]) }
        faulty.plan.withLock { $0.sync = 0 }
        try await log.append([.sample(3)])
        await log.close()
        #expect(try await contents().items.map(\.id) == [1, 3].map { UUID(number: $0) })
    }

    @Test func aRecordIsWrittenWithoutReservedZerosIfSpaceIsShort() async throws {
        let faulty = FaultyDisk()
        faulty.plan.withLock { $0.room = 1000 }
        let log = FileJournal.open(url, JournalMirror(), disk: faulty.disk)
        for number in 0..<20 { try await log.append([.sample(number)]) }
        await log.close()
        #expect(try await contents().items.count == 20)
    }

    @Test func aDirectoryThatCannotBeCreatedIsATypedError() async throws {
        try Data().write(to: directory.file("taken"))
        let log = FileJournal.open(directory.file("taken").appendingPathComponent("journal"), JournalMirror())
        let error = await #expect(throws: PulseError.self) { try await log.append([.sample(1)]) }
        guard case .custom(is JournalFailure) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        await log.close()
    }

    @Test func aDeletedDirectoryIsAnErrorAndThenRestoredWithItsContent() async throws {
        let mirror = JournalMirror()
        let log = FileJournal.open(url, mirror)
        try await log.append([.sample(1)])
        try FileManager.default.removeItem(at: directory.url)
        let error = await #expect(throws: PulseError.self) { try await log.append([.sample(2)]) }
        guard case .custom(let failure as JournalFailure) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(failure == .missing)
        try await log.append([.sample(3)])
        await log.close()
        #expect(try await contents().items.map(\.id) == [1, 3].map { UUID(number: $0) })
    }

    // MARK: Compaction

    @Test func compactionKeepsExactlyTheGivenContents() async throws {
        let mirror = JournalMirror()
        let log = FileJournal.open(url, mirror)
        for number in 0..<100 { try await log.append([.sample(number)]) }
        let before = log.size
        try await log.compact {
            let items = mirror.now.items
            return [.copy(items[7].location), .record(.sample(200)), .copy(items[50].location)]
        }
        #expect(log.size < before / 10)
        #expect(mirror.ids == [7, 200, 50].map { UUID(number: $0) })
        try await log.append([.sample(300)])
        #expect(try await log.read { mirror.location(of: UUID(number: 50)) } == .sample(50))
        await log.close()
        #expect(try await contents().items.map(\.id) == [7, 200, 50, 300].map { UUID(number: $0) })
    }

    @Test func aDamagedRecordDoesNotPreventACompaction() async throws {
        let mirror = JournalMirror()
        let log = FileJournal.open(url, mirror)
        for number in 0..<3 { try await log.append([.sample(number)]) }
        let spoiled = mirror.now.items[1].location
        let handle = try FileHandle(forUpdating: url)
        try handle.seek(toOffset: UInt64(spoiled.offset + spoiled.length - 2))
        try handle.write(contentsOf: Data("?".utf8))
        try handle.close()
        let items = mirror.now.items
        try await log.compact {
            items.map { .changed($0.location, operation: $0.operation, expiry: 7) }
        }
        #expect(mirror.ids == [0, 2].map { UUID(number: $0) })
        #expect(mirror.now.items.allSatisfy { $0.expiry == 7 })
        #expect(mirror.now.damagedBytes == spoiled.length + 1)
        #expect(FileManager.default.fileExists(atPath: directory.file("journal.damaged").path))
        await log.close()
    }

    @Test(arguments: [\FaultyDisk.Plan.write, \.sync, \.rename])
    func aFailedCompactionLeavesTheOldFile(part: WritableKeyPath<FaultyDisk.Plan, Int32> & Sendable) async throws {
        let faulty = FaultyDisk()
        let mirror = JournalMirror()
        let log = FileJournal.open(url, mirror, disk: faulty.disk)
        for number in 0..<10 { try await log.append([.sample(number)]) }
        let before = try Data(contentsOf: url)
        faulty.plan.withLock { $0[keyPath: part] = ENOSPC }
        await #expect(throws: PulseError.self) { try await log.compact { [] } }
        #expect(try Data(contentsOf: url) == before)
        #expect(!FileManager.default.fileExists(atPath: directory.file("journal.new").path))
        faulty.plan.withLock { $0[keyPath: part] = 0 }
        try await log.append([.sample(10)])
        await log.close()
        #expect(try await contents().items.count == 11)
    }

    // MARK: Several users

    @Test func twoLogsShareAFileThroughAppendsAndCompactions() async throws {
        let (first, second) = (JournalMirror(), JournalMirror())
        let (one, other) = (FileJournal.open(url, first), FileJournal.open(url, second))
        try await one.append([.sample(1)])
        try await other.append([.sample(2)])
        try await one.append([.sample(3)])
        #expect(first.ids == [1, 2, 3].map { UUID(number: $0) })
        try await other.compact { [.copy(second.now.items[2].location)] }
        try await one.append([.sample(4)])
        #expect(first.ids == [3, 4].map { UUID(number: $0) })
        try await other.refresh {}
        #expect(second.ids == first.ids)
        await one.close()
        await other.close()
    }

    @Test func aLockHasOneHolderEvenWithinAProcess() throws {
        let path = directory.file("lock").path
        let (one, other) = (FileLock(path: path), FileLock(path: path))
        #expect(try one.tryAcquire())
        #expect(try !other.tryAcquire())
        one.release()
        #expect(try other.tryAcquire())
        other.close()
        #expect(try one.tryAcquire())
    }

    @Test func aLockThatCannotBeVerifiedIsReleased() throws {
        let folder = directory.file("folder")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let path = folder.appendingPathComponent("lock").path
        let lock = FileLock(path: path)
        #expect(try lock.tryAcquire())
        lock.release()
        let file = open(path, O_RDWR)
        defer { close(file) }
        // Replace the folder by a loop of links: checking the path fails, but not because the file is missing.
        try FileManager.default.removeItem(at: folder)
        try FileManager.default.createSymbolicLink(at: folder, withDestinationURL: folder)
        #expect(throws: JournalFailure.self) { try lock.tryAcquire() }
        // Another descriptor can still lock the same file.
        #expect(flock(file, LOCK_EX | LOCK_NB) == 0)
    }

    @Test func aLockOnADeletedFileIsNotTakenForTheNewOne() throws {
        let path = directory.file("lock").path
        let (one, other) = (FileLock(path: path), FileLock(path: path))
        #expect(try one.tryAcquire())
        one.release()
        try FileManager.default.removeItem(atPath: path)
        #expect(try other.tryAcquire())
        #expect(try !one.tryAcquire())
    }
}

private struct ThreadID: Equatable, Sendable {
    private let number: UInt

    static var current: ThreadID { ThreadID(number: UInt(bitPattern: pthread_self().hashValue)) }
}
