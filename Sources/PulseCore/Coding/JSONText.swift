// SPDX-License-Identifier: MIT

/// The escapes of JSON strings (RFC 8259, section 7), for reading and writing text without a coder.
package enum JSONText {
    /// A string as JSON.
    package static func string(_ text: String) -> Data {
        Data([UInt8(ascii: "\"")] + escaped(Array(text.utf8)) + [UInt8(ascii: "\"")])
    }

    /// The content of a string, unescaped; an invalid escape loses its backslash.
    static func unescaped(_ bytes: [UInt8], in range: Range<Int>) -> [UInt8] {
        var output: [UInt8] = []
        var index = range.lowerBound
        while index < range.upperBound {
            guard bytes[index] == UInt8(ascii: "\\"), index + 1 < range.upperBound else {
                output.append(bytes[index])
                index += 1
                continue
            }
            let escape = bytes[index + 1]
            if escape == UInt8(ascii: "u"), let (scalar, next) = scalar(bytes, at: index, end: range.upperBound) {
                output.append(contentsOf: String(Character(scalar)).utf8)
                index = next
            } else {
                output.append(simple[escape] ?? escape)
                index += 2
            }
        }
        return output
    }

    /// The bytes escaped for use in a JSON string.
    static func escaped(_ bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count + 16)
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): output += [UInt8(ascii: "\\"), byte]
            case 0x0A: output += Array("\\n".utf8)
            case 0x0D: output += Array("\\r".utf8)
            case 0x09: output += Array("\\t".utf8)
            case 0..<0x20:
                let digits = String(byte, radix: 16)
                output += Array(("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).utf8)
            default: output.append(byte)
            }
        }
        return output
    }

    private static let simple: [UInt8: UInt8] = [
        UInt8(ascii: "n"): 0x0A, UInt8(ascii: "r"): 0x0D, UInt8(ascii: "t"): 0x09, UInt8(ascii: "b"): 0x08,
        UInt8(ascii: "f"): 0x0C,
    ]

    /// The character of `\uXXXX` or of a surrogate pair; an unpaired surrogate is U+FFFD.
    private static func scalar(_ bytes: [UInt8], at index: Int, end: Int) -> (Unicode.Scalar, next: Int)? {
        guard let first = unit(bytes, at: index, end: end) else { return nil }
        if let scalar = Unicode.Scalar(first) { return (scalar, index + 6) }
        if first < 0xDC00, let second = unit(bytes, at: index + 6, end: end), (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
        {
            return (scalar, index + 12)
        }
        return ("\u{FFFD}", index + 6)
    }

    private static func unit(_ bytes: [UInt8], at index: Int, end: Int) -> UInt16? {
        guard index + 6 <= end, bytes[index] == UInt8(ascii: "\\"), bytes[index + 1] == UInt8(ascii: "u") else {
            return nil
        }
        return bytes[(index + 2)..<(index + 6)].reduce(UInt16?(0)) { value, digit in
            guard let value, let digit = digit.hexDigitValue else { return nil }
            return value << 4 | UInt16(digit)
        }
    }
}
