// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform

/// A body that stays in its file until it is read.
final class DiskBody: CachedResponse.BodySource {
    static let chunkSize = 256 << 10

    let file: DiskFile
    let count: Int
    private let checksum: UInt64
    private let pool: BlockingThreadPool

    init(_ file: DiskFile, count: Int, checksum: UInt64, pool: BlockingThreadPool) {
        self.file = file
        self.count = count
        self.checksum = checksum
        self.pool = pool
    }

    func data() async throws -> Data {
        let data = try await pool.abandonable { [self] in Self.read(file, count: count, checksum: checksum) }
        guard let data else { throw DiskDamage() }
        return data
    }

    /// The whole body; nil if it is damaged.
    static func read(_ file: DiskFile, count: Int, checksum: UInt64) -> Data? {
        guard count > 0 else { return CacheChecksum().value == checksum ? Data() : nil }
        var data = Data(count: count)
        let isWhole = data.withUnsafeMutableBytes { buffer in
            file.read(into: buffer, at: 0) && CacheChecksum.of(UnsafeRawBufferPointer(buffer)) == checksum
        }
        return isWhole ? data : nil
    }

    /// Reads the body twice: once to check it before the first chunk is passed on, and once for the chunks. The second
    /// read is checked before the last chunk is passed on: a reader that reaches the end has an intact body.
    func stream() async throws -> ByteStream {
        try await pool.abandonable { [self] in Result { try forEachChunk { _ in } } }.get()
        let progress = Locked((offset: 0, checksum: CacheChecksum()))
        return ByteStream(next: { [self] in
            try await pool.abandonable { [self] in
                Result { () throws -> Data? in
                    // Not concurrent: a reader requests one chunk at a time.
                    var (start, checksum) = progress.withLock { $0 }
                    guard start < count else { return nil }
                    let chunk = try chunk(at: start)
                    start += chunk.count
                    chunk.withUnsafeBytes { checksum.update($0) }
                    if start == count, checksum.value != self.checksum { throw DiskDamage() }
                    progress.withLock { [start, checksum] in $0 = (start, checksum) }
                    return chunk
                }
            }.get()
        })
    }

    /// Passes on the whole body chunk by chunk, and throws at the end if it is damaged.
    func forEachChunk(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        var checksum = CacheChecksum()
        var start = 0
        while start < count {
            let chunk = try chunk(at: start)
            try chunk.withUnsafeBytes { bytes in
                checksum.update(bytes)
                try body(bytes)
            }
            start += chunk.count
        }
        guard checksum.value == self.checksum else { throw DiskDamage() }
    }

    private func chunk(at start: Int) throws -> Data {
        var chunk = Data(count: min(Self.chunkSize, count - start))
        let isRead = chunk.withUnsafeMutableBytes { file.read(into: $0, at: start) }
        guard isRead else { throw DiskDamage() }
        return chunk
    }
}

/// The error for a body that is damaged or cannot be read.
struct DiskDamage: Error {}
