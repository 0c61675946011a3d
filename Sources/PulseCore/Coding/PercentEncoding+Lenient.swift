// SPDX-License-Identifier: MIT

/// Decoding that accepts any bytes, for names that are scanned rather than sent.
extension PercentEncoding {
    /// The byte encoded by `%XX` at `index`, or nil if there is no valid escape.
    static func escape(in bytes: [UInt8], at index: Int, end: Int) -> UInt8? {
        guard index + 2 < end, bytes[index] == UInt8(ascii: "%"),
            let high = bytes[index + 1].hexDigitValue, let low = bytes[index + 2].hexDigitValue
        else { return nil }
        return high << 4 | low
    }

    /// The decoded bytes; invalid escapes are kept.
    package static func lenientlyDecoded(_ bytes: [UInt8], in range: Range<Int>, plusIsSpace: Bool = false) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(range.count)
        var index = range.lowerBound
        while index < range.upperBound {
            if let value = escape(in: bytes, at: index, end: range.upperBound) {
                output.append(value)
                index += 3
            } else {
                let isSpace = plusIsSpace && bytes[index] == UInt8(ascii: "+")
                output.append(isSpace ? UInt8(ascii: " ") : bytes[index])
                index += 1
            }
        }
        return output
    }
}
