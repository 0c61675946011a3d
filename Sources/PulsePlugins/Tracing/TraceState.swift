// SPDX-License-Identifier: MIT

import PulseCore

/// Validates a `tracestate` (W3C Trace Context, section 3.3).
enum TraceState {
    private static let maxMembers = 32
    /// Vendors must forward this many bytes; a longer value may exceed a server's header limit.
    private static let maxLength = 512

    /// The text if it is a list of members with distinct keys, otherwise nil; also nil for an empty one.
    static func valid(_ text: String) -> String? {
        guard text.utf8.count <= maxLength else { return nil }
        var keys: Set<String> = []
        for member in text.split(separator: ",") {
            let member = member.trimmingCharacters(in: .init(charactersIn: " \t"))
            if member.isEmpty { continue }
            guard let equals = member.firstIndex(of: "="), isKey(member[..<equals].utf8),
                isValue(member[member.index(after: equals)...].utf8),
                keys.insert(String(member[..<equals])).inserted
            else { return nil }
        }
        return (1...maxMembers).contains(keys.count) ? text : nil
    }

    /// `simple` or `tenant@system`.
    private static func isKey(_ key: Substring.UTF8View) -> Bool {
        let parts = key.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        switch parts.count {
        case 1: return isName(parts[0], maxLength: 256, mayBeginWithDigit: true)
        case 2:
            return isName(parts[0], maxLength: 241, mayBeginWithDigit: true)
                && isName(parts[1], maxLength: 14, mayBeginWithDigit: false)
        default: return false
        }
    }

    private static func isName(
        _ name: Substring.UTF8View.SubSequence, maxLength: Int, mayBeginWithDigit: Bool
    ) -> Bool {
        guard let first = name.first, name.count <= maxLength,
            isLowercase(first) || mayBeginWithDigit && first.isASCIIDigit
        else { return false }
        return name.allSatisfy { isLowercase($0) || $0.isASCIIDigit || "_-*/".utf8.contains($0) }
    }

    private static func isLowercase(_ byte: UInt8) -> Bool {
        byte.isASCIILetter && byte.asciiLowercased == byte
    }

    /// Printable, without comma and equals sign; trailing space has been trimmed.
    private static func isValue(_ value: Substring.UTF8View) -> Bool {
        (1...256).contains(value.count)
            && value.allSatisfy {
                (0x20...0x7E).contains($0) && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "=")
            }
    }
}
