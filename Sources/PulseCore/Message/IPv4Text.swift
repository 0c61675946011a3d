// SPDX-License-Identifier: MIT

/// IPv4 addresses in URLs, in all forms that systems accept: `127.0.0.1`, `127.1`, `0x7f000001`, `2130706433`.
package enum IPv4Text {
    /// The address in dotted-decimal form; nil for another host, or if a number is too large. Browsers (WHATWG URL,
    /// section 3.5) and libcurl normalize hosts in the same way.
    package static func dottedQuad(_ host: String) -> String? {
        // Fast path: an address ends in a hexadecimal digit, `x` or a dot; most names do not.
        guard let last = host.utf8.last, last == dot || last.hexDigitValue != nil || last.asciiLowercased == x else {
            return nil
        }
        var parts = host.utf8.split(separator: dot, omittingEmptySubsequences: false)
        if parts.count > 1, parts.last?.isEmpty == true { parts.removeLast() }
        let numbers = parts.compactMap { number($0) }
        guard 1...4 ~= parts.count, numbers.count == parts.count, let rest = numbers.last else { return nil }
        // The last number fills the remaining bytes.
        let limit: UInt64 = 1 << UInt64(8 * (5 - numbers.count))
        guard rest < limit, numbers.dropLast().allSatisfy({ $0 < 256 }) else { return nil }
        var address = rest
        for (index, byte) in numbers.dropLast().enumerated() { address |= byte << UInt64(24 - 8 * index) }
        return "\(address >> 24).\(address >> 16 & 0xFF).\(address >> 8 & 0xFF).\(address & 0xFF)"
    }

    /// Decimal, octal after a zero, or hexadecimal after `0x`.
    private static func number(_ text: Substring.UTF8View) -> UInt64? {
        guard let first = text.first else { return nil }
        var digits = text
        var radix: UInt64 = 10
        if first == UInt8(ascii: "0"), text.count > 1 {
            digits = digits.dropFirst()
            radix = 8
            if digits.first?.asciiLowercased == x {
                digits = digits.dropFirst()
                radix = 16
            }
        }
        var value: UInt64 = 0
        for byte in digits {
            guard let digit = byte.hexDigitValue, digit < radix, value <= UInt32.max else { return nil }
            value = value * radix + UInt64(digit)
        }
        return value
    }

    private static let dot = UInt8(ascii: ".")
    private static let x = UInt8(ascii: "x")
}
