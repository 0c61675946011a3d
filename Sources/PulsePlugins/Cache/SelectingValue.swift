// SPDX-License-Identifier: MIT

import PulseCore

/// The value of a request field that a `Vary` names, in the form in which equal ones are equal (RFC 9111, section 4.1).
enum SelectingValue {
    /// Blanks around the members of a list count for nothing. In the fields for negotiation whose members are weighted
    /// (RFC 9110, section 12.5) neither do case, order, repetition, and the ways to write one weight.
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
        // What is quoted may be written in two ways and mean two things.
        guard !member.utf8.contains(UInt8(ascii: "\"")) else { return member }
        var parts = member.split(separator: ";", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }
        // The value of a parameter may depend on case.
        parts[0] = parts[0].asciiLowercased
        // Names that RFC 9110, section 8.4.1, holds to be the same.
        if let name = ["x-gzip": "gzip", "x-compress": "compress"][parts[0]] { parts[0] = name }
        if parts.count > 1, let last = parts.last?.asciiLowercased, last.hasPrefix("q="),
            let weight = thousandths(last.dropFirst(2))
        {
            parts.removeLast()
            if weight < 1_000 { parts.append("q=\(weight)") }
        }
        return parts.joined(separator: ";")
    }

    /// RFC 9110, section 12.4.2: from 0 to 1, with three digits after the point at most.
    private static func thousandths(_ text: Substring) -> Int? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard let whole = parts.first, whole == "0" || whole == "1", parts.count <= 2 else { return nil }
        let digits = parts.count == 2 ? parts[1] : ""
        guard digits.utf8.count <= 3, digits.utf8.allSatisfy(\.isASCIIDigit) else { return nil }
        let weight = Int(whole + digits + String(repeating: "0", count: 3 - digits.utf8.count)) ?? 0
        return weight <= 1_000 ? weight : nil
    }
}
