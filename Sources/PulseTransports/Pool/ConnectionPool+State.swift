// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore

/// An HTTP/2 connection that requests share. Its members neither wait nor call back.
protocol SharedConnection: AnyObject, Sendable {
    /// Reserves a slot for a stream; false if none is free now.
    func reserve() -> Bool
    /// The number of streams that its server allows; nil until known.
    var streamLimit: Int? { get }
    /// Whether it takes new streams, now or later.
    var isOpen: Bool { get }
    /// The time since which no stream uses it, in monotonic seconds; nil while one does.
    var idleSince: TimeInterval? { get }
}

extension HTTP2Connection: SharedConnection {}

extension ConnectionPool {
    /// A request's constraints on its connection.
    struct Demand: Sendable {
        /// Whether the connection may speak HTTP/2.
        var mayShare = false
        /// Whether the request is resent if its connection turns out stale. Otherwise connections that the server may
        /// be about to close are skipped.
        var mayBeResent = false
        var needsNewConnection = false
        var wasMisdirected = false
    }

    /// The result of opening a connection.
    enum Opened<Shared: SharedConnection>: Sendable {
        case http2(State<Shared>.Sharing)
        /// With HTTP/1.1, although HTTP/2 was offered.
        case http1
        case failed
    }

    /// The decisions of a pool: which connection a request gets, or whether it waits or opens one. No I/O, clock, task
    /// or lock; the owner closes the dropped connections, and wakes the returned waiters.
    ///
    /// Unless the servers of a key are known to speak HTTP/1.1 only, one request at a time opens a connection to them.
    /// The others wait for the result, then retry.
    struct State<Shared: SharedConnection>: Sendable {
        typealias WaiterID = UInt64

        struct IdleConnection: Sendable {
            let pooled: PooledConnection
            let since: TimeInterval
        }

        struct Sharing: Sendable {
            let connection: Shared
            var unpinnedKeys: [[UInt8]]?
        }

        /// What a request does next.
        enum Step: Sendable {
            /// Sends over an idle connection, which the request owns until it returns it.
            case reuse(PooledConnection)
            /// Sends over a shared connection. A stream slot is reserved.
            case share(Sharing)
            /// Waits for the connection that another request opens, then retries.
            case wait(WaiterID)
            /// Opens a connection. If others may wait for it, the request reports the result.
            case open(offersHTTP2: Bool, isAwaited: Bool)
        }

        /// How long an idle connection is kept, in seconds: after that time many servers and routers have dropped it.
        static var maxIdleTime: TimeInterval { 118 }
        /// The maximum number of keys, and of origins, remembered as HTTP/1.1 only. Beyond it, all are forgotten and
        /// relearned.
        static var memoryLimit: Int { 256 }

        private let limit: Int
        private(set) var isClosed = false
        /// The idle connections of HTTP/1.1, the most recently used last.
        private var idle: [ConnectionKey: [IdleConnection]] = [:]
        private var count = 0
        /// When the oldest idle connection may expire.
        private var nextSweep = TimeInterval.infinity
        /// The connections of HTTP/2, the oldest first.
        private var shared: [ConnectionKey: [Sharing]] = [:]
        /// The waiters for each opening that may lead to HTTP/2, in order.
        private var openings: [ConnectionKey: [WaiterID]] = [:]
        private var lastID: WaiterID = 0
        /// The keys whose latest connection has negotiated HTTP/1.1 only.
        private var http1Keys: Set<ConnectionKey> = []
        /// The origins that have refused HTTP/2 with HTTP_1_1_REQUIRED.
        private var http1Origins: Set<Origin> = []

        /// - Parameter limit: the maximum number of idle connections of either version.
        init(limit: Int) {
            self.limit = limit
        }

        // MARK: Decisions

        /// Whether the next connection to a key probably speaks HTTP/2, if that is allowed.
        func expectsHTTP2(_ key: ConnectionKey) -> Bool {
            !http1Keys.contains(key) && !http1Origins.contains(key.origin)
        }

        /// The number of streams that the next connection to a key probably allows: as many as the others to the same
        /// server; nil without another one. Otherwise all waiters would use the new connection before its limit is
        /// known, and the server would refuse the rest.
        func expectedLimit(_ key: ConnectionKey) -> Int? {
            shared[key]?.reversed().lazy.compactMap(\.connection.streamLimit).first
        }

        /// Decides what a request does next, and queues one that must wait. Throws `CancellationError` once closed.
        mutating func next(
            _ key: ConnectionKey, _ demand: Demand, now: TimeInterval, dropped: inout [IdleConnection]
        ) throws -> Step {
            guard !isClosed else { throw CancellationError() }
            let mayShare = demand.mayShare && !http1Origins.contains(key.origin)
            if mayShare, !demand.wasMisdirected, let sharing = shared[key]?.first(where: { $0.connection.reserve() }) {
                return .share(sharing)
            }
            if !demand.needsNewConnection, let pooled = takeIdle(key, now: now, demand.mayBeResent, &dropped) {
                return .reuse(pooled)
            }
            guard mayShare, !demand.wasMisdirected, !http1Keys.contains(key) else {
                return .open(offersHTTP2: mayShare, isAwaited: false)
            }
            guard openings[key] != nil else {
                openings[key] = []
                return .open(offersHTTP2: true, isAwaited: true)
            }
            lastID += 1
            openings[key]?.append(lastID)
            return .wait(lastID)
        }

        /// Ends an opening, and returns its waiters. The connection must be closed if the state is.
        mutating func end(_ key: ConnectionKey, isAwaited: Bool, _ opened: Opened<Shared>) -> [WaiterID] {
            switch opened {
            case .http2(let sharing):
                http1Keys.remove(key)
                if !isClosed { shared[key, default: []].append(sharing) }
            case .http1:
                if http1Keys.count >= Self.memoryLimit { http1Keys.removeAll() }
                http1Keys.insert(key)
            case .failed: break
            }
            return isAwaited ? openings.removeValue(forKey: key) ?? [] : []
        }

        mutating func requireHTTP1(_ origin: Origin) {
            if http1Origins.count >= Self.memoryLimit { http1Origins.removeAll() }
            http1Origins.insert(origin)
        }

        // MARK: Waiters

        func isWaiting(_ id: WaiterID, for key: ConnectionKey) -> Bool {
            openings[key]?.contains(id) ?? false
        }

        /// Removes a waiter that gives up. If it was already woken, its stream slot would stay free: then returns the
        /// next waiter to wake instead.
        mutating func leave(_ id: WaiterID, _ key: ConnectionKey) -> WaiterID? {
            if isWaiting(id, for: key) {
                openings[key]?.removeAll { $0 == id }
                return nil
            }
            return openings[key]?.isEmpty == false ? openings[key]?.removeFirst() : nil
        }

        /// Handles a shared connection that has a free slot, or accepts no more streams. Returns the waiter to wake,
        /// and the connections that are no longer usable; one that still carries streams is kept for the shutdown.
        mutating func change(_ connection: Shared, of key: ConnectionKey) -> (woken: WaiterID?, ended: [Shared]) {
            guard !connection.isOpen else {
                return (openings[key]?.isEmpty == false ? openings[key]?.removeFirst() : nil, [])
            }
            let all = shared[key] ?? []
            let ended = all.filter { !$0.connection.isOpen && $0.connection.idleSince != nil }.map(\.connection)
            let kept = all.filter { one in !ended.contains { $0 === one.connection } }
            shared[key] = kept.isEmpty ? nil : kept
            return (nil, ended)
        }

        // MARK: Idle connections

        /// Removes the shared connections that are idle for too long or surplus, and returns when the next one expires.
        mutating func takeIdleShared(now: TimeInterval) -> (expired: [Shared], next: TimeInterval) {
            let all = shared.values.joined()
            let times = all.compactMap(\.connection.idleSince).sorted()
            let surplus = all.count > limit ? min(all.count - limit * 3 / 4, times.count) : 0
            let threshold = max(surplus > 0 ? times[surplus - 1] : -.infinity, now - Self.maxIdleTime)
            var expired: [Shared] = []
            for (key, sharings) in shared {
                let kept = sharings.filter { !($0.connection.idleSince.map { $0 <= threshold } ?? false) }
                guard kept.count < sharings.count else { continue }
                expired += sharings.map(\.connection).filter { one in !kept.contains { $0.connection === one } }
                shared[key] = kept.isEmpty ? nil : kept
            }
            let oldest = times.first { $0 > threshold }
            return (expired, oldest.map { $0 + Self.maxIdleTime } ?? .infinity)
        }

        private mutating func takeIdle(
            _ key: ConnectionKey, now: TimeInterval, _ mayBeResent: Bool, _ dropped: inout [IdleConnection]
        ) -> PooledConnection? {
            guard let index = idle.index(forKey: key) else { return nil }
            let margin = mayBeResent ? 0 : KeepAliveTimeout.margin
            while let last = idle.values[index].popLast() {
                count -= 1
                // All others have been idle for longer.
                guard last.since > now - Self.maxIdleTime else {
                    dropped += [last] + takeIdle(at: index)
                    break
                }
                guard now >= last.since + last.pooled.idleLimit - margin else { return last.pooled }
                dropped.append(last)
            }
            idle.remove(at: index)
            return nil
        }

        /// Removes all idle connections of a key.
        mutating func takeIdle(_ key: ConnectionKey) -> [IdleConnection] {
            guard let index = idle.index(forKey: key) else { return [] }
            defer { idle.remove(at: index) }
            return takeIdle(at: index)
        }

        private mutating func takeIdle(
            at index: Dictionary<ConnectionKey, [IdleConnection]>.Index
        ) -> [IdleConnection] {
            let connections = idle.values[index]
            idle.values[index] = []
            count -= connections.count
            return connections
        }

        /// Keeps an idle connection. Returns those that are no longer kept.
        mutating func keep(_ pooled: PooledConnection, now: TimeInterval) -> [IdleConnection] {
            let connection = IdleConnection(pooled: pooled, since: now)
            guard !isClosed else { return [connection] }
            idle[pooled.key, default: []].append(connection)
            count += 1
            nextSweep = min(nextSweep, now + Self.maxIdleTime)
            return now >= nextSweep || count > limit ? sweep(now: now) : []
        }

        /// Removes expired connections, and the oldest ones beyond the limit. It removes some extra, so that not every
        /// new connection triggers another scan.
        private mutating func sweep(now: TimeInterval) -> [IdleConnection] {
            let all = idle.values.joined().map(\.since).sorted()
            let surplus = all.count > limit ? all.count - limit * 3 / 4 : 0
            let youngestSurplus = surplus > 0 ? all[surplus - 1] : -.infinity
            let threshold = max(youngestSurplus, now - Self.maxIdleTime)
            var dropped: [IdleConnection] = []
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
            nextSweep = idle.isEmpty ? .infinity : now + Self.maxIdleTime / 4
            return dropped
        }

        // MARK: End

        /// Keeps and opens nothing from now on. Returns all connections to close, and all waiters.
        mutating func close() -> (idle: [IdleConnection], shared: [Shared], waiters: [WaiterID]) {
            isClosed = true
            defer { (idle, shared, openings, count) = ([:], [:], [:], 0) }
            return (Array(idle.values.joined()), allShared, Array(openings.values.joined()))
        }

        var allShared: [Shared] { shared.values.joined().map(\.connection) }

        /// For tests: the sizes of the collections.
        var sizes: (idle: Int, shared: Int, openings: Int, waiters: Int) {
            (count, allShared.count, openings.count, openings.values.reduce(0) { $0 + $1.count })
        }
    }
}
#endif
