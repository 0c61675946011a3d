// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// Compresses bodies to gzip, if that makes them smaller.
struct BodyCompressor: Sendable {
    /// More bytes than this take so long that the work would hold up other tasks.
    private static var longWork: Int { 256 << 10 }

    let make: MakeRawDeflate

    /// Nil if it would not be smaller.
    func compressed(_ data: Data, cancellation: Cancellation?) async throws -> Data? {
        guard data.count > Self.longWork else { return try compressed(data) {} }
        return try await BlockingWork.run(cancellation) { work in
            try compressed(data) { try work.checkCancellation() }
        }
    }

    /// In pieces, to notice early that it is not worth it, or not wanted any more.
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

    /// A temporary file with the compressed content of another, readable by this user alone; nil if it would not be
    /// smaller. The caller removes it.
    func compressed(_ file: URL, cancellation: Cancellation?) async throws -> URL? {
        try await BlockingWork.run(cancellation) { work in
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

    /// False, with the target unfinished, if it would not be smaller.
    private func compress(_ file: URL, to target: URL, _ work: BlockingWork) throws -> Bool {
        struct NotSmaller: Error {}
        let output = try FileHandle(forWritingTo: target)
        defer { try? output.close() }
        let encoder = GzipEncoder(try make())
        // A file may be longer than an Int of 32 bits can count.
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

    /// A first piece that hardly shrinks is part of a picture, a film or an archive, and the rest will not shrink
    /// either. zlib still holds back some of its output then: of noise it has given 94 %.
    private static func isPointless<Count: BinaryInteger>(_ produced: Count, of consumed: Count) -> Bool {
        consumed == longWork && produced > consumed - consumed / 8
    }

    /// A stream of the compressed bytes, made anew for each attempt. Its length is not known beforehand.
    func compressed(_ stream: BodyStream) -> BodyStream {
        BodyStream(length: nil, isOneShot: stream.isOneShot) { [make] in
            try await GzipStream(stream.make(), make).bytes
        }
    }
}
