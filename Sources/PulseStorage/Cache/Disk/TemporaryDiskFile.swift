// SPDX-License-Identifier: MIT

import PulseCore

/// A file that is being written under a temporary name until it is complete. If it is released before that, the file is
/// deleted.
final class TemporaryDiskFile: Sendable {
    /// The names of files that this process is writing, which a scan must not remove.
    private static let inProgress = Locked<Set<String>>([])

    let path: String
    private let name: String
    private let file: DiskFile
    private let state = Locked((checksum: CacheChecksum(), count: 0, isPlaced: false))
    private let refuses: (@Sendable (_ bytes: Int) -> Int32?)?

    /// - Parameter refuses: for tests: the error code to fail with at that number of bytes.
    init(in folder: DiskFolder, refuses: (@Sendable (_ bytes: Int) -> Int32?)? = nil) throws {
        self.refuses = refuses
        name = "\(getpid())-\(SystemRandomness().next().hex)"
        path = folder.temporaryPath + "/" + name
        Self.inProgress.withLock { [name] in _ = $0.insert(name) }
        do {
            file = try Self.create(path, in: folder)
        } catch {
            Self.inProgress.withLock { [name] in _ = $0.remove(name) }
            throw error
        }
    }

    private static func create(_ path: String, in folder: DiskFolder) throws -> DiskFile {
        do {
            return try DiskFile.creating(path)
        } catch let failure as DiskFailure where failure.code == ENOENT {
            try folder.makeFolders(folder.temporaryPath)
            return try DiskFile.creating(path)
        }
    }

    deinit {
        if !state.withLock({ $0.isPlaced }) { unlink(path) }
        Self.inProgress.withLock { _ = $0.remove(name) }
    }

    /// The number of body bytes so far.
    var count: Int { state.withLock { $0.count } }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        if let code = refuses?(count + bytes.count) { throw DiskFailure(code: code) }
        try file.append(bytes)
        state.withLock { state in
            state.checksum.update(bytes)
            state.count += bytes.count
        }
    }

    /// Writes head and footer after the body, and returns the size of the file.
    func finish(_ key: CacheKey, _ head: CachedResponse.Head) throws -> Int {
        let (checksum, count) = state.withLock { ($0.checksum.value, $0.count) }
        let record = DiskRecord(key: key, head: head, bodyLength: count, bodyChecksum: checksum).encoded()
        if let code = refuses?(count + record.count) { throw DiskFailure(code: code) }
        try record.withUnsafeBytes { try file.append($0) }
        return count + record.count
    }

    /// Renames the file to its final name.
    func place(as name: DiskName, _ slot: Int, in folder: DiskFolder) throws {
        try folder.place(path, as: name, slot)
        state.withLock { $0.isPlaced = true }
    }

    /// Removes the temporary files of killed processes.
    static func removeLeftovers(in folder: DiskFolder) throws {
        // Listed before `inProgress` is read: a file that is created in between is not among the listed names.
        let names = try DiskDirectory.names(in: folder.temporaryPath)
        let own = inProgress.withLock { $0 }
        for name in names {
            let owner = name.split(separator: "-").first.flatMap { Int32($0) } ?? 0
            let isAlive = owner == getpid() ? own.contains(name) : owner > 0 && (kill(owner, 0) == 0 || errno == EPERM)
            if !isAlive { unlink(folder.temporaryPath + "/" + name) }
        }
    }
}
