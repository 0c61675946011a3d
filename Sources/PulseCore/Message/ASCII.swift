// SPDX-License-Identifier: MIT

/// What HTTP means by "case-insensitive" and "token": ASCII, byte by byte, whatever the locale.
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
    /// Writes all hexadecimal digits of a number in lower case: 2 of a byte, 16 of a word.
    @inlinable
    package func writeHex<Number: FixedWidthInteger>(_ number: Number, at start: Int) {
        let digits = Number.bitWidth / 4
        for place in 0..<digits {
            let digit = UInt8(truncatingIfNeeded: number >> Number(4 * (digits - 1 - place))) & 0xF
            self[start + place] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit
        }
    }
}

extension String {
    /// Joins several texts into one, at a fraction of the cost of an interpolation.
    package init(joining parts: String...) {
        self.init(unsafeUninitializedCapacity: parts.reduce(0) { $0 + $1.utf8.count }) { text in
            var end = 0
            for var part in parts {
                part.withUTF8 { end = text[end...].update(fromContentsOf: $0) }
            }
            return end
        }
    }

    // Inlinable: most names differ in length already.
    /// Whether two texts are equal as HTTP compares field names: ASCII letters match in either case (RFC 9110, section
    /// 5.1).
    @inlinable
    package func equalsIgnoringASCIICase(_ other: String) -> Bool {
        utf8.count == other.utf8.count && hasSameBytesIgnoringASCIICase(as: other)
    }

    /// Whether the bytes are equal when ASCII letters match in either case.
    ///
    /// - Parameter other: a text with the same number of bytes.
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

    /// A copy with the ASCII letters in lower case and everything else as it is.
    package var asciiLowercased: String {
        var text = self
        return text.withUTF8 { bytes in
            String(unsafeUninitializedCapacity: bytes.count) { lowercased in
                for index in bytes.indices { lowercased[index] = bytes[index].asciiLowercased }
                return bytes.count
            }
        }
    }

    /// Whether the text is a `token` of RFC 9110, section 5.6.2, as a method or a field name must be.
    package var isHTTPToken: Bool {
        var text = self
        return !isEmpty && text.withUTF8 { $0.allSatisfy(ASCIISet.token.contains) }
    }

    /// Whether the text holds no CR, LF or NUL, which would end a field line early (RFC 9110, section 5.5).
    package var isHTTPFieldValue: Bool {
        var text = self
        // Every byte is looked at, whatever the first ones were: then many are compared at once, and tokens are long.
        return text.withUTF8 { bytes in
            var found: UInt8 = 0
            for byte in bytes {
                found |= (byte == 0x0D ? 1 : 0) | (byte == 0x0A ? 1 : 0) | (byte == 0x00 ? 1 : 0)
            }
            return found == 0
        }
    }
}
