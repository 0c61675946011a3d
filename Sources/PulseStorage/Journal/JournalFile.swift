// SPDX-License-Identifier: MIT

import PulseCore

/// The file of a ``FileJournal``. Not thread-safe: only the journal's worker uses it.
///
/// It tracks where the last line ends. Before each change, it reads the lines that other processes have appended.
final class JournalFile {
    private let url: URL
    private let path: String
    private let directory: String
    private let disk: Disk
    private let lock: FileLock
    private let apply: @Sendable (JournalChange) -> Void
    private var descriptor: Int32 = -1
    private var identity: SystemFile.Identity?
    /// The offset of the next line.
    private(set) var end = 0
    /// The offset up to which the file is filled with zeros after `end`.
    private var allocated = 0
    private var lacksBreak = false
    /// Whether the content of the file is no longer known.
    private var mustReload = false
    /// Whether the file was unlinked. The descriptor still refers to its bytes.
    private var isOrphaned = false
    /// Whether the next ``exclusively(_:)`` already has the lock.
    private var holdsLock = false

    init(_ url: URL, disk: Disk, apply: @escaping @Sendable (JournalChange) -> Void) {
        self.url = url
        path = url.path
        directory = url.deletingLastPathComponent().path
        self.disk = disk
        self.apply = apply
        lock = FileLock(path: url.appendingPathExtension("lock").path, disk: disk)
    }

    deinit {
        close()
    }

    func close() {
        if descriptor >= 0 { _ = SystemFile.close(descriptor) }
        descriptor = -1
        identity = nil
        lock.close()
    }

    /// Acquires the lock for the next ``exclusively(_:)``. Returns false if that would have to wait for other
    /// processes, or to read the file again.
    func lockIfFree() -> Bool {
        guard descriptor >= 0, !isOrphaned, !mustReload, (try? lock.tryAcquire()) == true else { return false }
        let status = try? SystemFile.status(path)
        holdsLock = status?.identity == identity && status?.size == allocated
        if !holdsLock { lock.release() }
        return holdsLock
    }

    /// Applies everything in the file, then runs `body` while no other process changes the file.
    func exclusively<Result>(_ body: () throws -> Result) throws -> Result {
        if !holdsLock { try acquireLock() }
        defer {
            holdsLock = false
            lock.release()
        }
        try catchUp()
        return try body()
    }

    private func acquireLock() throws {
        if descriptor < 0 || isOrphaned { try SystemFile.makePrivateDirectory(directory, using: disk) }
        do {
            try lock.acquire()
        } catch let failure as JournalFailure {
            // The directory was deleted with its files. Only the descriptor still gives access to the content.
            if failure == .missing, descriptor >= 0 { isOrphaned = true }
            throw failure
        }
    }

    // MARK: Reading

    private func catchUp() throws {
        guard descriptor >= 0 else { return try reload() }
        guard let status = try SystemFile.status(path) else {
            guard isOrphaned else {
                isOrphaned = true
                throw JournalFailure.missing
            }
            return try restore()
        }
        isOrphaned = false
        if status.identity != identity || status.size < end || mustReload { return try reload() }
        allocated = status.size
        guard status.size > end, try SystemFile.read(descriptor, from: end, count: 1) != [0] else { return }
        try readTail(status.size)
    }

    /// Reads the lines that other processes have appended.
    private func readTail(_ size: Int) throws {
        let bytes = try SystemFile.read(descriptor, from: end, count: size - end)
        // A line break that an earlier record lacked comes first.
        let skipped = lacksBreak && bytes.first == UInt8(ascii: "\n") ? 1 : 0
        let scanner = bytes.withUnsafeBytes {
            JournalScanner(UnsafeRawBufferPointer(rebasing: $0[skipped...]), base: end + skipped)
        }
        guard scanner.damaged.isEmpty else { return try reload() }
        if scanner.tornCount > 0 { try truncate(to: scanner.end) }
        end = scanner.end
        lacksBreak = scanner.items.isEmpty && skipped == 0 ? lacksBreak : scanner.lacksBreak
        if !scanner.items.isEmpty { apply(.appended(scanner.items)) }
    }

    private func reload() throws {
        if descriptor >= 0 { _ = SystemFile.close(descriptor) }
        descriptor = -1
        // A crash may have left a copy of the journal's content.
        unlink(newPath)
        if try SystemFile.status(path) == nil { try replace { $0 += JournalHeader.line } }
        descriptor = try SystemFile.open(path, O_RDWR, using: disk)
        do {
            try readAll()
            mustReload = false
        } catch {
            if descriptor >= 0 { _ = SystemFile.close(descriptor) }
            descriptor = -1
            throw error
        }
    }

    private func readAll() throws {
        let status = try SystemFile.status(descriptor)
        let bytes = try SystemFile.read(descriptor, from: 0, count: status.size)
        let (scanner, damaged) = try bytes.withUnsafeBytes { bytes -> (JournalScanner, [Range<Int>]) in
            let start: Int
            var damaged: [Range<Int>] = []
            switch JournalHeader.find(in: bytes) {
            case .newer(let version): throw JournalFailure.newerVersion(version)
            case .intact(let end): start = end
            case .torn: return (JournalScanner(UnsafeRawBufferPointer(rebasing: bytes[..<0]), base: 0), [0..<0])
            case .damaged(let end):
                start = end
                damaged.append(0..<end)
            }
            let scanner = JournalScanner(UnsafeRawBufferPointer(rebasing: bytes[start...]), base: start)
            return (scanner, damaged + scanner.damaged)
        }
        guard damaged.isEmpty else { return try repair(bytes, scanner, damaged) }
        identity = status.identity
        allocated = status.size
        end = scanner.end
        lacksBreak = scanner.lacksBreak
        if scanner.tornCount > 0 { try truncate(to: end) }
        apply(.reset(scanner.items))
    }

    /// Moves damaged parts to a file beside the journal, and rewrites the journal from the rest.
    private func repair(_ bytes: [UInt8], _ scanner: JournalScanner, _ damaged: [Range<Int>]) throws {
        let pieces = damaged.filter { !$0.isEmpty }
        if !pieces.isEmpty {
            let kept = try setAside(pieces.map { bytes[$0] })
            apply(.damaged(bytes: pieces.reduce(0) { $0 + $1.count }, kept: kept))
        }
        try replace { file in
            file += JournalHeader.line
            for item in scanner.items {
                file += bytes[item.location.offset..<item.location.offset + item.location.length]
                file.append(UInt8(ascii: "\n"))
            }
        }
        _ = SystemFile.close(descriptor)
        // Cleared at once: the descriptor number may belong to another file by now.
        descriptor = -1
        descriptor = try SystemFile.open(path, O_RDWR, using: disk)
        try readAll()
    }

    /// The limit in bytes for stored damaged lines, so that a bad disk does not fill itself.
    private static let asideLimit = 1 << 20

    private var newPath: String { url.appendingPathExtension("new").path }
    private var asidePath: String { url.appendingPathExtension("damaged").path }

    /// Deletes the file of damaged lines. Call it inside ``exclusively(_:)`` only.
    func discardDamaged() throws {
        try SystemFile.remove(asidePath)
    }

    /// Stores damaged lines beside the journal, and returns the number of bytes stored.
    private func setAside(_ pieces: [ArraySlice<UInt8>]) throws -> Int {
        let (aside, status) = try SystemFile.openWithStatus(asidePath, O_RDWR | O_CREAT, using: disk)
        disk.protect(asidePath)
        defer { _ = SystemFile.close(aside) }
        var size = status.size
        var kept = 0
        for piece in pieces where size + piece.count < Self.asideLimit {
            let line = Array(piece) + (piece.last == UInt8(ascii: "\n") ? [] : [UInt8(ascii: "\n")])
            try SystemFile.write(line, to: aside, at: size, using: disk)
            size += line.count
            kept += piece.count
        }
        guard disk.sync(aside) == 0 else { throw JournalFailure("fdatasync") }
        return kept
    }

    /// The record at a location passed to ``apply``; nil if no intact record is there.
    func record(at location: JournalLocation) throws -> JournalRecord? {
        let bytes = try SystemFile.read(descriptor, from: location.offset, count: location.length)
        let scanner = bytes.withUnsafeBytes { JournalScanner($0, base: location.offset) }
        guard let item = scanner.items.first, item.location == location else { return nil }
        var spaces = 0
        let start = bytes.firstIndex { byte in
            if byte == UInt8(ascii: " ") { spaces += 1 }
            return spaces == 6
        }
        return JournalRecord(item, payload: start.map { Data(bytes[($0 + 1)...]) } ?? Data())
    }

    // MARK: Writing

    /// Reserves zeros after the lines, since the sync of a file that does not grow needs no metadata.
    private func reserve(behind size: Int) -> Int {
        let step = size < 1 << 20 ? 64 << 10 : 1 << 20
        return (size + step - 1) / step * step
    }

    /// Appends whole lines, returns once they are on the disk, and passes them to ``apply``. After an error, none of
    /// them remains. Call it inside ``exclusively(_:)`` only.
    func append(_ lines: JournalBatch) throws {
        let start = end
        let bytes = lacksBreak ? [UInt8(ascii: "\n")] + lines.bytes : lines.bytes
        let newEnd = start + bytes.count
        do {
            if newEnd <= allocated {
                try SystemFile.write(bytes, to: descriptor, at: start, using: disk)
            } else {
                try grow(with: bytes, at: start)
            }
            guard disk.sync(descriptor) == 0 else {
                // The content on the disk is unknown: the kernel marks the failed pages as clean.
                let failure = JournalFailure("fdatasync")
                mustReload = true
                throw failure
            }
        } catch {
            do { try truncate(to: start) } catch { mustReload = true }
            throw error
        }
        end = newEnd
        lacksBreak = false
        apply(.appended(lines.items(from: newEnd - lines.bytes.count)))
    }

    private func grow(with bytes: [UInt8], at start: Int) throws {
        let size = reserve(behind: start + bytes.count)
        do {
            let zeros = [UInt8](repeating: 0, count: size - start - bytes.count)
            try SystemFile.write(bytes + zeros, to: descriptor, at: start, using: disk)
            allocated = size
        } catch JournalFailure.noSpace {
            // Without the zeros there may be room for the lines.
            try truncate(to: start)
            try SystemFile.write(bytes, to: descriptor, at: start, using: disk)
            allocated = start + bytes.count
        }
    }

    /// Truncates the file, which needs no space.
    private func truncate(to size: Int) throws {
        guard ftruncate(descriptor, off_t(size)) == 0 else { throw JournalFailure("ftruncate") }
        allocated = size
    }

    /// Rewrites the file from `contents`. Call it inside ``exclusively(_:)`` only.
    func compact(_ contents: [JournalContent]) throws {
        try replace { file in
            file += JournalHeader.line
            for content in contents {
                switch content {
                case .record(let record):
                    try record.write(to: &file)
                case .changed(let location, let operation, let expiry):
                    if let record = try record(at: location) {
                        try record.with(operation: operation, expiry: expiry).write(to: &file)
                    } else {
                        // Copied unread: it is treated as damaged when the new file is read.
                        try copy(location, to: &file)
                    }
                case .copy(let location):
                    try copy(location, to: &file)
                }
            }
        }
        try reload()
    }

    private func copy(_ location: JournalLocation, to file: inout [UInt8]) throws {
        file += try SystemFile.read(descriptor, from: location.offset, count: location.length)
        file.append(UInt8(ascii: "\n"))
    }

    /// Writes the content to a new file, after the directory was deleted.
    private func restore() throws {
        let bytes = try SystemFile.read(descriptor, from: 0, count: end)
        try replace { $0 += bytes }
        isOrphaned = false
        try reload()
    }

    /// Replaces the file atomically: a crash leaves the old or the new one.
    private func replace(_ fill: (inout [UInt8]) throws -> Void) throws {
        var bytes: [UInt8] = []
        try fill(&bytes)
        try SystemFile.replace(path, with: bytes, by: newPath, using: disk)
    }
}
