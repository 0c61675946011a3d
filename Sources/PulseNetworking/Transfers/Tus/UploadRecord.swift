// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform
import PulseStorage

/// An unfinished upload, as it is kept for a later call.
struct StoredUpload: Sendable, Equatable {
    let url: URL
    /// The version of its file.
    let stamp: FileStamp
    /// The digest of the account that has created it; nil if no plugin knew the account.
    let account: String?
}

/// The stored record of the unfinished upload of one file to one URL.
///
/// It is locked: two uploads at once, in any processes, would refuse each other's offsets. Throws ``PulseError`` with a
/// ``TransferFailure``.
///
/// A cancelled task soon stops waiting for a disk that hangs. From then on the record is not touched: the hanging job
/// keeps it locked until it ends. A record that it writes then is still valid: the server is queried for the offset.
struct UploadRecord: Sendable {
    private let record: SealedFile
    private let lock: FileLock
    private let clock: any PulseClock
    private let pool: BlockingThreadPool
    /// Whether a disk job was abandoned, which may still run.
    private let isAbandoned = Locked(false)
    /// The warning that others may write to the directory; nil if they may not.
    let warning: String?

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
        self.clock = clock
        pool = .files(in: directory)
        self.warning = warning
        record = SealedFile("\(directory)/\(name).upload", format: "pulse-upload 2", using: disk)
        lock = FileLock(path: record.path + ".lock", disk: disk)
    }

    /// Unlocks the record.
    func close() async {
        try? await onDisk { [record, lock] in
            // While the lock is held: afterwards the name may be that of another lock.
            try? FileManager.default.removeItem(atPath: record.path + ".lock")
            lock.close()
        }
    }

    /// Returns the upload; nil if there is none, if the record is damaged, or if the file has changed since.
    func read(for file: UploadedFile) async -> StoredUpload? {
        try? await pool.read { [record] () -> StoredUpload? in
            guard let upload = try record.read(limit: 64 << 10).flatMap(StoredUpload.init), upload.stamp == file.stamp
            else {
                return nil
            }
            return upload
        }
    }

    func write(_ upload: StoredUpload) async throws {
        try await onDisk { [record] in try record.write(upload.text.utf8) }
    }

    func remove() async {
        try? await onDisk { [record] in record.remove() }
    }

    /// The form in which the record names an account.
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
    /// The failure to store the state of a transfer, as the error of its call.
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
    /// The content of the record.
    fileprivate var text: String {
        "\(url.absoluteString)\n\(stamp.size)\n\(stamp.modified)\n\(account ?? "")"
    }

    fileprivate init?(_ text: Data) {
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count == 4, let url = URL(string: String(lines[0])), let size = Int64(lines[1]),
            let modified = Int64(lines[2])
        else { return nil }
        self.init(
            url: url, stamp: FileStamp(size: size, modified: modified),
            account: lines[3].isEmpty ? nil : String(lines[3]))
    }
}
