// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform

/// Stores bodies outside the journal, each in its own file: large ones, and those of files and streams. A file is on
/// the disk before the record that names it. It is deleted after the record that ends its entry. Safe from any thread.
struct BodyFiles: Sendable {
    /// The largest body in bytes that stays in the journal.
    static let limit = 64 << 10

    /// The file was deleted before the record that names it was written.
    struct Vanished: Error {}

    private let directory: URL
    private let disk: Disk
    /// Files of this process that no record names yet. Each is open and locked until then, so that no process takes it
    /// for a leftover of a crash.
    private let unnamed = Locked<[String: Int32]>([:])
    private let queue = BlockingThreadPool(count: 1)

    init(in directory: URL, disk: Disk) {
        self.directory = directory.appendingPathComponent("bodies", isDirectory: true)
        self.disk = disk
    }

    func url(_ name: String) -> URL {
        directory.appendingPathComponent(name, isDirectory: false)
    }

    var isEmpty: Bool { names().isEmpty }

    func exists(_ name: String) -> Bool {
        (try? SystemFile.status(url(name).path)) != nil
    }

    /// Writes all chunks, and returns once they are on the disk. Leaves no file after an error.
    func write(_ name: String, from chunks: @Sendable () async throws -> Data?) async throws {
        do {
            let file = try await queue.result { () -> Int32 in
                try SystemFile.makePrivateDirectory(directory.path, using: disk)
                let file = try SystemFile.openLocked(url(name).path, O_RDWR | O_CREAT | O_TRUNC, using: disk)
                unnamed.withLock { $0[name] = file }
                disk.protect(url(name).path)
                return file
            }
            try await fill(file, from: chunks)
        } catch {
            discard(name)
            throw PulseError(wrapping: error)
        }
    }

    func write(_ name: String, _ data: Data) async throws {
        let rest = Locked<Data?>(data)
        try await write(name) {
            rest.withLock { rest in
                defer { rest = nil }
                return rest
            }
        }
    }

    private func fill(_ file: Int32, from chunks: @Sendable () async throws -> Data?) async throws {
        var offset = 0
        while let chunk = try await chunks() {
            let (bytes, start) = ([UInt8](chunk), offset)
            try await queue.result { try SystemFile.write(bytes, to: file, at: start, using: disk) }
            offset += bytes.count
        }
        try await queue.result {
            guard disk.sync(file) == 0 else { throw JournalFailure("fdatasync") }
            try SystemFile.syncDirectory(directory.path, using: disk)
        }
    }

    /// Removes the file of an entry that was removed. A writer that still has the file open closes it.
    func remove(_ name: String) {
        unlink(url(name).path)
    }

    /// Removes a file of this process that no record will name.
    func discard(_ name: String) {
        remove(name)
        release(name)
    }

    /// Unlocks a file of this process, since a record names it now.
    func release(_ name: String) {
        if let file = unnamed.withLock({ $0.removeValue(forKey: name) }) { _ = SystemFile.close(file) }
    }

    /// Throws ``Vanished`` if the file does not exist.
    func check(_ name: String) throws {
        if !exists(name) { throw Vanished() }
    }

    /// Removes the files of all revisions of an entry.
    func removeAll(of id: UUID) {
        for name in names() where name.hasPrefix(id.uuidString) { remove(name) }
    }

    /// Removes files without an entry, which a crash between file and record leaves. A file that cannot be removed does
    /// not stop the sweep; the first ``JournalFailure`` is thrown.
    func sweep(keeping isLive: (UUID) -> Bool) throws {
        var failure: (any Error)?
        // Listed before the entries are checked: a file that is created in between is not among the names.
        let names = names()
        for name in names {
            if let id = UUID(uuidString: String(name.prefix(36))), isLive(id) { continue }
            do { try removeIfUnused(name) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }

    /// Removes a file, unless it is locked: then a process uses it.
    private func removeIfUnused(_ name: String) throws {
        do {
            let path = url(name).path
            guard let file = try SystemFile.tryOpenLocked(path, O_RDONLY, using: disk) else { return }
            defer { _ = SystemFile.close(file) }
            guard unlink(path) == 0 else { throw JournalFailure("unlink") }
        } catch JournalFailure.missing {
            // Another process removed it first.
        }
    }

    private func names() -> [String] {
        (try? SystemDirectory.names(in: directory.path)) ?? []
    }
}
