// SPDX-License-Identifier: MIT

/// "Case-insensitive" and "token" as HTTP defines them: ASCII, byte by byte, independent of the locale.
extension UInt8 {
    @inlinable package var asciiLowercased: UInt8 {
        self &- UInt8(ascii: "A") < 26 ? self | 0x20 : self
    }

    @inlinable package var isASCIIDigit: Bool { self &- UInt8(ascii: "0") < 10 }

    @inlinable package var isASCIILetter: Bool { (self | 0x20) &- UInt8(ascii: "a") < 26 }

    /// `tchar` of RFC 9110, section 5.6.2.
    package var isHTTPTokenCharacter: Bool {
        ASCIISet.token.contains(self)
    }

    /// The value of a hexadecimal digit in either case, or nil.
    package var hexDigitValue: UInt8? {
        if isASCIIDigit { return self - UInt8(ascii: "0") }
        let letter = asciiLowercased &- UInt8(ascii: "a")
        return letter < 6 ? letter + 10 : nil
    }
}

extension UnsafeMutableBufferPointer<UInt8> {
    /// Writes all hexadecimal digits of a number in lower case: 2 for a byte, 16 for a word.
    @inlinable
    package func writeHex<Number: FixedWidthInteger>(_ number: Number, at start: Int) {
        let digits = Number.bitWidth / 4
        for position in 0..<digits {
            let digit = UInt8(truncatingIfNeeded: number >> Number(4 * (digits - 1 - position))) & 0xF
            self[start + position] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit
        }
    }
}

extension String {
    /// Joins several strings into one, at a fraction of the cost of an interpolation.
    package init(joining parts: String...) {
        self.init(unsafeUninitializedCapacity: parts.reduce(0) { $0 + $1.utf8.count }) { text in
            var end = 0
            for var part in parts {
                part.withUTF8 { end = text[end...].update(fromContentsOf: $0) }
            }
            return end
        }
    }

    // Inlinable: most names already differ in length.
    /// Whether two strings are equal as field names: ASCII letters are case-insensitive (RFC 9110, section 5.1).
    @inlinable
    package func equalsIgnoringASCIICase(_ other: String) -> Bool {
        utf8.count == other.utf8.count && hasSameBytesIgnoringASCIICase(as: other)
    }

    /// Whether the bytes are equal, with ASCII letters case-insensitive.
    ///
    /// - Parameter other: a string with the same number of bytes.
    @usableFromInline
    func hasSameBytesIgnoringASCIICase(as other: String) -> Bool {
        var (left, right) = (self, other)
        return left.withUTF8 { left in
            right.withUTF8 { right in
                for index in left.indices where left[index] != right[index] {
                    guard left[index].asciiLowercased == right[index].asciiLowercased else { return false }
                }
                return true
            }
        }
    }

    /// A copy with ASCII letters in lower case and everything else unchanged.
    package var asciiLowercased: String {
        var text = self
        return text.withUTF8 { bytes in
            String(unsafeUninitializedCapacity: bytes.count) { lowercased in
                for index in bytes.indices { lowercased[index] = bytes[index].asciiLowercased }
                return bytes.count
            }
        }
    }

    /// Whether the string is a `token` (RFC 9110, section 5.6.2), as a method or a field name must be.
    package var isHTTPToken: Bool {
        var text = self
        return !isEmpty && text.withUTF8 { $0.allSatisfy(ASCIISet.token.contains) }
    }

    /// Whether the string has no control characters other than tabs (RFC 9110, section 5.5): some end a field line
    /// early, and peers reject the rest.
    package var isHTTPFieldValue: Bool {
        var text = self
        // The loop checks every byte without an early exit, so that the compiler can vectorize it: tokens are long.
        return text.withUTF8 { bytes in
            var found: UInt8 = 0
            for byte in bytes {
                found |= (byte < 0x20 && byte != 0x09 ? 1 : 0) | (byte == 0x7F ? 1 : 0)
            }
            return found == 0
        }
    }
}
