// SPDX-License-Identifier: MIT

/// What a ``Request`` or a verb of the client is sent to: a `String`, a `URL`, a ``PathTemplate``, or a type of your
/// own that makes one of them.
///
/// An app's enum of routes is a target as well:
/// `extension Route: RequestTarget { var requestPath: RequestPath { RequestPath("/users/me") } }`.
public protocol RequestTarget: Sendable {
    /// The path of the request, or its absolute URL.
    var requestPath: RequestPath { get }
}

/// The path of a request, or its absolute URL, before the values of its gaps are filled in.
public struct RequestPath: Sendable, Hashable {
    private enum Kind: Sendable, Hashable {
        /// Text that is a template if there are values for it, and else stands as it is.
        case text
        case url
        case template
    }

    private let kind: Kind
    private let text: String

    /// A path as percent-encoded text, or an absolute URL. It is read as a ``PathTemplate`` if the request has values
    /// for its gaps.
    public init(_ path: String) {
        (kind, text) = (.text, path)
    }

    /// A URL: an absolute one is used as it is, a relative one is joined to the client's base URL.
    public init(_ url: URL) {
        (kind, text) = (.url, url.absoluteString)
    }

    /// A template, whose gaps all need values.
    public init(_ template: PathTemplate) {
        (kind, text) = (.template, template.text)
    }
}

extension RequestPath {
    /// The path with its values put in. Throws as ``PathTemplate/expand(_:)`` does, also for a URL that is given
    /// values.
    package func filled(with values: [String: any CustomStringConvertible & Sendable]) throws -> String {
        if values.isEmpty, kind != .template { return text }
        guard kind == .url else { return try PathTemplate(text).expand(values) }
        throw PulseError.invalidRequest(
            reason: "a URL has no gaps for the values of \(values.keys.sorted().joined(separator: ", "))")
    }

    /// The route of a request that names none: its method, and the path without any value.
    package func route(_ method: HTTPMethod, hasValues: Bool) -> String {
        let isTemplate = hasValues || kind == .template && text.utf8.contains(UInt8(ascii: "{"))
        let path = shown
        return RouteText.route(method, isTemplate ? path : RouteText.withoutValues(path))
    }

    /// The path as it was written, without its query, scheme and authority.
    var shown: String { PathTemplate(text).route }
}

extension RequestPath: RequestTarget, CustomStringConvertible, CustomReflectable {
    public var requestPath: RequestPath { self }

    /// The path as it was written, without its query, scheme and authority.
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
    /// This template, whose gaps the values of the request fill.
    public var requestPath: RequestPath { RequestPath(self) }
}
