// SPDX-License-Identifier: MIT

import PulseCore

/// Bodies that are too large for a line of the journal, in a file each. A file is on the disk before the record that
/// names it, and goes after the record that ends its entry. Safe from any thread.
struct SideFiles: Sendable {
    /// The bytes of a body above which it goes to a file.
    static let limit = 64 << 10

    /// The file went before the record that names it was written.
    struct Vanished: Error {}

    private let directory: URL
    private let disk: Disk
    /// Files written by this process that no record names yet. Each is open and locked until then, so that no process
    /// takes it for a leftover of a crash.
    private let unnamed = Locked<[String: Int32]>([:])
    private let queue = DispatchQueue(label: "com.pulse.side-files")

    init(in directory: URL, disk: Disk) {
        self.directory = directory.appendingPathComponent("bodies", isDirectory: true)
        self.disk = disk
    }

    func url(_ name: String) -> URL {
        directory.appendingPathComponent(name, isDirectory: false)
    }

    var isEmpty: Bool { names().isEmpty }

    func exists(_ name: String) -> Bool {
        ((try? SystemFile.status(url(name).path)) ?? nil) != nil
    }

    /// Writes all that the source gives, and returns once it is on the disk. Leaves no file after an error.
    func write(_ name: String, from chunks: @Sendable () async throws -> Data?) async throws {
        do {
            let file = try await perform { () -> Int32 in
                try SystemFile.makeDirectory(directory.path, using: disk)
                let file = try SystemFile.openLocked(url(name).path, O_RDWR | O_CREAT | O_TRUNC, using: disk)
                unnamed.withLock { $0[name] = file }
                FileProtection.apply(to: url(name).path)
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
            try await perform { try SystemFile.write(bytes, to: file, at: start, using: disk) }
            offset += bytes.count
        }
        try await perform {
            guard disk.sync(file) == 0 else { throw JournalFailure("fdatasync") }
            try SystemFile.syncDirectory(directory.path, using: disk)
        }
    }

    /// Removes the file of an entry that has gone. A writer that still has it open closes it.
    func remove(_ name: String) {
        unlink(url(name).path)
    }

    /// Removes a file that this process has written, and that no record will name.
    func discard(_ name: String) {
        remove(name)
        letGo(name)
    }

    /// Unlocks a file that this process has written, since a record names it now.
    func letGo(_ name: String) {
        if let file = unnamed.withLock({ $0.removeValue(forKey: name) }) { _ = SystemFile.close(file) }
    }

    /// Throws ``Vanished`` if the file is gone.
    func check(_ name: String) throws {
        if !exists(name) { throw Vanished() }
    }

    /// Removes the files of an entry, of all its revisions.
    func removeAll(of id: UUID) {
        for name in names() where name.hasPrefix(id.uuidString) { remove(name) }
    }

    /// Removes files without an entry, which a crash between file and record leaves. One that cannot be removed keeps
    /// no other from it; the first ``JournalFailure`` is thrown.
    func sweep(keeping isLive: (UUID) -> Bool) throws {
        var failure: (any Error)?
        // Listed before the names are asked for: a file that comes in between is not among them.
        let names = names()
        for name in names {
            if let id = UUID(uuidString: String(name.prefix(36))), isLive(id) { continue }
            do { try removeIfUnused(name) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }

    /// A file that can be locked is no longer in use, by this process or another.
    private func removeIfUnused(_ name: String) throws {
        do {
            let path = url(name).path
            guard let file = try SystemFile.tryOpenLocked(path, O_RDONLY, using: disk) else { return }
            defer { _ = SystemFile.close(file) }
            guard unlink(path) == 0 else { throw JournalFailure("unlink") }
        } catch JournalFailure.missing {
            // Somebody else was quicker.
        }
    }

    private func names() -> [String] {
        guard ((try? SystemFile.status(directory.path)) ?? nil) != nil else { return [] }
        return (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
    }

    private func perform<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try body() }) }
        }
    }
}
