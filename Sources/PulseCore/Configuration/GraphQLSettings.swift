// SPDX-License-Identifier: MIT

/// How a client sends GraphQL operations.
public struct GraphQLSettings: Sendable {
    /// Whether documents are replaced by their hashes (automatic persisted queries).
    public enum PersistedQueries: Sendable, Hashable {
        /// Each request contains its document.
        case off
        /// A request contains the SHA-256 hash of its document instead. If the server does not know the hash, the
        /// client sends both.
        case automatic
        /// Like ``automatic``, but the request with the hash of a query is a GET, which intermediary caches can store.
        case automaticWithGET
    }

    /// The buffer for unread responses of a subscription.
    ///
    /// A buffer also counts as full at 16 MiB.
    public enum SubscriptionBuffer: Sendable, Hashable {
        /// Holds up to this many responses. While the buffer is full, nothing more is read from the socket, for all
        /// subscriptions.
        case holds(Int)
        /// Holds the newest responses, up to this many. A ``NetworkEvent/warning(_:)`` reports how many were dropped.
        case newest(Int)
    }

    /// The path of operations without their own path, joined to the base URL like an endpoint's path; an absolute URL
    /// is used as it is. `/graphql` by default.
    public var path = "/graphql"
    /// Whether queries are sent by GET, if the URL has at most 8,000 bytes; false by default. Mutations are always sent
    /// by POST.
    public var queriesUseGET = false
    /// Whether documents are replaced by their hashes; not by default.
    public var persistedQueries = PersistedQueries.off
    /// The path of the socket for subscriptions, with the rules of ``path``; it may also be a `ws` or `wss` URL. Nil,
    /// the default, uses ``path``.
    public var socketPath: String?
    /// Returns the payload of `connection_init`, such as a token. Called for each connection. It may take as long as
    /// the idle timeout of a call; a thrown error fails the connection attempt. Nil, the default, sends none.
    public var connectionPayload: (@Sendable () async throws -> [String: JSONValue]?)?
    /// Seconds after `connection_init` within which the server must acknowledge a connection; else it is closed with
    /// code 4504. 10 by default.
    public var acknowledgeTimeout: TimeInterval = 10
    /// Seconds between two pings of the socket, which detect a lost connection; 30 by default, 0 for none.
    public var pingInterval: TimeInterval = 30
    /// Seconds for which the socket stays open after its last subscription; 5 by default. An open socket keeps its
    /// client alive.
    public var lingers: TimeInterval = 5
    /// The buffer for unread responses of a subscription; 64 are held by default.
    public var subscriptionBuffer = SubscriptionBuffer.holds(64)

    /// Creates the default settings.
    public init() {}

    /// Returns a copy with one setting changed.
    public func with<Value>(_ setting: WritableKeyPath<GraphQLSettings, Value>, value: Value) -> GraphQLSettings {
        var copy = self
        copy[keyPath: setting] = value
        return copy
    }
}
