// SPDX-License-Identifier: MIT

import PulseCore

extension Download {
    /// The published digest of a content.
    public enum Digest: Sendable, Hashable {
        /// SHA-256 in 64 hexadecimal digits of either case.
        case sha256(String)

        /// The digest in lowercase digits; nil if it is invalid.
        package var hex: String? {
            switch self {
            case .sha256(let text):
                let text = text.asciiLowercased
                return text.utf8.count == 64 && text.utf8.allSatisfy(\.isLowerCaseHexDigit) ? text : nil
            }
        }

        /// The SHA-256 in a field `Repr-Digest` or `Content-Digest` (RFC 9530), in lower-case hexadecimal digits; nil
        /// if the field has none. The fields are dictionaries of byte sequences (RFC 8941, section 3.2):
        /// `sha-256=:BASE64:`.
        package static func sha256(inField field: String) -> String? {
            var found: String?
            for member in field.split(separator: ",") {
                let member = member.trimmingCharacters(in: .whitespaces)
                guard member.hasPrefix("sha-256=:") else { continue }
                let value = member.dropFirst(9)
                // Of several members with one key, the last counts.
                found = nil
                guard let end = value.firstIndex(of: ":") else { continue }
                // RFC 8941 (section 4.2.7) asks parsers to accept missing padding.
                let digits = value[..<end].prefix { $0 != "=" }
                guard digits.utf8.count == 43, let bytes = Data(base64Encoded: digits + "="), bytes.count == 32 else {
                    continue
                }
                found = bytes.map { String(UInt16($0) + 0x100, radix: 16).dropFirst() }.joined()
            }
            return found
        }
    }
}

extension UInt8 {
    fileprivate var isLowerCaseHexDigit: Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self)
    }
}
