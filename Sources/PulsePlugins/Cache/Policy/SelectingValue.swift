// SPDX-License-Identifier: MIT

import PulseCore

/// The normalized value of a request field named by `Vary`: equivalent values are equal (RFC 9111, section 4.1).
enum SelectingValue {
    /// White space around list members is ignored. In content negotiation fields with weights (RFC 9110, section 12.5),
    /// so are case, order, repetition and the notation of a weight.
    static func normalized(_ value: String, ofField name: String) -> String {
        switch name {
        case "accept", "accept-charset", "accept-encoding", "accept-language":
            let members = members(value).filter { !$0.isEmpty }.map(weighted)
            return Set(members).sorted().joined(separator: ",")
        default:
            guard value.utf8.contains(where: { $0 == UInt8(ascii: ",") || $0.isOptionalWhiteSpace }) else {
                return value
            }
            return members(value).joined(separator: ",")
        }
    }

    private static func members(_ value: String) -> [String] {
        var value = value
        return value.withUTF8 { bytes in
            CacheControl.members(bytes).map { member in
                String(decoding: bytes[CacheControl.trimmed(bytes, member)], as: UTF8.self)
            }
        }
    }

    private static func weighted(_ member: String) -> String {
        // Quoted text can differ in meaning although it looks equivalent.
        guard !member.utf8.contains(UInt8(ascii: "\"")) else { return member }
        var parts = member.split(separator: ";", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }
        // Parameter values may be case-sensitive.
        parts[0] = parts[0].asciiLowercased
        // RFC 9110, section 8.4.1, treats these names as equal.
        if let name = ["x-gzip": "gzip", "x-compress": "compress"][parts[0]] { parts[0] = name }
        if parts.count > 1, let last = parts.last?.asciiLowercased, last.hasPrefix("q="),
            let weight = thousandths(last.dropFirst(2))
        {
            parts.removeLast()
            if weight < 1_000 { parts.append("q=\(weight)") }
        }
        return parts.joined(separator: ";")
    }

    /// RFC 9110, section 12.4.2: from 0 to 1, with at most three decimal places.
    private static func thousandths(_ text: Substring) -> Int? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard let whole = parts.first, whole == "0" || whole == "1", parts.count <= 2 else { return nil }
        let digits = parts.count == 2 ? parts[1] : ""
        guard digits.utf8.count <= 3, digits.utf8.allSatisfy(\.isASCIIDigit) else { return nil }
        let weight = Int(whole + digits + String(repeating: "0", count: 3 - digits.utf8.count)) ?? 0
        return weight <= 1_000 ? weight : nil
    }
}
