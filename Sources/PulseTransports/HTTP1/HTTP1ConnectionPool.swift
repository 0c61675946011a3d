// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore
import Synchronization

/// The cleartext connections of a transport: idle ones for the next request to their server, and active ones for the
/// loop.
final class HTTP1ConnectionPool: Sendable {
    /// Up to this number of exchanges, each sends by itself, which saves waking the loop.
    static let few = 4
    /// How long an idle connection is kept, in seconds. libcurl uses the same value; after that time many servers and
    /// routers have dropped the connection.
    fileprivate static let maximumIdleTime: TimeInterval = 118

    fileprivate struct IdleConnection {
        let connection: HTTP1Connection
        let since: TimeInterval
        /// When the server closes it.
        let end: TimeInterval
    }

    fileprivate struct State {
        var isClosed = false
        /// All connections, each at the index given by its id.
        var all: [HTTP1Connection?] = []
        /// The unused indices.
        var free: [Int] = []
        /// The idle connections by origin, the most recently used last.
        var idle: [Origin: [IdleConnection]] = [:]
        var idleCount = 0
        /// When the oldest idle connection may expire.
        var nextSweep = TimeInterval.infinity
    }

    private let limit: Int
    private let few: Int
    private let state = Locked(State())
    /// The number of exchanges under way, including those that have no connection yet.
    private let underWay = Atomic(0)
    /// When the first timeout can expire: the bits of the time, which sort as times do.
    private let checkMark = Atomic(TimeInterval.infinity.bitPattern)

    /// - Parameter limit: the maximum number of idle connections.
    /// - Parameter few: ``few``, except in tests.
    init(limit: Int, few: Int = few) {
        self.limit = limit
        self.few = few
    }

    // MARK: Exchanges

    /// Which side sends a request and reads its response.
    enum Manner {
        /// The sender sends, and the loop waits for the response.
        case usual
        /// The loop sends, and reads the first bytes. With many exchanges under way it batches this work, because the
        /// code of calls and of the kernel's send path exceeds a processor's first-level caches.
        case crowded
    }

    /// Records the start of an exchange.
    func enter() -> Manner {
        underWay.wrappingAdd(1, ordering: .relaxed).oldValue < few ? .usual : .crowded
    }

    /// Records the end of an exchange.
    func leave() {
        underWay.wrappingSubtract(1, ordering: .relaxed)
    }

    /// An idle connection, which the caller then owns; nil without one.
    ///
    /// - Parameter mayBeResent: whether the request is resent if the connection turns out stale. Otherwise connections
    ///   that the server may be about to close are skipped.
    func take(_ origin: Origin, now: TimeInterval, mayBeResent: Bool = false) throws -> HTTP1Connection? {
        var dropped: [HTTP1Connection] = []
        defer { withExtendedLifetime(dropped) {} }
        return try state.withLock { state in
            guard !state.isClosed else { throw CancellationError() }
            guard let index = state.idle.index(forKey: origin) else { return nil }
            let margin = mayBeResent ? 0 : KeepAliveTimeout.margin
            while let last = state.idle.values[index].popLast() {
                state.idleCount -= 1
                // All others have been idle for longer.
                guard last.since > now - Self.maximumIdleTime else {
                    dropped += [last.connection] + state.takeIdle(at: index)
                    break
                }
                guard now >= last.end - margin else {
                    dropped.forEach { state.drop($0) }
                    return last.connection
                }
                dropped.append(last.connection)
            }
            state.idle.remove(at: index)
            dropped.forEach { state.drop($0) }
            return nil
        }
    }

    /// Closes the idle connections to a server after one of them turned out stale: they are probably stale too.
    func dropIdle(_ origin: Origin) {
        let dropped = state.withLock { state -> [HTTP1Connection] in
            guard !state.isClosed, let index = state.idle.index(forKey: origin) else { return [] }
            let dropped = state.takeIdle(at: index)
            state.idle.remove(at: index)
            dropped.forEach { state.drop($0) }
            return dropped
        }
        withExtendedLifetime(dropped) {}
    }

    /// Adds a new connection, which the caller owns.
    func add(_ descriptor: Int32, _ origin: Origin, remoteAddress: String?) throws -> HTTP1Connection {
        try state.withLock { state in
            let index = state.free.popLast() ?? state.all.count
            let connection = HTTP1Connection(descriptor, id: UInt64(index), origin, remoteAddress: remoteAddress)
            guard !state.isClosed else { throw CancellationError() }
            if index == state.all.count { state.all.append(nil) }
            state.all[index] = connection
            return connection
        }
    }

    /// Takes a connection back to keep it idle or to close it.
    func release(_ connection: HTTP1Connection, isReusable: Bool, now: TimeInterval) {
        var dropped: [HTTP1Connection] = []
        let idleLimit = isReusable ? connection.idleLimit : 0
        state.withLock { state in
            guard isReusable, !state.isClosed else { return state.drop(connection) }
            let idle = IdleConnection(connection: connection, since: now, end: now + idleLimit)
            state.idle[connection.origin, default: []].append(idle)
            state.idleCount += 1
            state.nextSweep = min(state.nextSweep, now + Self.maximumIdleTime)
            guard now >= state.nextSweep || state.idleCount > limit else { return }
            dropped = state.sweep(now: now, limit: limit)
            dropped.forEach { state.drop($0) }
        }
        withExtendedLifetime(dropped) {}
    }

    // MARK: Loop side

    /// Reads from those connections, and resumes their exchanges.
    func receive(_ ids: UnsafeBufferPointer<UInt64>, with buffer: UnsafeMutableRawBufferPointer) {
        guard !ids.isEmpty else { return }
        let connections = state.withLock { state in
            // An event of a removed connection may hit its successor, which then reads nothing once.
            ids.map { Int($0) < state.all.count ? state.all[Int($0)] : nil }
        }
        var waiters: [HTTP1Connection.Waiter] = []
        waiters.reserveCapacity(ids.count)
        for connection in connections {
            if let waiter = connection?.receive(with: buffer) { waiters.append(waiter) }
        }
        // Reads everything before the first exchange resumes, as sends are batched too.
        for waiter in waiters { waiter.resume() }
    }

    var nextCheck: TimeInterval {
        TimeInterval(bitPattern: checkMark.load(ordering: .relaxed))
    }

    /// Records the deadline of a wait that has begun. True if the loop would check too late and must be woken.
    func isLate(for deadline: TimeInterval) -> Bool {
        guard deadline < nextCheck else { return false }
        return checkMark.min(deadline.bitPattern, ordering: .relaxed).oldValue > deadline.bitPattern
    }

    /// Ends the waits that have timed out.
    func checkTimeouts(now: TimeInterval) {
        guard now >= nextCheck else { return }
        // New waits lower the value again: their connections' locks order this store before their load.
        checkMark.store(TimeInterval.infinity.bitPattern, ordering: .relaxed)
        let all = state.withLock { $0.all }
        _ = isLate(for: all.reduce(.infinity) { min($0, $1?.checkTimeout(now: now) ?? .infinity) })
    }

    /// Ends all exchanges and closes all connections. Later ones are refused.
    func close() {
        let all = state.withLock { state in
            state.isClosed = true
            defer { (state.all, state.free, state.idle) = ([], [], [:]) }
            return state.all
        }
        for connection in all { connection?.end(.cancelled) }
    }
}

extension HTTP1ConnectionPool.State {
    fileprivate mutating func drop(_ connection: HTTP1Connection) {
        // A closed pool keeps no connection.
        guard !isClosed else { return }
        all[Int(connection.id)] = nil
        free.append(Int(connection.id))
    }

    /// Removes all idle connections of an origin.
    fileprivate mutating func takeIdle(
        at index: Dictionary<Origin, [HTTP1ConnectionPool.IdleConnection]>.Index
    ) -> [HTTP1Connection] {
        let connections = idle.values[index].map(\.connection)
        idle.values[index] = []
        idleCount -= connections.count
        return connections
    }

    /// Removes expired connections, and the oldest ones beyond the limit. It removes some extra, so that not every new
    /// connection triggers another scan.
    fileprivate mutating func sweep(now: TimeInterval, limit: Int) -> [HTTP1Connection] {
        let all = idle.values.joined().map(\.since).sorted()
        let surplus = all.count > limit ? all.count - limit * 3 / 4 : 0
        let youngestSurplus = surplus > 0 ? all[surplus - 1] : -.infinity
        let threshold = max(youngestSurplus, now - HTTP1ConnectionPool.maximumIdleTime)
        var dropped: [HTTP1Connection] = []
        for (origin, connections) in idle {
            guard let first = connections.first else {
                idle[origin] = nil
                continue
            }
            // The connections are in order of their idle times.
            guard first.since <= threshold else { continue }
            let kept = connections.filter { $0.since > threshold }
            dropped += connections.filter { $0.since <= threshold }.map(\.connection)
            idle[origin] = kept.isEmpty ? nil : kept
        }
        idleCount -= dropped.count
        nextSweep = idle.isEmpty ? .infinity : now + HTTP1ConnectionPool.maximumIdleTime / 4
        return dropped
    }
}
#endif
