// SPDX-License-Identifier: MIT

/// A validator that identifies one state of a resource (RFC 9110, section 8.8.3).
package struct EntityTag: Sendable, Equatable {
    /// The text as received.
    package let text: String
    package let isWeak: Bool

    /// Returns nil if the field is missing or not a valid entity tag, which could be ambiguous in a list.
    package init?(of headers: HTTPHeaders) {
        guard let value = headers["ETag"] else { return nil }
        self.init(value.trimmingCharacters(in: .whitespaces))
    }

    package init?(_ text: String) {
        isWeak = text.hasPrefix("W/")
        let opaque = isWeak ? text.dropFirst(2) : text[...]
        let bytes = opaque.utf8
        guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") else { return nil }
        // `etagc`: no quote, no control character, no space.
        let isValid = bytes.dropFirst().dropLast().allSatisfy {
            $0 == 0x21 || (0x23...0x7E).contains($0) || $0 >= 0x80
        }
        guard isValid else { return nil }
        self.text = text
    }

    /// Whether the tags match by weak comparison (RFC 9110, section 8.8.3.2).
    package func names(_ other: EntityTag) -> Bool {
        opaque == other.opaque
    }

    private var opaque: Substring { isWeak ? text.dropFirst(2) : text[...] }
}
