// SPDX-License-Identifier: MIT

public import PulseCore

/// A WebSocket as a value: where it connects, and how it is kept open.
///
/// Only ``path`` is required. Each handshake is a GET of its own that passes all plugins, so that a reconnect gets a
/// new token. Mind the types: a property of another type than the requirement compiles as an unrelated member.
public protocol SocketEndpoint: SocketOptions.WholeSecondPing, Sendable {
    /// The type of ``path``, which the compiler infers: a `PathText`, a `String`, a `URL` or a custom target.
    associatedtype PathValue: RequestTarget = String

    /// The path, as ``PulseCore/Endpoint/path``: `var path: PathText { "/rooms/\(room)" }`, or a `String` of
    /// percent-encoded text. An absolute URL may also be `ws` or `wss`, which mean `http` and `https`.
    var path: PathValue { get throws }

    /// Query parameters as raw names and values, encoded and sorted by name. Empty by default.
    var queryParameters: [String: String] { get }

    /// Query items as raw names and values, appended after ``queryParameters`` in their order. Empty by default.
    var queryItems: [URLQueryItem] { get }

    /// Header fields of each handshake; those of the handshake itself cannot be overridden. Empty by default.
    var headers: [String: String] { get }

    /// Plugins of this endpoint only, which come before the client's within their scope. Empty by default.
    var plugins: [any PulsePlugin] { get }

    /// Settings of each handshake; fields that are nil inherit the client's. A reconnect is not retried: it has the
    /// waits of ``SocketOptions/Reconnect`` instead. Nothing is set by default.
    var options: RequestOptions { get }

    /// The subprotocols to offer, the preferred one first (RFC 6455, section 1.9): different tokens. Empty by default.
    var subprotocols: [String] { get }

    /// Seconds between two pings; 30 by default, 0 for none. An `Int` property works as well.
    var pingInterval: TimeInterval { get }

    /// How the socket is kept open, and its limits.
    var socketOptions: SocketOptions { get }
}

extension SocketEndpoint {
    public var queryParameters: [String: String] { [:] }
    public var queryItems: [URLQueryItem] { [] }
    public var headers: [String: String] { [:] }
    public var plugins: [any PulsePlugin] { [] }
    public var options: RequestOptions { RequestOptions() }
    public var subprotocols: [String] { [] }
    public var pingInterval: TimeInterval { TimeInterval(wholeSeconds(ofPing: self)) }
    public var socketOptions: SocketOptions { SocketOptions() }
}
