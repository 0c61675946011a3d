// SPDX-License-Identifier: MIT

import PulseCore

extension PulseResponse {
    /// The media type without its parameters, in lower case (RFC 9110, section 8.3.1); empty without one.
    var mediaType: String {
        let value = headers["Content-Type"] ?? ""
        let end = value.utf8.firstIndex(of: UInt8(ascii: ";")) ?? value.endIndex
        return value[..<end].trimmingCharacters(in: .whitespaces).asciiLowercased
    }
}

/// The response has another media type than the call can read.
struct UnexpectedMediaType: Error, CustomStringConvertible {
    let expected: String
    /// Empty for none.
    let found: String

    var description: String {
        "the response is no \(expected), but " + (found.isEmpty ? "has no Content-Type" : found)
    }
}
