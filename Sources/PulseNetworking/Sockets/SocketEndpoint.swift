// SPDX-License-Identifier: MIT

public import PulseCore

/// Describes a WebSocket: where to connect, and how to keep the connection open.
///
/// ```swift
/// struct Chat: SocketEndpoint {
///     let room: String
///     var path: PathText { "/rooms/\(room)" }
/// }
/// ```
///
/// Only ``path`` is required. Each handshake is a separate GET that passes through all plugins, so a reconnect gets a
/// new token. Mind the types: a property whose type differs from the requirement's compiles as an unrelated member.
public protocol SocketEndpoint: SocketOptions.WholeSecondPing, Sendable {
    /// The type of ``path``, which the compiler infers: a `PathText`, a `String`, a `URL` or a custom target.
    associatedtype PathValue: RequestTarget = String

    /// The path, as ``PulseCore/Endpoint/path``: `var path: PathText { "/rooms/\(room)" }`, or a `String` of
    /// percent-encoded text. An absolute URL may also use `ws` or `wss`, which stand for `http` and `https`.
    var path: PathValue { get throws }

    /// Query parameters as raw names and values, encoded and sorted by name. Empty by default.
    var queryParameters: [String: String] { get }

    /// Query items as raw names and values, appended after ``queryParameters`` in their order. Empty by default.
    var queryItems: [URLQueryItem] { get }

    /// Header fields of each handshake; those of the handshake itself cannot be overridden. Empty by default.
    var headers: [String: String] { get }

    /// Plugins of this endpoint only, which come before the client's within their scope. Empty by default.
    var plugins: [any PulsePlugin] { get }

    /// Settings of each handshake; fields that are nil inherit the client's. A reconnect is not retried: it waits as
    /// ``SocketOptions/reconnect`` specifies instead. Nothing is set by default.
    var options: RequestOptions { get }

    /// Subprotocols to offer, in order of preference (RFC 6455, section 1.9): distinct tokens. Empty by default.
    var subprotocols: [String] { get }

    /// Seconds between two pings; 30 by default, 0 for none. An `Int` property works as well.
    var pingInterval: TimeInterval { get }

    /// Reconnection, timeouts, limits and message formats of the socket.
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
