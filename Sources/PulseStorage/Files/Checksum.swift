// SPDX-License-Identifier: MIT

import PulseCore

/// CRC-32 as in zlib, gzip (RFC 1952, section 8) and Ethernet (ISO 3309), computed eight bytes at a time.
package struct Checksum: Sendable {
    /// Eight tables of 256 entries: the contribution of a byte that is followed by 0 to 7 others.
    private static let tables: [UInt32] = {
        var tables = [UInt32](repeating: 0, count: 8 * 256)
        for byte in 0..<256 {
            var rest = UInt32(byte)
            for _ in 0..<8 { rest = rest & 1 == 1 ? rest >> 1 ^ 0xEDB8_8320 : rest >> 1 }
            tables[byte] = rest
        }
        for index in 256..<tables.count {
            let before = tables[index - 256]
            tables[index] = before >> 8 ^ tables[Int(before & 0xFF)]
        }
        return tables
    }()

    private var rest = UInt32.max

    package init() {}

    package var value: UInt32 { ~rest }

    package static func of(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        var checksum = Checksum()
        checksum.update(bytes)
        return checksum.value
    }

    /// Adds bytes. The value does not depend on how they are split.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        rest = Self.tables.withUnsafeBufferPointer { [rest] tables in
            var rest = rest
            var index = 0
            while index + 8 <= bytes.count {
                let low = bytes.loadUnaligned(fromByteOffset: index, as: UInt32.self).littleEndian ^ rest
                let high = bytes.loadUnaligned(fromByteOffset: index + 4, as: UInt32.self).littleEndian
                rest =
                    tables[7 * 256 + Int(low & 0xFF)] ^ tables[6 * 256 + Int(low >> 8 & 0xFF)]
                    ^ tables[5 * 256 + Int(low >> 16 & 0xFF)] ^ tables[4 * 256 + Int(low >> 24)]
                rest ^=
                    tables[3 * 256 + Int(high & 0xFF)] ^ tables[2 * 256 + Int(high >> 8 & 0xFF)]
                    ^ tables[256 + Int(high >> 16 & 0xFF)] ^ tables[Int(high >> 24)]
                index += 8
            }
            while index < bytes.count {
                rest = rest >> 8 ^ tables[Int(UInt8(truncatingIfNeeded: rest) ^ bytes[index])]
                index += 1
            }
            return rest
        }
    }
}
