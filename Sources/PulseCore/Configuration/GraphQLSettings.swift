// SPDX-License-Identifier: MIT

/// How a client sends GraphQL operations.
public struct GraphQLSettings: Sendable {
    /// Whether documents are replaced by their hashes (automatic persisted queries).
    public enum PersistedQueries: Sendable, Hashable {
        /// Each request has its document.
        case off
        /// A request has the SHA-256 hash of its document instead. A server that does not know the hash gets both.
        case automatic
        /// As ``automatic``, and the request with the hash of a query is a GET, which caches on the way can store.
        case automaticWithGET
    }

    /// The buffer for the responses of a subscription that are not read yet.
    ///
    /// A buffer is also full with 16 MiB.
    public enum SubscriptionBuffer: Sendable, Hashable {
        /// That many are kept. Then nothing more is read from the socket, for all subscriptions, until the reader takes
        /// one.
        case holds(Int)
        /// The newest that many are kept. A ``NetworkEvent/warning(_:)`` says how many were dropped.
        case newest(Int)
    }

    /// The path of operations that have none of their own, joined to the base URL as an endpoint's path; an absolute
    /// URL is used as it is. `/graphql` by default.
    public var path = "/graphql"
    /// Whether queries are sent by GET, as long as the URL has at most 8,000 bytes; false by default. Mutations are
    /// always sent by POST.
    public var queriesUseGET = false
    /// Whether documents are replaced by their hashes; not by default.
    public var persistedQueries = PersistedQueries.off
    /// The path of the socket for subscriptions, as ``path``; it may also be a `ws` or `wss` URL. Nil, the default, is
    /// ``path``.
    public var socketPath: String?
    /// Returns the payload of `connection_init`, such as a token. It is asked for each connection, and may take as long
    /// as the idle timeout of a call; an error that it throws fails the attempt. Nil, the default, sends none.
    public var connectionPayload: (@Sendable () async throws -> [String: JSONValue]?)?
    /// Seconds from `connection_init` in which the server must acknowledge a connection; else it is closed with code
    /// 4504. 10 by default.
    public var acknowledgeTimeout: TimeInterval = 10
    /// Seconds between two pings of the socket, which detect a lost connection; 30 by default, 0 for none.
    public var pingInterval: TimeInterval = 30
    /// Seconds for which the socket stays open after its last subscription. 5 by default. An open socket keeps its
    /// client.
    public var lingers: TimeInterval = 5
    /// The buffer for the responses of a subscription that are not read yet; 64 are held by default.
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
