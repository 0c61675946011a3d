// SPDX-License-Identifier: MIT

import PulseCore

/// Validates UTF-8 in chunks (RFC 3629, section 4): no overlong form, no surrogate, nothing above U+10FFFF.
package struct UTF8Validator: Sendable {
    /// The number of bytes missing from the current character.
    private var missing = 0
    /// The range of the next byte. Only the second byte of a character may have a narrower one.
    private var next: ClosedRange<UInt8> = Self.continuation
    private static let continuation: ClosedRange<UInt8> = 0x80...0xBF

    package init() {}

    /// Whether the text may end here.
    package var isComplete: Bool { missing == 0 }

    /// Checks the next bytes; false if one of them cannot continue the text.
    package mutating func accepts(_ bytes: some Sequence<UInt8>) -> Bool {
        let isValid = bytes.withContiguousStorageIfAvailable { acceptsAll(UnsafeRawBufferPointer($0)) }
        return isValid ?? bytes.allSatisfy { accepts($0) }
    }

    private mutating func acceptsAll(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        while index < bytes.count {
            // Eight ASCII characters at a time: most text is ASCII.
            if missing == 0, bytes.count - index >= 8,
                bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
            {
                index += 8
                continue
            }
            guard accepts(bytes[index]) else { return false }
            index += 1
        }
        return true
    }

    private mutating func accepts(_ byte: UInt8) -> Bool {
        if missing > 0 {
            guard next.contains(byte) else { return false }
            missing -= 1
            next = Self.continuation
            return true
        }
        switch byte {
        case 0x00...0x7F: return true
        case 0xC2...0xDF: missing = 1
        case 0xE0: (missing, next) = (2, 0xA0...0xBF)
        case 0xED: (missing, next) = (2, 0x80...0x9F)
        case 0xE1...0xEF: missing = 2
        case 0xF0: (missing, next) = (3, 0x90...0xBF)
        case 0xF4: (missing, next) = (3, 0x80...0x8F)
        case 0xF1...0xF3: missing = 3
        default: return false
        }
        return true
    }
}
