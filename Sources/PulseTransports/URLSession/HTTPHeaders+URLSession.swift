// SPDX-License-Identifier: MIT

import PulseCore

// Corrections to response fields that both of Foundation's implementations need.
extension HTTPHeaders {
    /// Removes the fields about a content coding that `URLSession` has decoded.
    mutating func removeDecodedContentFields() {
        guard let coding = self["Content-Encoding"]?.asciiLowercased, !coding.isEmpty else { return }
        let codings = coding.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        // Empty members of a list do not count (RFC 9110, section 5.6.1).
        guard codings.allSatisfy({ $0.isEmpty || Self.decodedCodings.contains($0) }) else { return }
        removeContentFields()
    }

    /// Removes the fields that describe the coded body.
    mutating func removeContentFields() {
        remove("Content-Encoding")
        remove("Content-Length")
    }

    /// Splits the cookies into separate lines: `URLSession` joins them with commas, which also occur in dates and
    /// values.
    mutating func separateCookies() {
        guard let joined = self["Set-Cookie"] else { return }
        remove("Set-Cookie")
        for cookie in Self.cookies(in: joined) { add(name: "Set-Cookie", value: cookie) }
    }

    /// The cookies in a joined text. A comma ends a cookie if a name and `=` follow; in a date a space precedes any
    /// `=`.
    private static func cookies(in joined: String) -> [String] {
        var cookies: [String] = []
        for piece in joined.components(separatedBy: ", ") {
            let name = piece.utf8.prefix { $0 != UInt8(ascii: "=") }
            let beginsCookie = name.count < piece.utf8.count && String(Substring(name)).isHTTPToken
            if beginsCookie || cookies.isEmpty {
                cookies.append(piece)
            } else {
                cookies[cookies.count - 1] += ", " + piece
            }
        }
        return cookies
    }
}
