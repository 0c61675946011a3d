// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform
import PulseStorage

/// The URL of an unfinished upload, kept in a file under the identity of what is uploaded.
struct UploadRecord: Sendable {
    private let directory: String
    private let path: String
    private let disk: Disk

    /// - Parameter url: where the upload is created.
    init(_ file: UploadedFile, to url: URL, in directory: URL, using disk: Disk = .system) throws {
        let identity = "\(file.url.path)\n\(file.size)\n\(file.modified)\n\(url.absoluteString)"
        guard let name = SystemHashes.library?.sha256(identity)?.hex else {
            throw PulseError.unsupported("a resumable upload needs the system's SHA-256")
        }
        self.directory = directory.path
        path = directory.path + "/" + name + ".upload"
        self.disk = disk
    }

    private static let prefix = "pulse-upload 1 "

    /// The URL; nil if there is none, or if the file is damaged.
    func read() async -> URL? {
        await BlockingThreadPool.files.run { [path] in
            guard let bytes = FileManager.default.contents(atPath: path) else { return nil }
            let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            guard lines.count == 2, lines[0] == Self.prefix + Self.checksum(String(lines[1])) else { return nil }
            return URL(string: String(lines[1]))
        }
    }

    func write(_ url: URL) async throws {
        try await BlockingThreadPool.files.result { [self] in
            try SystemFile.makeDirectory(directory, using: disk)
            let text = url.absoluteString
            let bytes = Array("\(Self.prefix)\(Self.checksum(text))\n\(text)".utf8)
            let file = try SystemFile.open(path + "-new", O_WRONLY | O_CREAT | O_TRUNC, using: disk)
            defer { _ = SystemFile.close(file) }
            try bytes.withUnsafeBytes { try SystemFile.write($0, to: file, at: 0, using: disk) }
            guard disk.sync(file) == 0 else { throw JournalFailure("fsync") }
            guard disk.rename(path + "-new", path) == 0 else { throw JournalFailure("rename") }
        }
    }

    func remove() async {
        await BlockingThreadPool.files.run { [path] in try? FileManager.default.removeItem(atPath: path) }
    }

    private static func checksum(_ text: String) -> String {
        String(Array(text.utf8).withUnsafeBytes { Checksum.of($0) }, radix: 16)
    }
}

/// A file as it is when its upload begins.
struct UploadedFile: Sendable {
    let url: URL
    let size: Int64
    /// Seconds since 1970.
    let modified: TimeInterval

    /// Throws ``PulseError/encodingFailed(underlying:)`` for a file that cannot be read.
    init(_ url: URL) throws {
        do {
            let attributes = try FileManager.default.attributesOfItem(atPath: url.resolvingSymlinksInPath().path)
            self.url = url
            size = (attributes[.size] as? NSNumber)?.int64Value ?? 0
            modified = (attributes[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
        } catch {
            throw PulseError.encodingFailed(underlying: error)
        }
    }

    /// The bytes from there to the end that the file had, read in constant memory. `sent` gets the number of those
    /// that were read so far.
    func body(from offset: Int64, _ sent: @escaping @Sendable (Int64) -> Void) -> BodyStream {
        BodyStream(length: size - offset) { [url] in
            let handle = try await BlockingThreadPool.files.result {
                let handle = try FileHandle(forReadingFrom: url)
                try handle.seek(toOffset: UInt64(offset))
                return handle
            }
            let read = Locked<Int64>(0)
            return ByteStream(next: {
                let chunk = try await BlockingThreadPool.files.result { try handle.read(upToCount: 256 << 10) }
                guard let chunk, !chunk.isEmpty else { return nil }
                let count = read.withLock { read in
                    read += Int64(chunk.count)
                    return read
                }
                sent(count)
                return chunk
            })
        }
    }
}
