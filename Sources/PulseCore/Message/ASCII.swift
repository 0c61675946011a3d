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

extension String {
    /// Equality as HTTP compares field names: ASCII letters match in either case (RFC 9110, section 5.1).
    package func equalsIgnoringASCIICase(_ other: String) -> Bool {
        let (left, right) = (utf8, other.utf8)
        return left.count == right.count && zip(left, right).allSatisfy { $0.asciiLowercased == $1.asciiLowercased }
    }

    /// A copy with the ASCII letters in lower case and everything else as it is.
    package var asciiLowercased: String {
        String(decoding: utf8.map(\.asciiLowercased), as: UTF8.self)
    }

    /// A `token` of RFC 9110, section 5.6.2: what a method or a field name may consist of.
    package var isHTTPToken: Bool {
        var text = self
        return !isEmpty && text.withUTF8 { $0.allSatisfy(ASCIISet.token.contains) }
    }

    /// No CR, LF or NUL, which would end a field line early (RFC 9110, section 5.5).
    package var isHTTPFieldValue: Bool {
        var text = self
        return text.withUTF8 { $0.allSatisfy { $0 != 0x0D && $0 != 0x0A && $0 != 0x00 } }
    }
}
