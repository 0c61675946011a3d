// SPDX-License-Identifier: MIT

import PulseCore

/// A file that is being written under a temporary name until it is complete. If it is released before that, the file is
/// deleted.
final class TemporaryDiskFile: Sendable {
    /// The names of files that this process is writing, which a scan must not remove.
    private static let inProgress = Locked<Set<String>>([])

    let path: String
    private let name: String
    private let folder: DiskFolder
    private let descriptor: Int32
    private let state = Locked((checksum: CacheChecksum(), count: 0, isPlaced: false))

    init(in folder: DiskFolder) throws {
        self.folder = folder
        name = "\(getpid())-\(SystemRandomness().next().hex)"
        path = folder.temporaryPath + "/" + name
        Self.inProgress.withLock { [name] in _ = $0.insert(name) }
        do {
            descriptor = try Self.create(path, in: folder)
        } catch {
            Self.inProgress.withLock { [name] in _ = $0.remove(name) }
            throw error
        }
    }

    private static func create(_ path: String, in folder: DiskFolder) throws -> Int32 {
        let flags = O_WRONLY | O_CREAT | O_EXCL
        do {
            return try SystemFile.open(path, flags, using: folder.disk)
        } catch JournalFailure.missing {
            try folder.makeFolders(folder.temporaryPath)
            return try SystemFile.open(path, flags, using: folder.disk)
        }
    }

    deinit {
        _ = SystemFile.close(descriptor)
        if !state.withLock({ $0.isPlaced }) { unlink(path) }
        Self.inProgress.withLock { _ = $0.remove(name) }
    }

    /// The number of body bytes so far.
    var count: Int { state.withLock { $0.count } }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        try SystemFile.write(bytes, to: descriptor, at: Int64(count), using: folder.disk)
        state.withLock { state in
            state.checksum.update(bytes)
            state.count += bytes.count
        }
    }

    /// Writes head and footer after the body, and returns the size of the file.
    func finish(_ key: CacheKey, _ head: CachedResponse.Head) throws -> Int {
        let (checksum, count) = state.withLock { ($0.checksum.value, $0.count) }
        let record = DiskRecord(key: key, head: head, bodyLength: count, bodyChecksum: checksum).encoded()
        try SystemFile.write(record, to: descriptor, at: count, using: folder.disk)
        return count + record.count
    }

    /// Renames the file to its final name.
    func place(as name: DiskName, _ slot: Int) throws {
        try folder.place(path, as: name, slot)
        state.withLock { $0.isPlaced = true }
    }

    /// Removes the temporary files of killed processes.
    static func removeLeftovers(in folder: DiskFolder) throws {
        // Listed before `inProgress` is read: a file that is created in between is not among the listed names.
        let names = try SystemDirectory.names(in: folder.temporaryPath, using: folder.disk)
        let own = inProgress.withLock { $0 }
        for name in names {
            let owner = name.split(separator: "-").first.flatMap { Int32($0) } ?? 0
            let isAlive = owner == getpid() ? own.contains(name) : owner > 0 && (kill(owner, 0) == 0 || errno == EPERM)
            if !isAlive { unlink(folder.temporaryPath + "/" + name) }
        }
    }
}
