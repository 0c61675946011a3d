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

    /// The path of operations that have none of their own, joined to the base URL as an endpoint's path; an absolute
    /// URL is used as it is. `/graphql` by default.
    public var path = "/graphql"
    /// Whether queries are sent by GET, as long as the URL has at most 8,000 bytes; false by default. Mutations are
    /// always sent by POST.
    public var queriesUseGET = false
    /// Whether documents are replaced by their hashes; not by default.
    public var persistedQueries = PersistedQueries.off

    /// Creates the default settings.
    public init() {}

    /// Returns a copy with one setting changed.
    public func with<Value>(_ setting: WritableKeyPath<GraphQLSettings, Value>, value: Value) -> GraphQLSettings {
        var copy = self
        copy[keyPath: setting] = value
        return copy
    }
}
