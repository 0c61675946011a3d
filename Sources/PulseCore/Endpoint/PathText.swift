// SPDX-License-Identifier: MIT

/// The path of a request as percent-encoded text, or its absolute URL.
///
/// The interpolations of a literal are raw values, and each fills one segment or a part of one:
///
/// ```swift
/// struct GetFile: Endpoint {
///     typealias Response = Data
///     let owner: String, name: String
///     var path: PathText { "/users/\(owner)/files/\(name)" }
/// }
/// ```
///
/// A value is percent-encoded, as by ``PathTemplate``, so it cannot add a segment, a query or a fragment. A value that
/// leaves its segment empty or makes it `.` or `..` is refused. A part of a segment may be empty, and so may a value
/// after a `?`. The literal text around the values stays unchanged. A literal without interpolations may have
/// placeholders instead, for the values of a ``Request`` or a verb. An invalid path throws when the request is built.
public struct PathText: Sendable {
    enum Kind: Sendable {
        /// `{name}` in its path is a placeholder.
        case literal
        /// Text that is a template if there are values for it, and is otherwise used as it is.
        case text
        case url
        /// Text whose placeholders all need values.
        case template
    }

    let kind: Kind
    /// The text, with its interpolations encoded.
    let written: String
    /// The text with `{id}` in place of each value; nil without values.
    let pattern: String?
    /// The reason why the path is invalid; nil if it is valid.
    let refusal: String?
    /// The warning about a value whose separators would count in plain text; nil without such a value.
    package let warning: String?

    init(_ kind: Kind, _ text: String, pattern: String? = nil, refusal: String? = nil, warning: String? = nil) {
        self.kind = kind
        self.written = text
        self.pattern = pattern
        self.refusal = refusal
        self.warning = warning
    }

    /// Creates a path from percent-encoded text, or from an absolute URL, which is used as it is. The text is parsed as
    /// a ``PathTemplate`` if the request has values for its placeholders.
    public init(_ path: String) {
        self.init(.text, path)
    }

    /// Creates a path from a URL: an absolute URL is used as it is, a relative one is joined to the client's base URL.
    public init(_ url: URL) {
        self.init(.url, url.absoluteString)
    }

    /// Creates a path from a template whose placeholders all need values.
    public init(_ template: PathTemplate) {
        self.init(.template, template.text)
    }

    /// The percent-encoded text.
    ///
    /// Throws ``PulseError/invalidRequest(reason:)`` for a refused value and for a placeholder, which has no value
    /// here, and ``PulseError/invalidURL(_:)`` for an invalid template. The error's text never shows a value.
    public var text: String {
        get throws { kind == .text ? written : try filled(with: [:]).written }
    }
}

extension PathText {
    /// The path with the values of its placeholders. Throws for an invalid path, as ``PathTemplate/expand(_:)`` does,
    /// and also if values are given for a URL or for a literal with interpolations.
    package func filled(with values: [String: any CustomStringConvertible & Sendable]) throws -> PathText {
        if let refusal { throw fault(refusal) }
        let isReady = kind == .text || kind == .url || kind == .literal && !hasPlaceholder
        if values.isEmpty, isReady { return PathText(.text, written, pattern: pattern, warning: warning) }
        guard kind != .url else {
            throw PulseError.invalidRequest(
                reason: "a URL has no placeholders for the values of \(values.keys.sorted().joined(separator: ", "))")
        }
        guard pattern == nil else { throw fault("a literal has either interpolations or placeholders") }
        return PathText(.text, try PathTemplate(written).expand(values), pattern: written)
    }

    /// Whether the path has a brace before its query, where a brace may be a part of a filter.
    private var hasPlaceholder: Bool {
        for byte in written.utf8 {
            if byte == UInt8(ascii: "?") { return false }
            if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "}") { return true }
        }
        return false
    }

    private func fault(_ reason: String) -> PulseError {
        .invalidRequest(reason: "path \(shown): \(reason)")
    }

    /// The default route of a request: its method, and the path without any value.
    package func route(_ method: HTTPMethod, hasValues: Bool) -> String {
        let path = shown
        let isTemplate = hasValues || pattern != nil || kind != .text && path.utf8.contains(UInt8(ascii: "{"))
        return RouteText.route(method, isTemplate ? path : RouteText.withoutValues(path))
    }

    /// The path without its values, query, scheme and authority.
    var shown: String { PathTemplate(pattern ?? written).route }
}

extension PathText: Hashable {
    /// Whether the texts are equal, whatever their source.
    public static func == (one: PathText, other: PathText) -> Bool {
        one.written == other.written && one.refusal == other.refusal
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(written)
        hasher.combine(refusal)
    }
}

extension PathText: CustomStringConvertible, CustomReflectable {
    /// The path without its query, scheme and authority, or the reason why it is invalid.
    public var description: String { refusal.map { "\(fault($0))" } ?? PathTemplate(written).route }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
