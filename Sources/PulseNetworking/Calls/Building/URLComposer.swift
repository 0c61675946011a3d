// SPDX-License-Identifier: MIT

import PulseCore

/// Joins a client's base URL, an endpoint's path and its query items into the request's URL.
///
/// The base is parsed once. A common request costs one scan of its path, one concatenation and one `URL`.
/// `URL(string:)` gets strictly legal text (RFC 3986), because older systems repair nothing and return nil.
package struct URLComposer: Sendable {
    private enum Base: Sendable {
        case none
        case usable(AbsoluteURL)
        case unusable(String)
    }

    private let base: Base

    /// Stores the error of an unusable base; each ``url(path:query:)`` that needs the base throws it.
    package init(baseURL: URL?) {
        guard let text = baseURL?.absoluteString else {
            base = .none
            return
        }
        do throws(URLFault) {
            base = .usable(try AbsoluteURL(text))
        } catch {
            base = .unusable(Self.text(error, of: text))
        }
    }

    /// Why a base URL cannot be used; nil if it can, or if there is none.
    static func fault(of baseURL: URL?) -> String? {
        guard case .unusable(let fault) = URLComposer(baseURL: baseURL).base else { return nil }
        return fault
    }

    /// Explains a common mistake: `localhost:8080` is a URL whose scheme is `localhost`.
    private static func text(_ fault: URLFault, of base: String) -> String {
        let hint = "; it begins with http:// or https://"
        if base == PulseConfiguration.emptyBaseURL?.absoluteString { return "the base URL is empty" + hint }
        if base == PulseConfiguration.unreadableBaseURL?.absoluteString { return "the base URL is no URL" + hint }
        let isClear = AbsoluteURL.hasScheme(base) || base.isEmpty
        return "the base URL \(presentable(base)): \(fault.reason)" + (isClear ? "" : hint)
    }

    /// The request's URL: base path and `path` joined by one slash, then the queries of the base, of the path and of
    /// the items. A `path` that begins with `http://` or `https://` replaces the base.
    ///
    /// `path` is percent-encoded text. Valid escapes are kept; other characters outside `pchar` and `/` are encoded.
    /// `?` starts a query, which is kept unchanged, even if empty. Throws ``PulseError/invalidURL(_:)`` for a `#`, a
    /// dot segment (also as `%2e`), another scheme, a missing host, and a relative path without a base. The error's
    /// text contains neither the query nor the user info.
    package func url(path: String, query items: [URLQueryItem]) throws -> URL {
        do throws(URLFault) {
            return try composed(path, items)
        } catch {
            throw PulseError.invalidURL("\(Self.presentable(path)): \(error.reason)")
        }
    }

    private func composed(_ path: String, _ items: [URLQueryItem]) throws(URLFault) -> URL {
        if case .usable(let base) = base, Self.isPlain(path) {
            return try Self.url(base.stem + path, base.query, items)
        }
        if AbsoluteURL.hasScheme(path) {
            let absolute = try AbsoluteURL(path)
            return try Self.url(absolute.joined(to: ""), absolute.query, items)
        }
        let reference = try PathAndQuery(path[...])
        let base = try usableBase()
        let queries = [base.query, reference.query].compactMap { $0 }
        let query = queries.isEmpty ? nil : queries.filter { !$0.isEmpty }.joined(separator: "&")
        return try Self.url(base.joined(to: reference.path), query, items)
    }

    private func usableBase() throws(URLFault) -> AbsoluteURL {
        switch base {
        case .usable(let base): return base
        case .none: throw URLFault("a relative path needs a base URL")
        case .unusable(let reason): throw URLFault(reason)
        }
    }

    private static func url(_ root: String, _ query: String?, _ items: [URLQueryItem]) throws(URLFault) -> URL {
        var text = root
        if let query { text += "?" + query }
        if !items.isEmpty {
            if query != "" { text += query == nil ? "?" : "&" }
            text += QueryEncoder.queryString(items)
        }
        guard let url = URL(string: text) else { throw URLFault("not a URL") }
        return url
    }

    /// Whether a path is like `/users/42`: it starts with one slash, needs no encoding, and no segment starts with a
    /// dot. Excludes colons, which may end a scheme, and percent signs, whose escapes need validation.
    private static func isPlain(_ path: String) -> Bool {
        var previous: UInt8 = 0
        for byte in path.utf8 {
            guard plain.contains(byte) else { return false }
            if previous == 0, byte != slash { return false }
            if previous == slash, byte == dot || byte == slash { return false }
            previous = byte
        }
        return previous != 0
    }

    /// A path for error messages, without possible secrets and control characters.
    private static func presentable(_ path: String) -> String {
        var shown = PercentEncoding.path(String(path.unicodeScalars.prefix { $0 != "?" && $0 != "#" }))
        let start = shown.range(of: "://")?.upperBound ?? shown.startIndex
        if let at = shown[start...].prefix(while: { $0 != "/" }).lastIndex(of: "@") {
            shown.removeSubrange(start...at)
        }
        return shown
    }

    private static let plain = ASCIISet.path.subtracting(ASCIISet(":"))
    private static let slash = UInt8(ascii: "/")
    private static let dot = UInt8(ascii: ".")
}
