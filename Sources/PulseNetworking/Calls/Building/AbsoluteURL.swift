// SPDX-License-Identifier: MIT

import PulseCore

/// Why a text cannot be used as a URL.
struct URLFault: Error {
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}

/// The path and query of an endpoint, percent-encoded where needed (RFC 3986, sections 3.3 and 3.4).
struct PathAndQuery: Sendable {
    let path: String
    /// Nil without a `?`; an empty query is sent with its `?`, which may name another resource.
    let query: String?

    init(_ text: Substring) throws(URLFault) {
        guard !text.utf8.contains(UInt8(ascii: "#")) else { throw URLFault("a fragment is not sent to a server") }
        let end = text.utf8.firstIndex(of: UInt8(ascii: "?")) ?? text.endIndex
        path = PercentEncoding.path(String(text[..<end]))
        // Compares bytes: `?` and a combining mark after it form one Character.
        query =
            end == text.endIndex ? nil : PercentEncoding.queryText(String(Substring(text.utf8[end...].dropFirst())))
        guard !PercentEncoding.containsDotSegment(path) else { throw URLFault("a dot segment") }
    }
}

/// A parsed `http` or `https` URL. Its parts contain only legal characters (RFC 3986).
struct AbsoluteURL: Sendable {
    /// Scheme, authority, and the path without its trailing slashes. A path that begins with a slash can be appended.
    let stem: String
    /// Nil without a `?`.
    let query: String?
    private let whole: String

    /// Whether a text has a scheme and an authority, and thus ignores the base URL (RFC 3986, section 3.1).
    static func hasScheme(_ text: String) -> Bool {
        scheme(of: text) != nil
    }

    init(_ text: String) throws(URLFault) {
        guard let scheme = Self.scheme(of: text)?.asciiLowercased, ["http", "https"].contains(scheme) else {
            throw URLFault("neither http nor https")
        }
        let rest = text.utf8.dropFirst(scheme.utf8.count + 3)
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
        let reference = try PathAndQuery(text[(end ?? rest.endIndex)...])
        var root = scheme + "://" + (try Self.authority(text[rest.startIndex..<(end ?? rest.endIndex)]))
        if !root.utf8.allSatisfy({ $0 < 0x80 }) {
            root = try Self.internationalized(root)
        }
        query = reference.query
        whole = root + reference.path
        let trailing = reference.path.utf8.reversed().prefix { $0 == UInt8(ascii: "/") }.count
        stem = root + reference.path.dropLast(trailing)
    }

    /// Joins this URL's path and another with one slash. An empty path adds nothing, not even the slash.
    func joined(to path: String) -> String {
        path.isEmpty ? whole : stem + "/" + path.drop { $0 == "/" }
    }

    private static func scheme(of text: String) -> String? {
        guard let first = text.utf8.first, first.isASCIILetter,
            let end = text.utf8.firstIndex(where: { !schemeCharacters.contains($0) }),
            text.utf8[end...].starts(with: "://".utf8)
        else { return nil }
        return String(text[..<end])
    }

    private static let schemeCharacters = ASCIISet.alphanumerics.union(ASCIISet("+-."))
}

extension AbsoluteURL {
    /// Validates `user:password@host:port` (RFC 3986, section 3.2). Rejects authorities whose host parsers disagree on,
    /// such as one with a second `@`.
    private static func authority(_ text: Substring) throws(URLFault) -> String {
        var address = text
        var userInfo = ""
        if let at = text.utf8.firstIndex(of: UInt8(ascii: "@")) {
            userInfo = String(text[...at])
            address = text[text.utf8.index(after: at)...]
            guard userInfo == PercentEncoding.path(userInfo) else { throw URLFault("malformed user info") }
        }
        let bracket = address.utf8.first == UInt8(ascii: "[") ? address.utf8.firstIndex(of: UInt8(ascii: "]")) : nil
        let colon = address.utf8[(bracket ?? address.startIndex)...].firstIndex(of: UInt8(ascii: ":"))
        let host = try host(address[..<(colon ?? address.endIndex)])
        return userInfo + host + (try port(Substring(address.utf8[(colon ?? address.endIndex)...].dropFirst())))
    }

    private static func host(_ text: Substring) throws(URLFault) -> String {
        guard !text.isEmpty else { throw URLFault("no host") }
        if text.utf8.first == UInt8(ascii: "[") {
            guard text.utf8.last == UInt8(ascii: "]"), IPv6Text.isLiteral(text.utf8.dropFirst().dropLast()) else {
                throw URLFault("malformed host")
            }
            return String(text)
        }
        // Decodes escapes in the host, since not every layer below does.
        guard let host = PercentEncoding.decode(text),
            host.utf8.allSatisfy({ $0 >= 0x80 || ASCIISet.host.contains($0) }), host.hasLabel
        else { throw URLFault("malformed host") }
        return host
    }

    /// The port with its colon, or an empty text if there is none.
    private static func port(_ digits: Substring) throws(URLFault) -> String {
        guard !digits.isEmpty else { return "" }
        guard digits.utf8.allSatisfy(\.isASCIIDigit), let port = UInt16(digits) else {
            throw URLFault("malformed port")
        }
        return ":\(port)"
    }

    /// The root with its host in Punycode (RFC 5891), as computed by Foundation.
    private static func internationalized(_ root: String) throws(URLFault) -> String {
        guard let text = URL(string: root)?.absoluteString, text.utf8.allSatisfy({ $0 < 0x80 }) else {
            throw URLFault("malformed host")
        }
        // Foundation turns a full-width percent sign into an ASCII one.
        guard let url = URL(string: text), url.withPlainHost == url else { throw URLFault("malformed host") }
        return text
    }
}
