// SPDX-License-Identifier: MIT

extension HTTPHeaders {
    /// Where `Location` leads (RFC 9110, section 10.2.2), seen from the URL that was asked for; nil if it is missing,
    /// is no URL, or comes twice with different values.
    ///
    /// Lenient in what servers get wrong: raw spaces and characters outside ASCII are percent-encoded. Strict in what
    /// could mislead: user info is dropped.
    package func location(from base: URL) -> URL? {
        let lines = values(for: "Location")
        guard let line = lines.first, lines.allSatisfy({ $0 == line }) else { return nil }
        let text = line.trimmingCharacters(in: .whitespaces)
        guard !text.isEmpty else { return nil }
        return URLReference(text).resolved(against: URLReference(base.absoluteString)).url
    }
}

/// A URI reference (RFC 3986, section 4.1) and its resolution. By hand, since `URL(string:relativeTo:)` differs between
/// the systems that PulseKit runs on, and up to iOS 16 knows nothing of text that is not encoded. In bytes, since a
/// slash with a combining mark behind it is another `Character`, but still a slash.
struct URLReference {
    private var scheme: ArraySlice<UInt8>?
    private var authority: ArraySlice<UInt8>?
    private var path: ArraySlice<UInt8>
    private var query: ArraySlice<UInt8>?
    private var fragment: ArraySlice<UInt8>?

    private static let slash = UInt8(ascii: "/")

    /// Any text is one: the expression of RFC 3986, appendix B.
    init(_ text: String) {
        var rest = Array(text.utf8)[...]
        fragment = Self.cutTail(of: &rest, behind: UInt8(ascii: "#"))
        query = Self.cutTail(of: &rest, behind: UInt8(ascii: "?"))
        if let colon = rest.firstIndex(of: UInt8(ascii: ":")), Self.isScheme(rest[..<colon]) {
            scheme = rest[..<colon]
            rest = rest[(colon + 1)...]
        }
        if rest.starts(with: [Self.slash, Self.slash]) {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(of: Self.slash) ?? rest.endIndex
            authority = rest[..<end]
            rest = rest[end...]
        }
        path = rest
    }

    /// RFC 3986, section 5.2.2, but for user info, which a reference does not bring along, and for the fragment, which
    /// it inherits (RFC 9110, section 10.2.2).
    func resolved(against base: URLReference) -> URLReference {
        var target = self
        if let authority, let sign = authority.lastIndex(of: UInt8(ascii: "@")) {
            target.authority = authority[(sign + 1)...]
        }
        if scheme == nil {
            target.scheme = base.scheme
            if authority == nil {
                target.authority = base.authority
                if path.isEmpty {
                    target.path = base.path
                    target.query = query ?? base.query
                } else if path.first != Self.slash {
                    target.path = base.merged(with: path)
                }
            }
        }
        target.path = Self.withoutDotSegments(target.path)
        target.fragment = fragment ?? base.fragment
        return target
    }

    /// Nil if it does not make a URL after all.
    var url: URL? {
        var text = ""
        if let scheme { text += Self.text(scheme) + ":" }
        if let authority { text += "//" + Self.text(authority) }
        text += PercentEncoding.path(Self.text(path))
        if let query { text += "?" + PercentEncoding.queryText(Self.text(query)) }
        if let fragment { text += "#" + PercentEncoding.queryText(Self.text(fragment)) }
        return URL(string: text)
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self)
    }

    private static func cutTail(of text: inout ArraySlice<UInt8>, behind sign: UInt8) -> ArraySlice<UInt8>? {
        guard let index = text.firstIndex(of: sign) else { return nil }
        defer { text = text[..<index] }
        return text[(index + 1)...]
    }

    private static func isScheme(_ text: ArraySlice<UInt8>) -> Bool {
        guard let first = text.first, first.isASCIILetter else { return false }
        return text.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "+-.".utf8.contains($0) }
    }

    /// RFC 3986, section 5.2.3.
    private func merged(with reference: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        if authority != nil, path.isEmpty { return [Self.slash] + reference }
        let directory = path.lastIndex(of: Self.slash).map { path[...$0] } ?? []
        return directory + reference
    }

    /// RFC 3986, section 5.2.4, of a path that begins with a slash or is empty, as all behind an authority do.
    private static func withoutDotSegments(_ path: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let dot = UInt8(ascii: ".")
        guard path.contains(dot) else { return path }
        var kept: [ArraySlice<UInt8>] = []
        let segments = path.split(separator: slash, omittingEmptySubsequences: false)
        for (index, segment) in segments.enumerated() {
            let isParent = segment.elementsEqual([dot, dot])
            guard isParent || segment.elementsEqual([dot]) else {
                kept.append(segment)
                continue
            }
            // The first segment is the nothing before the first slash.
            if isParent, kept.count > 1 { kept.removeLast() }
            if index == segments.count - 1 { kept.append([]) }
        }
        return ArraySlice(kept.joined(separator: [slash]))
    }
}
