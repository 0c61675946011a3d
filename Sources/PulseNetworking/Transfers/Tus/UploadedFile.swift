// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A file as it was when its upload began.
struct UploadedFile: Sendable {
    let url: URL
    /// The size and time by which a change is detected.
    let stamp: FileStamp

    var size: Int64 { stamp.size }
    private var pool: BlockingThreadPool { .files(of: url) }

    /// Throws ``PulseError/encodingFailed(underlying:)`` for a file that cannot be read.
    static func at(_ url: URL) async throws -> UploadedFile {
        do {
            return try await BlockingThreadPool.files(of: url).read {
                UploadedFile(url: url, stamp: try FileStamp(path: url.path))
            }
        } catch let error where !(error is CancellationError) {
            throw PulseError.encodingFailed(underlying: FileFault.naming(error, url))
        }
    }

    /// Whether the file is unchanged. Bytes of two versions must not become one upload. Throws only
    /// `CancellationError`.
    func isUnchanged() async throws -> Bool {
        try await pool.read { [url, stamp] in (try? FileStamp(path: url.path)) == stamp }
    }

    /// Throws ``PulseError/encodingFailed(underlying:)`` unless the file can be read and is unchanged.
    func check() throws {
        do {
            try open().close()
        } catch {
            throw PulseError.encodingFailed(underlying: FileFault.naming(error, url))
        }
    }

    private func open() throws -> FileHandle {
        let handle = try FileHandle.reading(url)
        guard try FileStamp(handle.fileDescriptor) == stamp else { throw FileHasChanged(path: url.path) }
        return handle
    }

    /// The bytes from the offset to the original end of the file, in constant memory. Fails if the file has changed.
    func body(from offset: Int64) -> RequestBody.Stream {
        RequestBody.Stream(length: size - offset) { [pool] in
            let handle = try await pool.read {
                let handle = try open()
                try handle.seek(toOffset: UInt64(offset))
                return handle
            }
            let rest = Locked(stamp.size - offset)
            return ByteStream(next: {
                // A file that has grown meanwhile must not send more than was announced.
                let count = Int(min(rest.withLock { $0 }, 256 << 10))
                guard count > 0 else { return nil }
                let chunk = try await pool.read { try handle.read(upToCount: count) }
                guard let chunk, !chunk.isEmpty else { return nil }
                rest.withLock { $0 -= Int64(chunk.count) }
                return chunk
            })
        }
    }
}

/// The size and the time of the last modification of a file.
struct FileStamp: Sendable, Hashable {
    let size: Int64
    /// Nanoseconds since 1970.
    let modified: Int64

    init(size: Int64, modified: Int64) {
        self.size = size
        self.modified = modified
    }

    init(path: String) throws {
        var status = stat()
        guard stat(path, &status) == 0 else { throw Self.failure() }
        self.init(status)
    }

    init(_ descriptor: Int32) throws {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Self.failure() }
        self.init(status)
    }

    private init(_ status: stat) {
        #if canImport(Darwin)
        let time = status.st_mtimespec
        #else
        let time = status.st_mtim
        #endif
        size = Int64(status.st_size)
        modified = Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }

    private static func failure() -> POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}

/// The file has changed since its upload began.
private struct FileHasChanged: Error, CustomStringConvertible {
    let path: String
    var description: String { "the file has changed since its upload began: \(path)" }
}
