// SPDX-License-Identifier: MIT

/// The path of an endpoint, or the target of a ``Request`` or a verb of the client: a ``PathText``, a `String`, a
/// `URL`, a ``PathTemplate``, or a custom type that creates one of them.
///
/// An app's enum of routes can be a target as well:
/// `extension Route: RequestTarget { var requestPath: PathText { "/users/me" } }`.
public protocol RequestTarget: Sendable {
    /// The path of the request, or its absolute URL.
    var requestPath: PathText { get }
}

/// An endpoint whose path may be a literal at the call site. It warns about an interpolation that a `String` would have
/// sent unencoded.
package protocol LiteralPathCarrying {
    var pathWarning: String? { get }
}

extension PathText: RequestTarget {
    /// This path.
    public var requestPath: PathText { self }
}

extension String: RequestTarget {
    /// This text as a path, or as an absolute URL.
    public var requestPath: PathText { PathText(self) }
}

extension URL: RequestTarget {
    /// This URL, which is joined to the client's base URL if it is relative.
    public var requestPath: PathText { PathText(self) }
}

extension PathTemplate: RequestTarget {
    /// This template, whose placeholders the values of the request fill.
    public var requestPath: PathText { PathText(self) }
}
