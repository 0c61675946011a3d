// SPDX-License-Identifier: MIT

import PulseCore

/// The properties that requests must share to use the same connection.
struct ConnectionKey: Sendable, Hashable {
    let origin: Origin
    /// How the connection is secured and routed; nil for cleartext.
    var policies: TransportRequest.Policies?
    /// How a cleartext connection reaches its server.
    var route = ConnectionRoute.direct
}

/// Keeps HTTP/1.1 connections between exchanges.
protocol IdleConnections: AnyObject, Sendable {
    /// Keeps a connection for the next exchange.
    func keep(_ pooled: PooledConnection, now: TimeInterval)
    /// Closes the idle connections to a server after one of them turned out stale: they are probably stale too.
    func dropIdle(_ key: ConnectionKey)
}

/// A connection that carries one exchange after another.
struct PooledConnection: Sendable {
    let connection: any ReusableConnection
    let key: ConnectionKey
    /// The keys of the verified chain, if none is pinned and the policy is report-only.
    var unpinnedKeys: [[UInt8]]?
    /// How long the server keeps it idle, in seconds; infinity if unspecified.
    var idleLimit = TimeInterval.infinity

    /// Ends an exchange: the pool keeps the connection if it can carry another one; otherwise it is closed.
    ///
    /// - Parameter isSent: whether the whole request is sent.
    func release(
        to pool: (any IdleConnections)?, after parser: HTTP1ResponseParser, isSent: Bool, now: TimeInterval
    ) {
        guard let pool, isSent, parser.keepsConnection else { return connection.close() }
        var pooled = self
        pooled.idleLimit = parser.idleLimit ?? idleLimit
        pool.keep(pooled, now: now)
    }
}
