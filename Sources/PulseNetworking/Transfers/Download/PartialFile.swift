// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform
import PulseStorage

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The stored bytes of a download, in a hidden file beside the target, with a second file that describes them. Only
/// their user can read both.
///
/// The file is locked, so that no other download writes it, in any process. Bytes are synced before the state counts
/// them: after a crash, the state never counts bytes that are missing. All disk work runs on threads that block no
/// other task.
///
/// A cancelled task soon stops waiting for a disk that hangs. From then on the file is not touched: the hanging job
/// keeps it open and locked until it ends.
///
/// Throws ``PulseError`` with a ``TransferFailure`` or a ``JournalFailure``.
final class PartialFile: @unchecked Sendable {
    // Unchecked: one task uses it. Jobs on the disk have copies of what they need, and share only locks.

    /// Maximum number of bytes that a crash loses.
    static let syncDistance = 8 << 20
    /// Smaller pieces are merged, since each write costs two thread switches.
    private static let pieceSize = 256 << 10

    let place: DownloadPlace
    /// The state of an earlier download; nil if there is nothing to resume.
    let stored: PartialState?
    private let disk: Disk
    private let pool: BlockingThreadPool
    private let clock: any PulseClock
    private let lock: FileLock
    private let descriptor: Int32
    /// Number of bytes in the file; those in `piece` follow.
    private var written: Int64 = 0
    private var piece = Data()
    private var total: Int64?
    /// Number of bytes that the last sync covers.
    private var synced: Int64 = 0
    private var syncing: (task: Task<Void, any Error>, state: PartialState)?
    /// The state on the disk.
    private var saved: PartialState?
    private var isGone = false
    /// Whether a disk job was abandoned, which may still run.
    private var isAbandoned = false
    /// Whether a sync of the bytes has failed. The system reports that once, and then treats lost bytes as written.
    private let hasLostBytes = Locked(false)

    private init(
        _ place: DownloadPlace, _ stored: PartialState?, _ disk: Disk, _ clock: any PulseClock, _ lock: FileLock,
        _ descriptor: Int32
    ) {
        self.place = place
        self.stored = stored
        self.disk = disk
        self.clock = clock
        pool = place.pool
        self.lock = lock
        self.descriptor = descriptor
        written = stored?.length ?? 0
        synced = written
        saved = stored
    }

    deinit {
        _ = SystemFile.close(descriptor)
        lock.close()
    }

    // MARK: Opening

    /// Locks the file, and reads the state of an earlier download of that content.
    ///
    /// - Parameter key: names the content; nil to resume nothing.
    static func open(
        at place: DownloadPlace, key: String?, using disk: Disk, clock: any PulseClock = .system
    ) async throws -> PartialFile {
        do {
            return try await place.pool.abandonableAfterGrace(clock) {
                try openNow(at: place, key: key, using: disk, clock)
            }
        } catch {
            throw failure(error, needed: 0)
        }
    }

    private static func openNow(
        at place: DownloadPlace, key: String?, using disk: Disk, _ clock: any PulseClock
    ) throws -> PartialFile {
        try place.check()
        var mayReplace = true
        while true {
            let lock = FileLock(path: place.partial, disk: disk)
            guard try lock.tryAcquire() else { throw TransferFailure.busy }
            let (descriptor, status) = try SystemFile.openWithStatus(place.partial, O_RDWR | O_CREAT, using: disk)
            let size = status.length
            let isOwn = status.isOwn
            let state = isOwn ? PartialState.read(place.state, using: disk) : nil
            let stored = state.flatMap { $0.key == key && $0.length <= size && $0.length > 0 ? $0 : nil }
            let partial = PartialFile(place, stored, disk, clock, lock, descriptor)
            if status.linkCount > 1 || !isOwn && mayReplace {
                // A crash has left the partial name of a file that is in place, or another user's file is here. Some
                // file systems assign each file to another user, so this is tried only once.
                if !isOwn { mayReplace = false }
                try partial.removeName()
                continue
            }
            if stored == nil, state != nil { try removeState(place, disk) }
            return partial
        }
    }

    private func removeName() throws {
        try Self.removeState(place, disk)
        try SystemFile.remove(place.partial)
    }

    /// Runs a job on a thread that may wait for a disk.
    ///
    /// - Parameter needed: the number of bytes to report if the disk is full.
    /// - Parameter isLong: whether the job waits until bytes are on the medium.
    private func onDisk<Value: Sendable>(
        needed: Int64 = 0, isLong: Bool = false, _ job: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await waiting(needed: needed) {
            try await (isLong ? place.longJobs : pool).abandonableAfterGrace(clock) { [self] in
                // The system may reuse the descriptor of a closed file for another one.
                defer { withExtendedLifetime(self) {} }
                return try job()
            }
        }
    }

    private func waiting<Value>(needed: Int64 = 0, _ wait: () async throws -> Value) async throws -> Value {
        guard !isAbandoned else { throw PulseError.cancelled }
        do {
            return try await wait()
        } catch {
            if error is CancellationError { isAbandoned = true }
            throw Self.failure(error, needed: needed)
        }
    }

    /// Removes a state whose bytes are about to be replaced. Otherwise it would still count them after a crash.
    private static func removeState(_ place: DownloadPlace, _ disk: Disk) throws {
        if unlink(place.state) == 0 { try SystemFile.syncDirectory(place.directory, using: disk) }
    }

    // MARK: Writing

    /// Truncates the file to its first `length` bytes.
    func cut(to length: Int64) async throws {
        try await flush()
        try await finishSync()
        let isStale = length < saved?.length ?? 0
        if isStale { saved = nil }
        try await onDisk { [place, disk, descriptor] in
            if isStale { try Self.removeState(place, disk) }
            guard ftruncate(descriptor, off_t(length)) == 0 else { throw JournalFailure("ftruncate") }
        }
        written = length
        synced = min(synced, length)
    }

    /// Throws if the disk has no space for that many more bytes.
    func checkSpace(for count: Int64) async throws {
        let free = try await onDisk { [disk, place] in disk.freeSpace(place.directory) }
        guard free ?? .max >= count else { throw TransferFailure.noSpace(needed: count).asPulseError }
    }

    /// - Parameter total: the length of the whole content, if it is known.
    func append(_ chunk: Data, of total: Int64?) async throws {
        if piece.isEmpty { piece = chunk } else { piece.append(chunk) }
        self.total = total
        guard piece.count >= Self.pieceSize else { return }
        if written + Int64(piece.count) - synced > Int64(Self.syncDistance) { try await finishSync() }
        try await flush()
    }

    private func flush() async throws {
        guard !piece.isEmpty else { return }
        let needed = max(Int64(piece.count), (total ?? 0) - written)
        try await onDisk(needed: needed) { [piece, written, descriptor, disk] in
            try piece.withUnsafeBytes { try SystemFile.write($0, to: descriptor, at: written, using: disk) }
        }
        written += Int64(piece.count)
        piece = Data()
    }

    // MARK: The state

    /// Starts a sync once half of ``syncDistance`` is written.
    func syncIfDue(_ state: @autoclosure () -> PartialState) async throws {
        guard syncing == nil, written - synced >= Int64(Self.syncDistance / 2) else { return }
        var state = state()
        state.length = written
        // The thread releases the file, so that it is closed once nothing else uses it.
        let user = Locked<PartialFile?>(self)
        let task = Task { [state, isFirst = saved == nil, place, descriptor, disk, hasLostBytes] in
            try await place.longJobs.result {
                let file = user.withLock { $0.take() }
                defer { withExtendedLifetime(file) {} }
                try Self.sync(descriptor, disk, hasLostBytes)
                try state.write(place.state, isFirst: isFirst, using: disk)
            }
        }
        syncing = (task, state)
    }

    private static func sync(_ descriptor: Int32, _ disk: Disk, _ hasLostBytes: Locked<Bool>) throws {
        guard disk.sync(descriptor) == 0 else {
            let failure = JournalFailure("fsync")
            hasLostBytes.withLock { $0 = true }
            throw failure
        }
        if hasLostBytes.withLock({ $0 }) { throw JournalFailure.system(operation: "fsync", code: EIO) }
    }

    private func finishSync() async throws {
        guard let syncing else { return }
        self.syncing = nil
        let result: Result<Void, any Error> = try await waiting {
            try await BlockingThreadPool.waitWithGrace(clock) { [task = syncing.task] resume in
                _ = Task { resume(await task.result) }
            }
        }
        if case .failure(let error) = result { throw Self.failure(error, needed: 0) }
        synced = syncing.state.length
        saved = syncing.state
    }

    /// Keeps the received bytes for a later download: on a failing disk, those of an earlier state. Throws if there are
    /// none.
    func keep(_ state: PartialState) async throws {
        guard !isGone else { return }
        do {
            do { try await flush() } catch { piece = Data() }
            try await finishSync()
            var state = state
            state.length = written
            guard saved != state else { return }
            try await onDisk(isLong: true) { [state, isFirst = saved == nil, place, descriptor, disk, hasLostBytes] in
                try Self.sync(descriptor, disk, hasLostBytes)
                try state.write(place.state, isFirst: isFirst, using: disk)
            }
        } catch  where saved != nil {}
    }

    /// Deletes the partial file and its state.
    func drop() async {
        guard !isGone else { return }
        isGone = true
        piece = Data()
        try? await finishSync()
        try? await onDisk { [place, disk] in
            // The state first, since the next download may begin once the partial file is unlinked.
            PartialState.file(place.state, using: disk).remove()
            _ = unlink(place.partial)
        }
    }

    /// Adopts the bytes that a transport wrote to the file, and returns their number.
    func adopt() async throws -> Int64 {
        written = try await onDisk { [descriptor] in try SystemFile.status(descriptor).length }
        return written
    }

    // MARK: The end

    /// Truncates bytes that a crash has left after the content.
    func trim(to length: Int64) async throws {
        try await flush()
        try await onDisk { [descriptor] in
            guard try SystemFile.status(descriptor).length > length else { return }
            guard ftruncate(descriptor, off_t(length)) == 0 else { throw JournalFailure("ftruncate") }
        }
    }

    /// The SHA-256 of all bytes in hexadecimal digits; nil without a hash library.
    func sha256() async throws -> String? {
        try await flush()
        let file = URL(fileURLWithPath: place.partial, isDirectory: false)
        do {
            return try await SystemHashes.library?.sha256(of: file)?.hex
        } catch {
            throw error is CancellationError ? error : Self.failure(error, needed: 0)
        }
    }

    /// Puts the file in place, durably and by one rename, and returns its URL.
    ///
    /// A cancelled task no longer changes the target, unless the rename has begun. A rename cannot be undone: on a disk
    /// that hangs meanwhile, the file may be in place later, although the download has ended.
    ///
    /// - Parameter name: that of a file in the place's directory; nil for the place's own target.
    func finish(name: String?, replacesFile: Bool) async throws -> URL {
        try await flush()
        // A state that could not be written no longer matters.
        try? await finishSync()
        let (isInstalled, isCancelled) = (Locked(false), Locked(false))
        defer { isGone = isInstalled.withLock { $0 } }
        let install = { @Sendable [place, descriptor, disk, hasLostBytes] () throws -> URL in
            try Self.sync(descriptor, disk, hasLostBytes)
            // Opened first, so that only a failing disk can cause an error after the rename.
            let directory = try SystemFile.openDirectory(place.directory, using: disk)
            defer { _ = SystemFile.close(directory) }
            // Another program may have removed the file, and another download may have created it again.
            guard try SystemFile.status(place.partial)?.identity == SystemFile.status(descriptor).identity else {
                throw JournalFailure.missing
            }
            _ = fchmod(descriptor, place.standardPermissions())
            if isCancelled.withLock({ $0 }) { throw PulseError.cancelled }
            let file = try place.install(name, replacesFile: replacesFile, using: disk)
            isInstalled.withLock { $0 = true }
            PartialState.file(place.state, using: disk).remove()
            try SystemFile.syncDirectory(directory, using: disk)
            return file
        }
        return try await withTaskCancellationHandler {
            try await onDisk(isLong: true, install)
        } onCancel: {
            isCancelled.withLock { $0 = true }
        }
    }

    // MARK: Errors

    private static func failure(_ error: any Error, needed: Int64) -> PulseError {
        switch error {
        case let error as PulseError: return error
        case is CancellationError: return .cancelled
        case let failure as TransferFailure: return failure.asPulseError
        case JournalFailure.noSpace: return TransferFailure.noSpace(needed: needed).asPulseError
        case JournalFailure.missing, JournalFailure.notPermitted, JournalFailure.readOnly:
            return TransferFailure.unusableDestination.asPulseError
        case JournalFailure.system(_, let code) where [EISDIR, ENOTDIR, ELOOP, ENAMETOOLONG].contains(code):
            return TransferFailure.unusableDestination.asPulseError
        case JournalFailure.system(_, let code) where [EMFILE, ENFILE].contains(code):
            return .transport(.resourceUnavailable, underlying: error)
        default: return .transport(.cannotWriteToFile, underlying: error)
        }
    }
}
