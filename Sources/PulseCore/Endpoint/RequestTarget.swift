// SPDX-License-Identifier: MIT

/// The target of a ``Request`` or a verb of the client: a `String`, a `URL`, a ``PathTemplate``, or a custom type that
/// makes one of them.
///
/// An app's enum of routes can be a target as well:
/// `extension Route: RequestTarget { var requestPath: RequestPath { RequestPath("/users/me") } }`.
public protocol RequestTarget: Sendable {
    /// The path of the request, or its absolute URL.
    var requestPath: RequestPath { get }
}

/// The path of a request, or its absolute URL, before its placeholders are filled.
public struct RequestPath: Sendable, Hashable {
    private enum Kind: Sendable, Hashable {
        /// Text that is a template if there are values for it, and is otherwise used as it is.
        case text
        case url
        case template
    }

    private let kind: Kind
    private let text: String

    /// A path as percent-encoded text, or an absolute URL. It is parsed as a ``PathTemplate`` if the request has values
    /// for its placeholders.
    public init(_ path: String) {
        (kind, text) = (.text, path)
    }

    /// A URL: an absolute one is used as it is, a relative one is joined to the client's base URL.
    public init(_ url: URL) {
        (kind, text) = (.url, url.absoluteString)
    }

    /// A template whose placeholders all need values.
    public init(_ template: PathTemplate) {
        (kind, text) = (.template, template.text)
    }
}

extension RequestPath {
    /// The path with its values filled in. Throws as ``PathTemplate/expand(_:)`` does, and also if values are given for
    /// a URL.
    package func filled(with values: [String: any CustomStringConvertible & Sendable]) throws -> String {
        if values.isEmpty, kind != .template { return text }
        guard kind == .url else { return try PathTemplate(text).expand(values) }
        throw PulseError.invalidRequest(
            reason: "a URL has no placeholders for the values of \(values.keys.sorted().joined(separator: ", "))")
    }

    /// The default route of a request: its method, and the path without any value.
    package func route(_ method: HTTPMethod, hasValues: Bool) -> String {
        let isTemplate = hasValues || kind == .template && text.utf8.contains(UInt8(ascii: "{"))
        let path = shown
        return RouteText.route(method, isTemplate ? path : RouteText.withoutValues(path))
    }

    /// The path as written, without its query, scheme and authority.
    var shown: String { PathTemplate(text).route }
}

extension RequestPath: RequestTarget, CustomStringConvertible, CustomReflectable {
    public var requestPath: RequestPath { self }

    /// The path as written, without its query, scheme and authority.
    public var description: String { shown }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension String: RequestTarget {
    /// This text as a path, or as an absolute URL.
    public var requestPath: RequestPath { RequestPath(self) }
}

extension URL: RequestTarget {
    /// This URL, which is joined to the client's base URL if it is relative.
    public var requestPath: RequestPath { RequestPath(self) }
}

extension PathTemplate: RequestTarget {
    /// This template, whose placeholders the values of the request fill.
    public var requestPath: RequestPath { RequestPath(self) }
}
