// SPDX-License-Identifier: MIT

import PulseCore

/// The part of a file after the body: the head of the response, and a footer that shows whether the file is intact.
///
/// ```text
/// body | head | length of the head: 4 | length of the body: 8 | checksum of the body: 8
///      | checksum of head and lengths: 8 | magic: 8
/// ```
/// It follows the body, so that a body can be written before its length is known. Numbers are little-endian.
struct DiskRecord: Sendable, Equatable {
    static let footerSize = 36
    private static let magic: [UInt8] = Array("PULSE\u{2}C\n".utf8)

    /// The key of the response, to detect a file in the wrong place.
    let key: CacheKey
    let head: CachedResponse.Head
    let bodyLength: Int
    let bodyChecksum: UInt64

    /// The lengths in a footer; nil if it is not a footer, or if the lengths do not match the file's size.
    struct Lengths: Equatable {
        let head: Int
        let body: Int

        init?(footer: UnsafeRawBufferPointer, fileSize: Int) {
            guard footer.count == DiskRecord.footerSize, footer[28...].elementsEqual(DiskRecord.magic) else {
                return nil
            }
            // Compared before the conversion to Int, which may have 32 bits: the values are not verified yet.
            let head = UInt64(footer.loadUnaligned(fromByteOffset: 0, as: UInt32.self).littleEndian)
            let body = footer.loadUnaligned(fromByteOffset: 4, as: UInt64.self).littleEndian
            let size = UInt64(fileSize)
            guard body <= size, size == body + head + UInt64(DiskRecord.footerSize) else { return nil }
            (self.head, self.body) = (Int(head), Int(body))
        }
    }

    init(key: CacheKey, head: CachedResponse.Head, bodyLength: Int, bodyChecksum: UInt64) {
        self.key = key
        self.head = head
        self.bodyLength = bodyLength
        self.bodyChecksum = bodyChecksum
    }

    /// Decodes head and footer. Nil for anything but the output of ``encoded()``.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= Self.footerSize else { return nil }
        let footer = UnsafeRawBufferPointer(rebasing: bytes[(bytes.count - Self.footerSize)...])
        let covered = UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count - 16)])
        guard footer[28...].elementsEqual(Self.magic),
            footer.loadUnaligned(fromByteOffset: 20, as: UInt64.self).littleEndian == CacheChecksum.of(covered),
            let bodyLength = Int(exactly: footer.loadUnaligned(fromByteOffset: 4, as: UInt64.self).littleEndian)
        else { return nil }
        self.bodyLength = bodyLength
        bodyChecksum = footer.loadUnaligned(fromByteOffset: 12, as: UInt64.self).littleEndian
        var decoder = DiskDecoder(UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count - Self.footerSize)]))
        guard let key = decoder.key(), let head = decoder.head(), decoder.isAtEnd,
            head.parts.map({ $0.count == bodyLength }) ?? true
        else { return nil }
        self.key = key
        self.head = head
    }

    /// The encoded head and footer.
    func encoded() -> [UInt8] {
        var encoder = DiskEncoder()
        encoder.append(key)
        encoder.append(head)
        let headLength = UInt32(truncatingIfNeeded: encoder.bytes.count)
        encoder.append(headLength)
        encoder.append(UInt64(bodyLength))
        encoder.append(bodyChecksum)
        encoder.append(encoder.bytes.withUnsafeBytes { CacheChecksum.of($0) })
        return encoder.bytes + Self.magic
    }
}
