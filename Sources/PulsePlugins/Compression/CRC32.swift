// SPDX-License-Identifier: MIT

/// The checksum at the end of a gzip member (RFC 1952, section 8).
struct CRC32: Sendable {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 0 ? value >> 1 : value >> 1 ^ 0xEDB8_8320 }
    }

    private var state = UInt32.max

    var value: UInt32 { ~state }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        Self.table.withUnsafeBufferPointer { table in
            var state = state
            for byte in bytes {
                state = table[Int(UInt8(truncatingIfNeeded: state) ^ byte)] ^ state >> 8
            }
            self.state = state
        }
    }
}
