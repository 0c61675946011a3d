// SPDX-License-Identifier: MIT

/// A set of ASCII characters with a very cheap membership test: 128 bits, no allocation.
package struct ASCIISet: Sendable {
    @usableFromInline let low: UInt64
    @usableFromInline let high: UInt64

    private init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    /// The ASCII characters of `text`; others are ignored.
    package init(_ text: String) {
        var (low, high): (UInt64, UInt64) = (0, 0)
        for byte in text.utf8 where byte < 0x80 {
            if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte - 64) }
        }
        self.init(low: low, high: high)
    }

    @inlinable package func contains(_ byte: UInt8) -> Bool {
        byte < 0x80 && ((byte < 64 ? low : high) &>> UInt64(byte & 63)) & 1 == 1
    }

    package func union(_ other: ASCIISet) -> ASCIISet {
        ASCIISet(low: low | other.low, high: high | other.high)
    }

    package func subtracting(_ other: ASCIISet) -> ASCIISet {
        ASCIISet(low: low & ~other.low, high: high & ~other.high)
    }
}

extension ASCIISet {
    package static let alphanumerics = ASCIISet("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")

    /// `unreserved` of RFC 3986, section 2.3: characters that need no escape anywhere in a URL.
    package static let unreserved = alphanumerics.union(ASCIISet("-._~"))

    /// `sub-delims` of RFC 3986, section 2.2.
    package static let subDelimiters = ASCIISet("!$&'()*+,;=")

    /// `reg-name` of RFC 3986, section 3.2.2, without its escapes.
    package static let host = unreserved.union(subDelimiters)

    /// `pchar` of RFC 3986, section 3.3, without its escapes, and `/`.
    package static let path = unreserved.union(subDelimiters).union(ASCIISet(":@/"))

    /// `query` of RFC 3986, section 3.4, without its escapes.
    package static let query = path.union(ASCIISet("?"))

    /// `tchar` of RFC 9110, section 5.6.2.
    package static let token = alphanumerics.union(ASCIISet("!#$%&'*+-.^_`|~"))

    /// The characters that the form serializer does not encode (WHATWG URL, section 1.3,
    /// application/x-www-form-urlencoded percent-encode set).
    package static let form = alphanumerics.union(ASCIISet("*-._"))
}
