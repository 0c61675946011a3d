// SPDX-License-Identifier: MIT

import PulseCore

/// The files of a disk cache. Every step is safe while other processes use the folder: a file is complete when it gets
/// its final name, and never changes afterwards.
struct DiskFolder: Sendable {
    /// The folder of this version of the format.
    private static let version = "v2"
    /// The folders of earlier versions, which are no longer read.
    private static let earlierVersions = ["v1"]
    /// The number of bytes at the end of a file that are read first: enough for head and footer of most files.
    private static let tailSize = 4 << 10
    /// The largest body in bytes that is read together with its head.
    static let smallBody = 256 << 10

    let path: String
    private let earlierPaths: [String]
    private let refusesToOpen: (@Sendable () -> Int32?)?
    private let protect: @Sendable (String) -> Void

    /// - Parameter refusesToOpen: for tests: the error code of a file that must not be opened.
    /// - Parameter protect: applies file protection to the folder.
    init(
        _ directory: URL, refusesToOpen: (@Sendable () -> Int32?)? = nil,
        protect: @escaping @Sendable (String) -> Void = { FileProtection.apply(to: $0) }
    ) {
        path = directory.path + "/" + Self.version
        earlierPaths = Self.earlierVersions.map { directory.path + "/" + $0 }
        self.refusesToOpen = refusesToOpen
        self.protect = protect
    }

    var temporaryPath: String { path + "/tmp" }

    /// See ``SystemFile/exposureWarning(_:of:)``.
    var exposureWarning: String? {
        [(path as NSString).deletingLastPathComponent, path].lazy
            .compactMap { SystemFile.exposureWarning($0, of: "the cache") }.first
    }

    // MARK: Reading

    /// The content of a slot.
    enum Slot: Sendable {
        case empty
        /// The file is not an intact record.
        case damaged
        /// The system currently refuses to open the file; the file itself may be intact.
        case unreadable(DiskFailure)
        case response(DiskRecord, DiskFile)
    }

    func path(of name: DiskName, _ slot: Int) -> String {
        path + "/" + name.folder + "/" + name.file(slot)
    }

    func read(_ name: DiskName, _ slot: Int) -> Slot {
        let refusal = refusesToOpen?()
        guard refusal == nil, let file = DiskFile.reading(path(of: name, slot)) else {
            let code = refusal ?? errno
            switch code {
            case ENOENT: return .empty
            // A link, a socket, or a file in place of a folder.
            case ELOOP, ENXIO, ENOTDIR: return .damaged
            default: return .unreadable(DiskFailure(code: code))
            }
        }
        guard let record = Self.record(in: file) else { return .damaged }
        return .response(record, file)
    }

    static func record(in file: DiskFile) -> DiskRecord? {
        guard let size = file.size, size >= DiskRecord.footerSize else { return nil }
        var tail = [UInt8](repeating: 0, count: min(size, tailSize))
        let isRead = tail.withUnsafeMutableBytes { file.read(into: $0, at: size - $0.count) }
        let lengths = tail.withUnsafeBytes { tail in
            DiskRecord.Lengths(
                footer: UnsafeRawBufferPointer(rebasing: tail[(tail.count - DiskRecord.footerSize)...]), fileSize: size)
        }
        guard isRead, let lengths else { return nil }
        let needed = lengths.head + DiskRecord.footerSize
        if needed > tail.count {
            tail = [UInt8](repeating: 0, count: needed)
            guard tail.withUnsafeMutableBytes({ file.read(into: $0, at: size - needed) }) else { return nil }
        }
        return tail.withUnsafeBytes { tail in
            let record = DiskRecord(UnsafeRawBufferPointer(rebasing: tail[(tail.count - needed)...]))
            return record?.bodyLength == lengths.body ? record : nil
        }
    }

    // MARK: Moving into place

    /// Renames a complete file to its final name. Missing folders are created.
    func place(_ temporary: String, as name: DiskName, _ slot: Int) throws {
        let target = path(of: name, slot)
        // Other processes may remove an empty folder in between: this one, or its parent.
        for _ in 0..<10_000 {
            if rename(temporary, target) == 0 { return }
            // The written file itself may be gone, with the whole cache: then a new folder does not help.
            guard errno == ENOENT, access(temporary, F_OK) == 0 else { throw DiskFailure() }
            do {
                try makeFolders(path + "/" + name.folder)
            } catch let failure as DiskFailure where failure.code == ENOENT {
                continue
            }
        }
        guard rename(temporary, target) == 0 else { throw DiskFailure() }
    }

    func makeFolders(_ path: String) throws {
        if access(self.path, F_OK) != 0 {
            try makeFolder(self.path)
            // Protected before anything is in it: files created in it later inherit the protection.
            protect(self.path)
        }
        try makeFolder(path)
    }

    private func makeFolder(_ path: String) throws {
        if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
        guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex else { throw DiskFailure() }
        try makeFolder(String(path[..<slash]))
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw DiskFailure() }
    }

    // MARK: Removing

    /// Removes every slot of a name, the last first, so that the remaining slots never have a gap. Returns their
    /// number. Throws if one remains.
    @discardableResult
    func remove(_ name: DiskName) throws -> Int {
        var count = 0
        for slot in (0..<DiskName.slotCount).reversed() where try remove(path(of: name, slot)) { count += 1 }
        return count
    }

    /// Removes the files of earlier format versions: they take uncounted space, and may reveal user data.
    func removeEarlierVersions() throws {
        for path in earlierPaths where access(path, F_OK) == 0 { try FileManager.default.removeItem(atPath: path) }
    }

    /// Removes a file; returns false if it did not exist.
    func remove(_ path: String) throws -> Bool {
        if unlink(path) == 0 { return true }
        guard errno == ENOENT || errno == ENOTDIR else { throw DiskFailure() }
        return false
    }

    /// Removes the empty folders of a partition, which would reveal the number of users.
    func removeEmptyFolders(of partition: DiskName.Half) {
        let partitionPath = path + "/" + partition.text
        for shard in (try? DiskDirectory.names(in: partitionPath)) ?? [] { rmdir(partitionPath + "/" + shard) }
        rmdir(partitionPath)
    }

    /// Removes an empty shard folder, and the partition's folder if that was its last shard.
    func removeEmptyFolder(_ shard: String, of partition: DiskName.Half) {
        let partitionPath = path + "/" + partition.text
        if rmdir(partitionPath + "/" + shard) == 0 { rmdir(partitionPath) }
    }

    // MARK: Scanning

    /// All shards of all partitions, except those of another user.
    func shards() throws -> [(partition: DiskName.Half, shard: String)] {
        try partitions().flatMap { partition -> [(partition: DiskName.Half, shard: String)] in
            let names: [String]
            do {
                names = try DiskDirectory.names(in: path + "/" + partition.text)
            } catch let failure as DiskFailure where failure.isRefusal {
                return []
            }
            // Only if it is still empty: another process may be creating its first shard.
            if names.isEmpty { rmdir(path + "/" + partition.text) }
            return names.map { (partition, $0) }
        }
    }

    /// The sizes of a name's files, from slot 0 to the last one before a gap.
    func sizes(of name: DiskName) -> [Int] {
        var sizes: [Int] = []
        for slot in 0..<DiskName.slotCount {
            var status = stat()
            guard lstat(path(of: name, slot), &status) == 0, let size = Int(exactly: status.st_size) else { break }
            sizes.append(size)
        }
        return sizes
    }

    func partitions() throws -> [DiskName.Half] {
        try DiskDirectory.names(in: path).compactMap { DiskName.Half(hex: $0.utf8) }
    }

    /// Every cache file of a partition, or of one of its shards.
    func forEachFile(
        of partition: DiskName.Half, inShard only: String? = nil,
        _ body: (DiskName, _ slot: Int, DiskDirectory.Entry, DiskDirectory) throws -> Void
    ) throws {
        let partitionPath = path + "/" + partition.text
        for shard in try only.map({ [$0] }) ?? DiskDirectory.names(in: partitionPath) {
            try DiskDirectory.forEachName(in: partitionPath + "/" + shard) { file, directory in
                var slot = 0
                guard let name = DiskName(partition: partition, file: file.bytes, slot: &slot) else { return }
                try body(name, slot, file, directory)
            }
        }
    }
}
