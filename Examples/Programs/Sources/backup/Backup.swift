// SPDX-License-Identifier: MIT

import PulseKit

/// A file as the server lists it, by its path in the folder. Size and time tell whether it has changed.
struct StoredFile: Codable, Hashable, Sendable {
    let name: String
    let size: Int
    /// Seconds since 1970.
    let modified: Int

    /// The files of a folder, without hidden ones: those are also the unfinished transfers.
    static func all(in folder: URL) throws -> [StoredFile] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { !isHidden($0) }
        return try names.sorted().compactMap { name -> StoredFile? in
            let path = folder.appendingPathComponent(name).path
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            guard attributes[.type] as? FileAttributeType == .typeRegular,
                let size = attributes[.size] as? Int, let date = attributes[.modificationDate] as? Date
            else { return nil }
            return StoredFile(name: name, size: size, modified: Int(date.timeIntervalSince1970.rounded(.down)))
        }
    }

    /// Whether a part of the path begins with a dot, as those of unfinished transfers do, and `..`.
    static func isHidden(_ name: String) -> Bool {
        name.split(separator: "/").contains { $0.hasPrefix(".") }
    }
}

/// The folder of one machine, on a server with resumable uploads (tus).
struct Backup: Sendable {
    let client: PulseClient
    let machine: String
    let folder: URL

    /// Uploads what the server does not have. An upload that was interrupted, also by a kill, goes on where it was.
    func push(_ tell: @escaping @Sendable (String) -> Void) async throws {
        let stored: [StoredFile] = try await client.get("/backups/\(machine)")
        for file in try StoredFile.all(in: folder) where !stored.contains(file) {
            let uploads = UploadResumption(
                directory: folder.appendingPathComponent(".uploads"),
                metadata: ["name": file.name, "modified": "\(file.modified)"])
            let url = folder.appendingPathComponent(file.name)
            try await client.upload(url, to: "/backups/\(machine)", resuming: uploads) { progress in
                tell("\(file.name): \(progress.completed) of \(file.size) bytes")
            }
        }
    }

    /// Downloads what this folder does not have. A file is the old one or the whole new one, with the digest that the
    /// server tells.
    func restore(_ tell: @escaping @Sendable (String) -> Void) async throws {
        let stored: [StoredFile] = try await client.get("/backups/\(machine)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let present = try StoredFile.all(in: folder)
        // A server must not choose a place outside of the folder.
        for file in stored where !present.contains(file) && !StoredFile.isHidden(file.name) {
            let url = folder.appendingPathComponent(file.name)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try await client.download("/backups/\(machine)/\(file.name)", to: url) { progress in
                tell("\(file.name): \(progress.completed) of \(file.size) bytes")
            }
            let date = Date(timeIntervalSince1970: TimeInterval(file.modified))
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: url.path)
        }
    }
}
