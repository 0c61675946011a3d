// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage
import PulseTransports

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Where background transfers are stored. Methods throw ``JournalFailure``.
protocol BackgroundStorage: Sendable {
    /// The entries that can be read, each with an outcome only if the file that belongs to it is there.
    func load() throws -> [BackgroundEntry]
    /// Replaces the entry durably, at once. A failure's resume data is stored before.
    func save(_ entry: BackgroundEntry) throws
    func saveResumeData(_ data: Data, of id: String) throws
    func resumeData(of id: String) -> Data?
    /// Takes the content of a download: a file that is about to be removed.
    func takeContent(_ file: URL, of id: String) throws
    func hasContent(of id: String) -> Bool
    func content(of id: String) -> URL
    /// Removes all that is stored of a transfer.
    func remove(_ id: String)
}

/// A directory with a file for each entry, each content and what a download may be resumed with.
struct BackgroundDirectory: BackgroundStorage {
    let path: String
    var disk = Disk.system

    private func file(_ id: String, _ kind: String) -> String { "\(path)/\(id).\(kind)" }

    func load() throws -> [BackgroundEntry] {
        try SystemFile.makeDirectory(path, using: disk)
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
            throw JournalFailure.missing
        }
        return try names.sorted().compactMap { name in
            guard name.hasSuffix(".transfer") else { return nil }
            // A file that cannot be read now, before the first unlock for example, is not a damaged one: its task would
            // be cancelled.
            guard var entry = BackgroundEntry(try read(path + "/" + name)), name == entry.id + ".transfer" else {
                return nil
            }
            if case .response(_, body: nil) = entry.outcome, !hasContent(of: entry.id) { entry.outcome = nil }
            return entry
        }
    }

    private func read(_ path: String) throws -> [UInt8] {
        let file = try SystemFile.open(path, O_RDONLY, using: disk)
        defer { _ = SystemFile.close(file) }
        return try SystemFile.read(file, from: 0, count: try SystemFile.status(file).size)
    }

    func save(_ entry: BackgroundEntry) throws {
        if case .failure(let failure) = entry.outcome, let data = failure.resumeData {
            try saveResumeData(data, of: entry.id)
        }
        try replace(file(entry.id, "transfer"), with: Data(entry.bytes))
    }

    func saveResumeData(_ data: Data, of id: String) throws {
        try replace(file(id, "resume"), with: data)
    }

    private func replace(_ path: String, with data: Data) throws {
        let next = path + "-new"
        let file = try SystemFile.create(next, using: disk)
        defer { _ = SystemFile.close(file) }
        try data.withUnsafeBytes { try SystemFile.write($0, to: file, at: 0, using: disk) }
        guard disk.sync(file) == 0 else { throw JournalFailure("fsync") }
        guard disk.rename(next, path) == 0 else { throw JournalFailure("rename") }
        try SystemFile.syncDirectory(self.path, using: disk)
    }

    func resumeData(of id: String) -> Data? { FileManager.default.contents(atPath: file(id, "resume")) }

    func content(of id: String) -> URL { URL(fileURLWithPath: file(id, "content"), isDirectory: false) }

    func hasContent(of id: String) -> Bool { (try? SystemFile.status(file(id, "content"))) != nil }

    func takeContent(_ file: URL, of id: String) throws {
        let target = self.file(id, "content")
        if disk.rename(file.path, target) != 0 {
            guard errno == EXDEV else { throw JournalFailure("rename") }
            try copy(file, to: target)
        }
        let content = try SystemFile.open(target, O_RDWR, using: disk)
        defer { _ = SystemFile.close(content) }
        guard disk.sync(content) == 0 else { throw JournalFailure("fsync") }
        try SystemFile.syncDirectory(path, using: disk)
    }

    /// From another volume.
    private func copy(_ file: URL, to target: String) throws {
        let next = target + "-new"
        _ = unlink(next)
        guard (try? FileManager.default.copyItem(atPath: file.path, toPath: next)) != nil else {
            throw JournalFailure("copy")
        }
        guard disk.rename(next, target) == 0 else { throw JournalFailure("rename") }
    }

    func remove(_ id: String) {
        // The entry first: content without an entry is nothing, an entry without content would be a lost download.
        for kind in ["transfer", "content", "resume", "transfer-new", "content-new", "resume-new"] {
            _ = unlink(file(id, kind))
        }
    }
}
