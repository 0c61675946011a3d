// SPDX-License-Identifier: MIT

/// A URL reference in a header field of a response (RFC 3986, section 4.1).
package struct URLReference: Sendable {
    private let text: String

    /// Returns nil for a blank reference.
    package init?(_ octets: some Sequence<UInt8>) {
        let bytes = Array(octets.drop(while: Self.isBlank))
        guard !bytes.isEmpty else { return nil }
        text = Self.withPlainDotSegments(Self.legal(bytes[...]))
    }

    /// The components of the resolved URL, without user info, which must come from the caller and not from the server.
    /// Nil if the reference is malformed, or its host cannot be looked up.
    package func parts(against base: URL) -> URLComponents? {
        guard let url = URL(string: text, relativeTo: base)?.absoluteURL,
            let plain = Origin(url) == nil && url.scheme?.hasPrefix("http") == false ? url : url.withPlainHost,
            var parts = URLComponents(url: plain, resolvingAgainstBaseURL: true)
        else { return nil }
        parts.user = nil
        parts.password = nil
        // RFC 3986, section 5.2.2: also for a reference with a scheme or an authority, whose dot segments Foundation
        // keeps.
        parts.percentEncodedPath = PercentEncoding.removingDotSegments(parts.percentEncodedPath)
        return parts
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    /// Percent-encodes illegal bytes, since servers send spaces and other text unencoded. Valid escapes stay unchanged:
    /// Foundation would encode them again if the text has any illegal byte.
    private static func legal(_ location: ArraySlice<UInt8>) -> String {
        let allowed = Set("-._~:/?@!$&'()*+,;=".utf8)
        let bytes = Array(
            location.prefix(upTo: location.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? location.startIndex))
        let authority = authority(of: bytes)
        let fragment = bytes.firstIndex(of: UInt8(ascii: "#"))
        var text = ""
        for (index, byte) in bytes.enumerated() {
            let isLegal =
                switch byte {
                case UInt8(ascii: "%"): bytes[(index + 1)...].prefix(2).count { $0.hexDigitValue != nil } == 2
                case UInt8(ascii: "["), UInt8(ascii: "]"): authority.contains(index)
                case UInt8(ascii: "#"): index == fragment
                default: byte.isASCIIDigit || byte.isASCIILetter || allowed.contains(byte)
                }
            if isLegal {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += byte < 0x10 ? "%0" : "%"
                text += String(byte, radix: 16, uppercase: true)
            }
        }
        return text
    }

    /// Decodes `%2e` in dot segments (WHATWG URL, section 4.1): Foundation would not remove such a segment.
    private static func withPlainDotSegments(_ reference: String) -> String {
        let path = reference.prefix { $0 != "?" && $0 != "#" }
        guard PercentEncoding.containsDotSegment(String(path)), path.contains("%") else { return reference }
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init).map { segment in
            PercentEncoding.containsDotSegment(segment) ? PercentEncoding.decode(segment) ?? segment : segment
        }
        return segments.joined(separator: "/") + reference[path.endIndex...]
    }

    /// The range between `//` and the path (RFC 3986, section 3.2).
    private static func authority(of reference: [UInt8]) -> Range<Int> {
        let delimiters = "/?#".utf8
        guard let start = reference.firstIndex(where: delimiters.contains), reference[start...].starts(with: "//".utf8),
            start == 0 || reference[start - 1] == UInt8(ascii: ":")
        else { return 0..<0 }
        let rest = reference[(start + 2)...]
        return rest.startIndex..<(rest.firstIndex(where: delimiters.contains) ?? rest.endIndex)
    }
}
