// SPDX-License-Identifier: MIT

/// An identifier of one state of a resource (RFC 9110, section 8.8.3).
package struct EntityTag: Sendable, Equatable {
    /// The text as received.
    package let text: String
    package let isWeak: Bool

    /// Nil without the field, or if the text is not an entity tag: in a list it could be ambiguous.
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

    /// Whether both identify the same state, by weak comparison (RFC 9110, section 8.8.3.2).
    package func names(_ other: EntityTag) -> Bool {
        opaque == other.opaque
    }

    private var opaque: Substring { isWeak ? text.dropFirst(2) : text[...] }
}
