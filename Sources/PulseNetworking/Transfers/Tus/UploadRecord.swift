// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform
import PulseStorage

/// An unfinished upload, as it is kept for a later call.
struct StoredUpload: Sendable, Equatable {
    let url: URL
    /// The file that it is of.
    let stamp: FileStamp
    /// The digest of the account that has created it; nil if no plugin knew the account.
    let account: String?
}

/// A file with the unfinished upload of one file to one URL.
///
/// It is locked: of two uploads at once, in any processes, each would refuse the other's offsets. Throws ``PulseError``
/// with a ``TransferFailure``.
///
/// A cancelled task soon stops waiting for a disk that hangs. From then on the record is left as it is: the job that
/// hangs keeps it locked until it ends. A record that it writes then is as good: the server is asked for the offset.
struct UploadRecord: Sendable {
    private let directory: String
    private let path: String
    private let lock: FileLock
    private let disk: Disk
    private let clock: any PulseClock
    private let pool: BlockingThreadPool
    /// Whether a job on the disk was left alone, which may still run.
    private let isAbandoned = Locked(false)
    /// The warning that others may write to the directory; nil if they may not.
    let warning: String?

    private var lockPath: String { path + ".lock" }

    /// Creates the directory if it is missing, and locks the record. Both fail before anything is sent.
    ///
    /// - Parameter url: where the upload is created.
    static func open(
        _ file: URL, to url: URL, in directory: URL, using disk: Disk = .system, clock: any PulseClock = .system
    ) async throws -> UploadRecord {
        let warning = try await onDisk(.files(in: directory.path), clock) {
            try SystemFile.makeDirectory(directory.path, using: disk)
            return SystemFile.exposureWarning(directory.path, of: "resumable uploads")
        }
        let name = "\(file.path(from: directory))\n\(url.absoluteString)"
        guard let digest = SystemHashes.library?.sha256(name)?.hex else {
            throw PulseError.unsupported("a resumable upload needs the system's SHA-256")
        }
        let record = UploadRecord(in: directory.path, digest, disk, clock, warning)
        try await onDisk(record.pool, clock) {
            guard try record.lock.tryAcquire() else { throw TransferFailure.busy }
        }
        return record
    }

    private init(
        in directory: String, _ name: String, _ disk: Disk, _ clock: any PulseClock, _ warning: String?
    ) {
        self.directory = directory
        self.disk = disk
        self.clock = clock
        pool = .files(in: directory)
        self.warning = warning
        path = directory + "/" + name + ".upload"
        lock = FileLock(path: path + ".lock", disk: disk)
    }

    /// Unlocks the record.
    func close() async {
        try? await onDisk { [lockPath, lock] in
            // While it is held: afterwards the name may be that of another's lock.
            try? FileManager.default.removeItem(atPath: lockPath)
            lock.close()
        }
    }

    /// The upload; nil if there is none, if the record is damaged, or if it is of another version of the file.
    func read(for file: UploadedFile) async -> StoredUpload? {
        try? await pool.read { [path, disk] () -> StoredUpload? in
            guard let upload = StoredUpload.read(path, using: disk), upload.stamp == file.stamp else { return nil }
            return upload
        }
    }

    func write(_ upload: StoredUpload) async throws {
        try await onDisk { [self] in
            let file = try SystemFile.create(path + "-new", using: disk)
            defer { _ = SystemFile.close(file) }
            try upload.bytes.withUnsafeBytes { try SystemFile.write($0, to: file, at: 0, using: disk) }
            guard disk.sync(file) == 0 else { throw JournalFailure("fsync") }
            guard disk.rename(path + "-new", path) == 0 else { throw JournalFailure("rename") }
            try SystemFile.syncDirectory(directory, using: disk)
        }
    }

    func remove() async {
        try? await onDisk { [path] in try? FileManager.default.removeItem(atPath: path) }
    }

    /// What the record tells of an account.
    static func digest(of account: String) -> String? { SystemHashes.library?.sha256(account)?.hex }

    private func onDisk(_ job: @escaping @Sendable () throws -> Void) async throws {
        guard !isAbandoned.withLock({ $0 }) else { throw CancellationError() }
        do {
            try await Self.onDisk(pool, clock) { [lock] in
                defer { withExtendedLifetime(lock) {} }
                try job()
            }
        } catch is CancellationError {
            isAbandoned.withLock { $0 = true }
            throw CancellationError()
        }
    }

    private static func onDisk<Value: Sendable>(
        _ pool: BlockingThreadPool, _ clock: any PulseClock, _ job: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        do {
            return try await pool.abandonableAfterGrace(clock, job)
        } catch let failure as TransferFailure {
            throw failure.asPulseError
        } catch let failure as JournalFailure {
            throw failure.asPulseError
        }
    }
}

extension JournalFailure {
    /// The failure to store what is known of a transfer, as the error of its call.
    var asPulseError: PulseError {
        switch self {
        // One block.
        case .noSpace: TransferFailure.noSpace(needed: 4096).asPulseError
        case .missing, .notPermitted, .readOnly: TransferFailure.unusableDestination.asPulseError
        default: .transport(.cannotWriteToFile, underlying: self)
        }
    }
}

extension StoredUpload {
    private static let prefix = "pulse-upload 2 "
    private static let limit = 64 << 10

    /// The text of the record, of which the first line tells the checksum of the others.
    fileprivate var bytes: [UInt8] {
        let text = "\(url.absoluteString)\n\(stamp.size)\n\(stamp.modified)\n\(account ?? "")"
        return Array("\(Self.prefix)\(Self.checksum(text))\n\(text)".utf8)
    }

    /// The upload in that file; nil if there is none, or none that can be read.
    fileprivate static func read(_ path: String, using disk: Disk) -> StoredUpload? {
        guard let file = try? SystemFile.open(path, O_RDONLY, using: disk) else { return nil }
        defer { _ = SystemFile.close(file) }
        return (try? SystemFile.read(file, from: 0, count: limit)).flatMap { StoredUpload(Data($0)) }
    }

    /// Nil if the record is damaged.
    fileprivate init?(_ bytes: Data) {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count == 5, lines[0] == Self.prefix + Self.checksum(lines[1...].joined(separator: "\n")),
            let url = URL(string: String(lines[1])), let size = Int64(lines[2]), let modified = Int64(lines[3])
        else { return nil }
        self.init(
            url: url, stamp: FileStamp(size: size, modified: modified),
            account: lines[4].isEmpty ? nil : String(lines[4]))
    }

    private static func checksum(_ text: String) -> String {
        String(Array(text.utf8).withUnsafeBytes { Checksum.of($0) }, radix: 16)
    }
}
