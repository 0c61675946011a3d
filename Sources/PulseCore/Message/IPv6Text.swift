// SPDX-License-Identifier: MIT

/// IPv6 addresses in URLs (RFC 3986, section 3.2.2).
package enum IPv6Text {
    /// Whether the text between the brackets of a host is an address, perhaps with a zone after `%25` (RFC 6874,
    /// section 2).
    package static func isLiteral(_ text: some Collection<UInt8>) -> Bool {
        let end = text.firstIndex(of: UInt8(ascii: "%")) ?? text.endIndex
        let zone = text[end...]
        return isAddress(text[..<end])
            && (zone.isEmpty
                || zone.starts(with: "%25".utf8) && zone.count > 3
                    && zone.dropFirst(3).allSatisfy(ASCIISet.unreserved.contains))
    }

    /// Eight groups of up to four hexadecimal digits; `::` stands for one or more groups of zeros.
    private static func isAddress(_ text: some Collection<UInt8>) -> Bool {
        let gap = zip(text.indices, text.indices.dropFirst()).first { text[$0] == colon && text[$1] == colon }
        guard let gap else { return groupCount(text, endsAddress: true) == 8 }
        guard let before = groupCount(text[..<gap.0], endsAddress: false),
            let after = groupCount(text[gap.1...].dropFirst(), endsAddress: true)
        else { return false }
        return before + after < 8
    }

    /// The number of groups; nil if one is malformed. The end may be in IPv4 notation, which counts as two groups.
    private static func groupCount(_ text: some Collection<UInt8>, endsAddress: Bool) -> Int? {
        guard !text.isEmpty else { return 0 }
        var groups = text.split(separator: colon, omittingEmptySubsequences: false)
        var count = groups.count
        if endsAddress, let last = groups.last, last.contains(UInt8(ascii: ".")) {
            guard isIPv4(last) else { return nil }
            groups.removeLast()
            count += 1
        }
        return groups.allSatisfy { 1...4 ~= $0.count && $0.allSatisfy { $0.hexDigitValue != nil } } ? count : nil
    }

    private static func isIPv4(_ text: some Collection<UInt8>) -> Bool {
        let numbers = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return numbers.count == 4
            && numbers.allSatisfy { number in
                number.allSatisfy(\.isASCIIDigit) && (number.count == 1 || number.first != UInt8(ascii: "0"))
                    && UInt8(String(decoding: number, as: UTF8.self)) != nil
            }
    }

    private static let colon = UInt8(ascii: ":")
}
