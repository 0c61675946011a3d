// SPDX-License-Identifier: MIT

/// The scanner's classification of a byte, from a lookup table, since it is needed for every byte of a text.
struct ByteClass: Sendable {
    /// The bytes at which the scanner stops.
    enum Trigger: Sendable {
        case none
        /// `=` or `:`, possibly after a name.
        case separator
        /// A blank or `+`, possibly after an authentication scheme.
        case blank
        case percent
        /// `/`, possibly the first of two before an authority.
        case slash
        /// `<`, possibly of an XML start tag.
        case tagStart
        case tagEnd
        /// `&` or a backslash, possibly of an escaped bracket of a tag.
        case escape
        /// The third letter of a JSON Web Token.
        case letterJ
        /// The last byte of `ghp_` and the like, or the `I` of `AKIA`.
        case tokenMark
        /// The first letter of `-----BEGIN`.
        case letterB
    }

    let trigger: Trigger
    let isAlphanumeric: Bool
    /// Whether the byte can be part of a name in a URL, a form, a header or a program: any letter of any script, and
    /// `%`.
    let isName: Bool
    let isBase64URL: Bool
    let isBlank: Bool
    let isLineBreak: Bool
    let isQuote: Bool

    static let table: [ByteClass] = (0...255).map { ByteClass(UInt8($0)) }

    private init(_ byte: UInt8) {
        isAlphanumeric = byte.isASCIILetter || byte.isASCIIDigit
        isName = isAlphanumeric || byte >= 0x80 || "_-.$%[]@+".utf8.contains(byte)
        isBase64URL = isAlphanumeric || "-_".utf8.contains(byte)
        isBlank = " \t".utf8.contains(byte)
        isLineBreak = byte == 0x0A || byte == 0x0D
        isQuote = "\"'`".utf8.contains(byte)
        trigger =
            switch byte {
            case UInt8(ascii: "="), UInt8(ascii: ":"): .separator
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "+"): .blank
            case UInt8(ascii: "%"): .percent
            case UInt8(ascii: "/"): .slash
            case UInt8(ascii: "<"): .tagStart
            case UInt8(ascii: ">"): .tagEnd
            case UInt8(ascii: "&"), UInt8(ascii: "\\"): .escape
            case UInt8(ascii: "J"): .letterJ
            case UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "I"): .tokenMark
            case UInt8(ascii: "B"): .letterB
            default: .none
            }
    }
}
