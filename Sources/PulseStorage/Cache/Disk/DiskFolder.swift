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
    let disk: Disk

    init(_ directory: URL, using disk: Disk) {
        path = directory.path + "/" + Self.version
        earlierPaths = Self.earlierVersions.map { directory.path + "/" + $0 }
        self.disk = disk
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
        case unreadable(JournalFailure)
        case response(DiskRecord, DiskFile)
    }

    func path(of name: DiskName, _ slot: Int) -> String {
        path + "/" + name.folder + "/" + name.file(slot)
    }

    func read(_ name: DiskName, _ slot: Int) -> Slot {
        do {
            let file = try DiskFile.open(path(of: name, slot), using: disk)
            return Self.record(in: file).map { .response($0, file) } ?? .damaged
        } catch {
            switch error {
            case .missing: return .empty
            // A link, a folder, or a socket.
            case .system(_, ELOOP), .system(_, ENXIO): return .damaged
            default: return .unreadable(error)
            }
        }
    }

    static func record(in file: DiskFile) -> DiskRecord? {
        let size = file.size
        guard size >= DiskRecord.footerSize else { return nil }
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
            if disk.rename(temporary, target) == 0 { return }
            // The written file itself may be gone, with the whole cache: then a new folder does not help.
            guard errno == ENOENT, access(temporary, F_OK) == 0 else { throw JournalFailure("rename") }
            do { try makeFolders(path + "/" + name.folder) } catch JournalFailure.missing {}
        }
        guard disk.rename(temporary, target) == 0 else { throw JournalFailure("rename") }
    }

    /// Creates a folder with its parents. A cache need not survive a power failure, so that nothing is synced.
    func makeFolders(_ path: String) throws {
        if access(self.path, F_OK) != 0 { try SystemFile.makeDirectory(self.path, syncsName: false, using: disk) }
        try SystemFile.makeDirectory(path, syncsName: false, isBackedUp: true, using: disk)
    }

    // MARK: Removing

    /// Removes every slot of a name, the last first, so that the remaining slots never have a gap. Returns their
    /// number. Throws if one remains.
    @discardableResult
    func remove(_ name: DiskName) throws -> Int {
        var count = 0
        for slot in (0..<DiskName.slotCount).reversed() where try SystemFile.remove(path(of: name, slot)) {
            count += 1
        }
        return count
    }

    /// Removes the files of earlier format versions: they take uncounted space, and may reveal user data.
    func removeEarlierVersions() throws {
        for path in earlierPaths where access(path, F_OK) == 0 { try FileManager.default.removeItem(atPath: path) }
    }

    /// Removes the empty folders of a partition, which would reveal the number of users.
    func removeEmptyFolders(of partition: DiskName.Half) {
        let partitionPath = path + "/" + partition.text
        for shard in (try? names(in: partitionPath)) ?? [] { rmdir(partitionPath + "/" + shard) }
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
                names = try self.names(in: path + "/" + partition.text)
            } catch JournalFailure.notPermitted {
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
            guard let status = try? SystemFile.status(path(of: name, slot), followsLinks: false), status.size < .max
            else { break }
            sizes.append(status.size)
        }
        return sizes
    }

    private func names(in path: String) throws -> [String] {
        try SystemDirectory.names(in: path, using: disk)
    }

    func partitions() throws -> [DiskName.Half] {
        try names(in: path).compactMap { DiskName.Half(hex: $0.utf8) }
    }

    /// Every cache file of a partition, or of one of its shards.
    func forEachFile(
        of partition: DiskName.Half, inShard only: String? = nil,
        _ body: (DiskName, _ slot: Int, SystemDirectory.Entry) throws -> Void
    ) throws {
        let partitionPath = path + "/" + partition.text
        for shard in try only.map({ [$0] }) ?? names(in: partitionPath) {
            try SystemDirectory.forEachName(in: partitionPath + "/" + shard, using: disk) { file in
                var slot = 0
                guard let name = DiskName(partition: partition, file: file.bytes, slot: &slot) else { return }
                try body(name, slot, file)
            }
        }
    }
}
