// SPDX-License-Identifier: MIT

/// The syntaxes in which redaction parses names exactly instead of searching for them.
enum MediaType {
    case json
    case form
    case multipart(boundary: [UInt8])
    case other

    init(_ contentType: String?, body: [UInt8]) {
        self.init(contentType, body, 0..<body.count)
    }

    /// Determines the type from `Content-Type`, or else from the start of the body: servers label JSON as anything. A
    /// form must also begin like one, since `curl -d` and similar tools label every body as a form.
    init(_ contentType: String?, _ bytes: [UInt8], _ body: Range<Int>) {
        let type = (contentType ?? "").asciiLowercased
        let first = bytes[body].first { ![0x20, 0x0A, 0x0D, 0x09, 0x1E, 0xEF, 0xBB, 0xBF].contains($0) }
        let looksLikeJSON = first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
        if type.hasPrefix("application/x-www-form-urlencoded"), !looksLikeJSON {
            self = .form
        } else if type.hasPrefix("multipart/"),
            let boundary = HeaderParameter.value(of: "boundary", in: Array((contentType ?? "").utf8)), !boundary.isEmpty
        {
            self = .multipart(boundary: boundary)
        } else if type.hasPrefix("multipart/") || type.isEmpty, let boundary = Self.boundary(bytes, body) {
            self = .multipart(boundary: boundary)
        } else {
            self = looksLikeJSON || type.contains("json") ? .json : .other
        }
    }

    /// The boundary in the first line of a multipart body without a usable `Content-Type`.
    private static func boundary(_ bytes: [UInt8], _ body: Range<Int>) -> [UInt8]? {
        // RFC 2046, section 5.1.1: at most 70 characters.
        let line = bytes[body].prefix(74).prefix { $0 != 0x0A && $0 != 0x0D }
        guard line.starts(with: "--".utf8), line.count > 2, line.count < 74 else { return nil }
        return Array(line.dropFirst(2))
    }
}
