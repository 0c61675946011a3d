// SPDX-License-Identifier: MIT

/// Converts any bytes to text and back, for values that must be sent back unchanged.
///
/// UTF-8 is decoded normally. Each other byte becomes a private-use character, `U+10F700` plus the byte. So does each
/// byte of such a character itself, so that the conversion is reversible.
package enum OctetText {
    private static let base: UInt32 = 0x10F700
    /// The first byte of all these characters in UTF-8.
    private static let lead: UInt8 = 0xF4

    package static func text(_ bytes: [UInt8]) -> String {
        if bytes.allSatisfy({ $0 < 0x80 }) { return String(decoding: bytes, as: UTF8.self) }
        var text = String.UnicodeScalarView()
        var index = 0
        while index < bytes.count {
            var decoder = UTF8()
            var input = bytes[index..<min(index + 4, bytes.count)].makeIterator()
            if case .scalarValue(let scalar) = decoder.decode(&input), octet(scalar) == nil {
                text.append(scalar)
                index += UTF8.width(scalar)
            } else {
                if let scalar = Unicode.Scalar(base + UInt32(bytes[index])) { text.append(scalar) }
                index += 1
            }
        }
        return String(text)
    }

    /// The bytes that a text encodes; nil if they equal its UTF-8.
    package static func bytes(_ text: String) -> [UInt8]? {
        guard text.utf8.contains(lead), text.unicodeScalars.contains(where: { octet($0) != nil }) else { return nil }
        return text.unicodeScalars.reduce(into: []) { bytes, scalar in
            if let octet = octet(scalar) {
                bytes.append(octet)
            } else {
                bytes.append(contentsOf: String(Character(scalar)).utf8)
            }
        }
    }

    private static func octet(_ scalar: Unicode.Scalar) -> UInt8? {
        (base + 0x80...base + 0xFF).contains(scalar.value) ? UInt8(scalar.value - base) : nil
    }
}
