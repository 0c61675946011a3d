// SPDX-License-Identifier: MIT

import PulseCore

extension PulseResponse {
    /// The media type without its parameters, in lower case (RFC 9110, section 8.3.1); empty without one.
    package var mediaType: String {
        let isSpace: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        let type = (headers["Content-Type"] ?? "").utf8.prefix { $0 != UInt8(ascii: ";") }.drop(while: isSpace)
        guard let last = type.lastIndex(where: { !isSpace($0) }) else { return "" }
        return String(Substring(type[...last])).asciiLowercased
    }
}

/// The response has a media type that the call cannot read.
package struct UnexpectedMediaType: Error, CustomStringConvertible {
    let expected: String
    /// Empty without a `Content-Type`.
    let found: String

    package init(expected: String, found: String) {
        (self.expected, self.found) = (expected, found)
    }

    package var description: String {
        "the response is no \(expected), but " + (found.isEmpty ? "has no Content-Type" : found.onOneLine)
    }
}
