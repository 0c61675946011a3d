// SPDX-License-Identifier: MIT

/// A path with named placeholders for raw values.
///
/// ```swift
/// let template: PathTemplate = "/users/{id}/files/file-{name}.json"
/// let path = try template.expand(["id": 7, "name": "a b"])  // /users/7/files/file-a%20b.json
/// ```
///
/// A value fills one segment or a part of one, and nothing more. Everything outside `unreserved` (RFC 3986, section
/// 2.3) is percent-encoded, so a value cannot add a segment, a query or a fragment. A value that is empty or makes the
/// segment `.` or `..` is refused. The text around the placeholders is percent-encoded path text, as in any endpoint's
/// path, and stays unchanged; a `?` in it starts a query, where a value may be empty.
///
/// A ``PathText`` has the same rules for values in the literal itself, except that a part of a segment may be empty.
///
/// A template can be created from any text; an invalid template throws when it is used.
public struct PathTemplate: Sendable, Hashable {
    /// The template as written; its path is the `route` in the metrics.
    public let text: String

    /// Creates a template from any text; an invalid template throws when it is used.
    public init(_ text: String) {
        self.text = text
    }

    /// Returns the path with every placeholder filled.
    ///
    /// A name may occur several times in the template and then gets the same value each time.
    ///
    /// Throws ``PulseError/invalidRequest(reason:)`` if a value is missing, unused or refused; its text names the
    /// parameter and never shows a value. Throws ``PulseError/invalidURL(_:)`` if the template itself is invalid.
    public func expand(_ values: [String: any CustomStringConvertible & Sendable]) throws -> String {
        var path = ""
        var used: Set<String> = []
        let pieces = try pieces()
        for piece in pieces {
            switch piece {
            case .literal(let text):
                path += text
            case .rest(let name):
                throw refusal("{\(name)...} can only be matched")
            case .placeholder(let name):
                guard let value = values[name]?.description else {
                    throw refusal("no value for {\(name)}" + Self.lists(pieces, values.keys))
                }
                guard !value.isEmpty || path.utf8.contains(UInt8(ascii: "?")) else {
                    throw refusal("the value for {\(name)} is empty")
                }
                path += PercentEncoding.segment(value)
                used.insert(name)
            }
        }
        guard used.count == values.count else {
            let unused = values.keys.filter { !used.contains($0) }.sorted()
            throw refusal(
                "no placeholder for the value of \(unused.joined(separator: ", "))" + Self.lists(pieces, values.keys))
        }
        let end = path.utf8.firstIndex(of: UInt8(ascii: "?")) ?? path.endIndex
        guard !PercentEncoding.containsDotSegment(String(path[..<end])) else {
            throw refusal("the values make a dot segment")
        }
        return path
    }

    /// The expected and the given names side by side: a mismatch is often only a different spelling.
    private static func lists(_ pieces: [Piece], _ given: some Sequence<String>) -> String {
        var (names, known): ([String], Set<String>) = ([], [])
        for case .placeholder(let name) in pieces where known.insert(name).inserted { names.append(name) }
        return "; it expects \(list(names)) and got \(list(given.sorted()))"
    }

    private static func list(_ names: [String]) -> String {
        names.isEmpty ? "nothing" : names.joined(separator: ", ")
    }

    private func refusal(_ reason: String) -> PulseError {
        .invalidRequest(reason: "path template \(text): \(reason)")
    }
}

extension PathTemplate: ExpressibleByStringLiteral, CustomStringConvertible {
    public init(stringLiteral text: String) {
        self.init(text)
    }

    public var description: String { text }
}

extension PathTemplate {
    /// The path only, as written; `/` if the template is only an authority or a query.
    var route: String {
        let bytes = text.utf8
        let end = bytes.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? bytes.endIndex
        let start = authorityStart.map { bytes[$0..<end].firstIndex(of: UInt8(ascii: "/")) ?? end } ?? bytes.startIndex
        guard start > bytes.startIndex || end < bytes.endIndex else { return text }
        return start < end ? String(text[start..<end]) : "/"
    }

    /// The index after `scheme://` at the start (RFC 3986, section 3.1). Nothing else makes a template absolute.
    private var authorityStart: String.Index? {
        let bytes = text.utf8
        guard let first = bytes.first, first.isASCIILetter,
            let end = bytes.firstIndex(where: { !Self.schemeCharacters.contains($0) }),
            bytes[end...].starts(with: "://".utf8)
        else { return nil }
        return bytes.index(end, offsetBy: 3)
    }

    private static let schemeCharacters = ASCIISet.alphanumerics.union(ASCIISet("+-."))
}

extension PathTemplate {
    enum Piece {
        case literal(String)
        /// `{name}`
        case placeholder(String)
        /// `{name...}` at the end: the rest of a path. Only for ``match(_:)``.
        case rest(String)
    }

    /// The parsed pieces of the template.
    ///
    /// Throws ``PulseError/invalidURL(_:)`` for an unbalanced brace, for a `{rest...}` that is not at the end, and for
    /// a name that is empty or has other characters than ASCII letters, digits, `-`, `_` and `.`.
    func pieces() throws -> [Piece] {
        var pieces: [Piece] = []
        var remaining = text.utf8[...]
        while let brace = remaining.firstIndex(where: { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "}") }) {
            guard remaining[brace] == UInt8(ascii: "{"), let end = remaining[brace...].firstIndex(of: UInt8(ascii: "}"))
            else { throw fault("an unbalanced brace") }
            if brace > remaining.startIndex {
                pieces.append(.literal(String(decoding: remaining[..<brace], as: UTF8.self)))
            }
            let name = String(decoding: remaining[brace..<end].dropFirst(), as: UTF8.self)
            remaining = remaining[end...].dropFirst()
            pieces.append(try placeholder(name, isLast: remaining.isEmpty))
        }
        if !remaining.isEmpty {
            pieces.append(.literal(String(decoding: remaining, as: UTF8.self)))
        }
        return pieces
    }

    private func placeholder(_ content: String, isLast: Bool) throws -> Piece {
        let isRest = content.hasSuffix("...")
        let name = isRest ? String(content.dropLast(3)) : content
        guard !name.isEmpty, name.utf8.allSatisfy(Self.nameCharacters.contains) else {
            throw fault("{\(content)} is not a valid parameter")
        }
        guard isRest else { return .placeholder(name) }
        guard isLast else { throw fault("{\(content)} must be at the end") }
        return .rest(name)
    }

    private func fault(_ reason: String) -> PulseError {
        .invalidURL("path template \(text): \(reason)")
    }

    private static let nameCharacters = ASCIISet.alphanumerics.union(ASCIISet("-_."))
}
