// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// Encodes one gzip member (RFC 1952) piece by piece. The output is deterministic. For one task at a time.
final class GzipEncoder {
    /// The header: no file name, no modification time, unknown operating system.
    private static let head = Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF])

    private let deflate: any RawDeflate
    private var checksum = Checksum()
    /// The uncompressed length modulo 2^32, as the trailer stores it.
    private var length: UInt32 = 0
    private var hasStarted = false

    init(_ deflate: any RawDeflate) {
        self.deflate = deflate
    }

    /// The output so far, which may be empty. Throws ``PulseError/encodingFailed(underlying:)``.
    func compress(_ bytes: UnsafeRawBufferPointer) throws -> Data {
        checksum.update(bytes)
        length &+= UInt32(truncatingIfNeeded: bytes.count)
        return withHead(try deflate.compress(bytes))
    }

    /// The rest of the output; call it once. Throws like ``compress(_:)``.
    func finish() throws -> Data {
        var tail = withHead(try deflate.finish())
        for word in [checksum.value, length] {
            withUnsafeBytes(of: word.littleEndian) { tail.append(contentsOf: $0) }
        }
        return tail
    }

    private func withHead(_ bytes: Data) -> Data {
        guard !hasStarted else { return bytes }
        hasStarted = true
        return Self.head + bytes
    }
}
