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

/// Stores background transfers. Methods throw ``JournalFailure``.
protocol BackgroundStorage: Sendable {
    /// Returns the undamaged entries, each with an outcome only if the file of that outcome exists.
    func load() throws -> [BackgroundEntry]
    /// Replaces the entry durably and atomically. The resume data of a failure is stored first.
    func save(_ entry: BackgroundEntry) throws
    func saveResumeData(_ data: Data, of id: String) throws
    func resumeData(of id: String) -> Data?
    /// Moves the content of a download from a file that is about to be removed.
    func takeContent(_ file: URL, of id: String) throws
    func hasContent(of id: String) -> Bool
    func content(of id: String) -> URL
    /// Removes all that is stored of a transfer.
    func remove(_ id: String)
}

/// A directory with a file for each entry, each content and each download's resume data.
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
            // A file that is unreadable before the first unlock must not count as damaged: its task would be cancelled.
            guard let content = try record(path + "/" + name).read(),
                var entry = try? JSONDecoder().decode(BackgroundEntry.self, from: content),
                name == entry.id + ".transfer"
            else { return nil }
            if case .response(_, body: nil) = entry.outcome, !hasContent(of: entry.id) { entry.outcome = nil }
            return entry
        }
    }

    private func record(_ path: String) -> SealedFile {
        SealedFile(path, format: BackgroundEntry.format, using: disk)
    }

    func save(_ entry: BackgroundEntry) throws {
        if case .failure(let failure) = entry.outcome, let data = failure.resumeData {
            try saveResumeData(data, of: entry.id)
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        try record(file(entry.id, "transfer")).write(encoder.encode(entry))
    }

    func saveResumeData(_ data: Data, of id: String) throws {
        try SystemFile.replace(file(id, "resume"), with: Array(data), using: disk)
    }

    func resumeData(of id: String) -> Data? {
        (try? SystemFile.contents(file(id, "resume"), using: disk)).map { Data($0) }
    }

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

    /// Copies the file from another volume.
    private func copy(_ file: URL, to target: String) throws {
        let next = SystemFile.next(target)
        _ = unlink(next)
        guard (try? FileManager.default.copyItem(atPath: file.path, toPath: next)) != nil else {
            throw JournalFailure("copy")
        }
        guard disk.rename(next, target) == 0 else { throw JournalFailure("rename") }
    }

    func remove(_ id: String) {
        // The entry first: content without an entry is harmless, an entry without content would be a lost download.
        for kind in ["transfer", "content", "resume"] {
            let path = file(id, kind)
            for path in [path, SystemFile.next(path)] { _ = unlink(path) }
        }
    }
}
