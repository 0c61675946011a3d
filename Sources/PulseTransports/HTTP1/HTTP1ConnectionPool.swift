// SPDX-License-Identifier: MIT

import PulseCore

/// What requests must have in common to use the same connection.
struct ConnectionKey: Sendable, Hashable {
    let origin: Origin
    /// How the connection is secured and routed; nil for one in cleartext and without a proxy.
    var policies: TransportRequest.Policies?
}

/// A connection for one exchange after another.
struct PooledConnection: Sendable {
    let connection: any ReusableConnection
    let key: ConnectionKey
    /// The keys of the verified chain, if none is pinned and the policy only reports.
    var unpinnedKeys: [[UInt8]]?
    /// For how many seconds the server keeps it idle; infinity if it does not say.
    var idleLimit = TimeInterval.infinity

    /// Ends an exchange: the pool keeps the connection if it can carry another one; else it is closed.
    ///
    /// - Parameter isSent: whether the whole request is sent.
    func release(to pool: HTTP1ConnectionPool?, after parser: HTTP1ResponseParser, isSent: Bool, now: TimeInterval) {
        guard let pool, isSent, parser.keepsConnection else { return connection.close() }
        var pooled = self
        pooled.idleLimit = parser.idleLimit ?? idleLimit
        pool.keep(pooled, now: now)
    }
}

/// The idle connections of a transport.
struct HTTP1ConnectionPool: Sendable {
    /// How long an idle connection is kept, in seconds. libcurl uses the same value; after that time many servers and
    /// routers have dropped the connection.
    fileprivate static let maximumIdleTime: TimeInterval = 118

    fileprivate struct IdleConnection {
        let pooled: PooledConnection
        let since: TimeInterval
    }

    fileprivate struct State {
        var isClosed = false
        /// The idle connections, the most recently used last.
        var idle: [ConnectionKey: [IdleConnection]] = [:]
        var count = 0
        /// When the oldest idle connection may expire.
        var nextSweep = TimeInterval.infinity
    }

    private let limit: Int
    private let state = Locked(State())

    /// - Parameter limit: the maximum number of idle connections.
    init(limit: Int) {
        self.limit = limit
    }

    /// An idle connection, which the caller then owns; nil without one.
    ///
    /// - Parameter mayBeResent: whether the request is resent if the connection turns out stale. Otherwise connections
    ///   that the server may be about to close are skipped.
    func take(_ key: ConnectionKey, now: TimeInterval, mayBeResent: Bool = false) throws -> PooledConnection? {
        // Released outside the lock, as in all methods here: releasing closes them.
        var dropped: [IdleConnection] = []
        defer { withExtendedLifetime(dropped) {} }
        return try state.withLock { state in
            guard !state.isClosed else { throw CancellationError() }
            guard let index = state.idle.index(forKey: key) else { return nil }
            let margin = mayBeResent ? 0 : KeepAliveTimeout.margin
            while let last = state.idle.values[index].popLast() {
                state.count -= 1
                // All others have been idle for longer.
                guard last.since > now - Self.maximumIdleTime else {
                    dropped += [last] + state.takeIdle(at: index)
                    break
                }
                guard now >= last.since + last.pooled.idleLimit - margin else { return last.pooled }
                dropped.append(last)
            }
            state.idle.remove(at: index)
            return nil
        }
    }

    /// Closes the idle connections to a server after one of them turned out stale: they are probably stale too.
    func dropIdle(_ key: ConnectionKey) {
        let dropped = state.withLock { state -> [IdleConnection] in
            guard let index = state.idle.index(forKey: key) else { return [] }
            defer { state.idle.remove(at: index) }
            return state.takeIdle(at: index)
        }
        withExtendedLifetime(dropped) {}
    }

    /// Keeps a connection for the next exchange.
    func keep(_ pooled: PooledConnection, now: TimeInterval) {
        pooled.connection.rest(for: min(Self.maximumIdleTime, pooled.idleLimit))
        let dropped = state.withLock { state -> [IdleConnection] in
            guard !state.isClosed else { return [] }
            state.idle[pooled.key, default: []].append(IdleConnection(pooled: pooled, since: now))
            state.count += 1
            state.nextSweep = min(state.nextSweep, now + Self.maximumIdleTime)
            return now >= state.nextSweep || state.count > limit ? state.sweep(now: now, limit: limit) : []
        }
        withExtendedLifetime(dropped) {}
    }

    /// Closes the idle connections, and keeps none from now on.
    func close() {
        let dropped = state.withLock { state in
            state.isClosed = true
            defer { state.idle = [:] }
            return state.idle
        }
        withExtendedLifetime(dropped) {}
    }
}

extension HTTP1ConnectionPool.State {
    /// Removes all idle connections of a key.
    fileprivate mutating func takeIdle(
        at index: Dictionary<ConnectionKey, [HTTP1ConnectionPool.IdleConnection]>.Index
    ) -> [HTTP1ConnectionPool.IdleConnection] {
        let connections = idle.values[index]
        idle.values[index] = []
        count -= connections.count
        return connections
    }

    /// Removes expired connections, and the oldest ones beyond the limit. It removes some extra, so that not every new
    /// connection triggers another scan.
    fileprivate mutating func sweep(now: TimeInterval, limit: Int) -> [HTTP1ConnectionPool.IdleConnection] {
        let all = idle.values.joined().map(\.since).sorted()
        let surplus = all.count > limit ? all.count - limit * 3 / 4 : 0
        let youngestSurplus = surplus > 0 ? all[surplus - 1] : -.infinity
        let threshold = max(youngestSurplus, now - HTTP1ConnectionPool.maximumIdleTime)
        var dropped: [HTTP1ConnectionPool.IdleConnection] = []
        for (key, connections) in idle {
            guard let first = connections.first else {
                idle[key] = nil
                continue
            }
            // The connections are in order of their idle times.
            guard first.since <= threshold else { continue }
            let kept = connections.filter { $0.since > threshold }
            dropped += connections.filter { $0.since <= threshold }
            idle[key] = kept.isEmpty ? nil : kept
        }
        count -= dropped.count
        nextSweep = idle.isEmpty ? .infinity : now + HTTP1ConnectionPool.maximumIdleTime / 4
        return dropped
    }
}
