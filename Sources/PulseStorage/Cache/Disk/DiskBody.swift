// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform

/// A body that stays in its file until somebody reads it.
final class DiskBody: CachedBodySource {
    static let chunkSize = 256 << 10

    let file: DiskFile
    let count: Int
    private let checksum: UInt64
    private let lanes: BlockingThreadPool

    init(_ file: DiskFile, count: Int, checksum: UInt64, lanes: BlockingThreadPool) {
        self.file = file
        self.count = count
        self.checksum = checksum
        self.lanes = lanes
    }

    func data() async throws -> Data {
        try await lanes.result { [self] in
            guard let data = Self.read(file, count: count, checksum: checksum) else { throw DiskDamage() }
            return data
        }
    }

    /// The whole body; nil unless it is what was stored.
    static func read(_ file: DiskFile, count: Int, checksum: UInt64) -> Data? {
        guard count > 0 else { return CacheChecksum().value == checksum ? Data() : nil }
        var data = Data(count: count)
        let isWhole = data.withUnsafeMutableBytes { buffer in
            file.read(into: buffer, at: 0) && CacheChecksum.of(UnsafeRawBufferPointer(buffer)) == checksum
        }
        return isWhole ? data : nil
    }

    /// Reads the body twice: once to see that it is whole, before the first piece goes out, and once for the pieces.
    /// The second reading is checked before the last piece goes out: a reader that gets to the end has what was stored.
    func stream() async throws -> ByteStream {
        try await lanes.result { [self] in
            try forEachChunk { _ in }
        }
        let progress = Locked((offset: 0, checksum: CacheChecksum()))
        return ByteStream(next: { [self] in
            try await lanes.result { [self] in
                // Not shared: a stream is asked for one piece after the other.
                var (start, checksum) = progress.withLock { $0 }
                guard start < count else { return nil }
                let chunk = try chunk(at: start)
                start += chunk.count
                chunk.withUnsafeBytes { checksum.update($0) }
                if start == count, checksum.value != self.checksum { throw DiskDamage() }
                progress.withLock { [start, checksum] in $0 = (start, checksum) }
                return chunk
            }
        })
    }

    /// Gives the whole body piece by piece, and throws at the end if it is not what was stored.
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

/// The failure of a file that is not what was written.
struct DiskDamage: Error {}
