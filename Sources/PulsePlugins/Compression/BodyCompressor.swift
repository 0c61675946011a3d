// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform

/// Compresses bodies to gzip, if that makes them smaller.
struct BodyCompressor: Sendable {
    /// The longest data to compress in place. More would block other tasks.
    private static var longWork: Int { 256 << 10 }

    let make: MakeRawDeflate

    /// Nil if the result would not be smaller.
    func compressed(_ data: Data) async throws -> Data? {
        guard data.count > Self.longWork else { return try compressed(data) {} }
        return try await BlockingWork.run { work in
            try compressed(data) { try work.checkCancellation() }
        }
    }

    /// Compresses in pieces, to stop early if it is pointless or cancelled.
    private func compressed(_ data: Data, checkCancellation: () throws -> Void) throws -> Data? {
        let encoder = GzipEncoder(try make())
        var output = Data()
        return try data.withUnsafeBytes { bytes in
            var start = 0
            while start < bytes.count {
                try checkCancellation()
                let end = min(start + Self.longWork, bytes.count)
                output += try encoder.compress(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
                guard output.count < bytes.count, !Self.isPointless(output.count, of: end) else { return nil }
                start = end
            }
            output += try encoder.finish()
            return output.count < bytes.count ? output : nil
        }
    }

    /// A temporary file with the compressed content of another file, readable by this user only. Nil if it would not be
    /// smaller. The caller removes it.
    func compressed(_ file: URL) async throws -> URL? {
        try await BlockingWork.run(converting: file) { work in
            let target = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString).gz")
            guard
                FileManager.default.createFile(
                    atPath: target.path, contents: nil, attributes: [.posixPermissions: 0o600])
            else { throw CocoaError(.fileWriteUnknown) }
            var isSmaller = false
            defer { if !isSmaller { try? FileManager.default.removeItem(at: target) } }
            isSmaller = try compress(file, to: target, work)
            return isSmaller ? target : nil
        }
    }

    /// False, with an unfinished target, if the result would not be smaller.
    private func compress(_ file: URL, to target: URL, _ work: BlockingWork) throws -> Bool {
        struct NotSmaller: Error {}
        let output = try FileHandle.writing(target)
        defer { try? output.close() }
        let encoder = GzipEncoder(try make())
        // A file may be longer than a 32-bit `Int` can count.
        var (consumed, produced): (Int64, Int64) = (0, 0)
        do {
            try work.forEachChunk(of: file) { chunk in
                let bytes = try encoder.compress(chunk)
                consumed += Int64(chunk.count)
                produced += Int64(bytes.count)
                if Self.isPointless(produced, of: consumed) { throw NotSmaller() }
                try output.write(contentsOf: bytes)
            }
            let tail = try encoder.finish()
            guard produced + Int64(tail.count) < consumed else { return false }
            try output.write(contentsOf: tail)
            return true
        } catch is NotSmaller {
            return false
        }
    }

    /// Whether the first piece hardly shrinks, as in pictures, films and archives: then the rest will not shrink
    /// either. At that point zlib still holds back some output, so noise has shown a ratio of 94 %.
    private static func isPointless<Count: BinaryInteger>(_ produced: Count, of consumed: Count) -> Bool {
        consumed == longWork && produced > consumed - consumed / 8
    }

    /// A stream of the compressed bytes, created for each attempt. Its length is unknown.
    func compressed(_ stream: RequestBody.Stream) -> RequestBody.Stream {
        RequestBody.Stream(length: nil, isOneShot: stream.isOneShot) { [make] in
            try await GzipStream(stream.make(), make).bytes
        }
    }
}
