// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore
import Synchronization

/// The connections in the clear of a transport: those at rest, for the next request to their server, and those with an
/// exchange, for the loop.
final class HTTP1ConnectionPool: Sendable {
    /// With so few exchanges under way each sends by itself, which saves waking the loop.
    static let few = 4
    /// How long a connection is kept at rest, in seconds, as libcurl keeps its own: many a server or router on the way
    /// has forgotten it by then.
    fileprivate static let restLimit: TimeInterval = 118

    fileprivate struct Resting {
        let connection: HTTP1Connection
        let since: TimeInterval
        /// When the server closes it.
        let end: TimeInterval
    }

    fileprivate struct State {
        var isClosed = false
        /// All of them, each at the place that its number names.
        var all: [HTTP1Connection?] = []
        /// Places without a connection.
        var free: [Int] = []
        /// By origin, the one used last at the end.
        var resting: [Origin: [Resting]] = [:]
        var restingCount = 0
        /// When the oldest may have rested for too long.
        var nextSweep = TimeInterval.infinity
    }

    private let limit: Int
    private let few: Int
    private let state = Locked(State())
    private let spin: Locked<CurlSpinPolicy>
    /// Exchanges under way, with those that have no connection yet.
    private let underWay = Atomic(0)
    /// When the first timeout can strike: the bits of the time, which are ordered as times are.
    private let checkMark = Atomic(TimeInterval.infinity.bitPattern)

    /// - Parameter limit: how many connections are kept at rest.
    /// - Parameter few: ``few``, but in tests.
    init(limit: Int, few: Int = few, _ spin: CurlSpinPolicy) {
        self.limit = limit
        self.few = few
        self.spin = Locked(spin)
    }

    // MARK: Exchanges

    /// Who sends a request, and looks for its answer.
    enum Manner {
        /// Its sender looks for the answer itself.
        case hasty
        /// Its sender sends, and the loop looks.
        case usual
        /// The loop sends, and reads what comes first. Many are under way, and it does so for one after the other,
        /// while the code for that is at hand: a call's own code, and the kernel's for sending, are more than a
        /// processor's first caches hold.
        case crowded
    }

    /// Notes that an exchange begins.
    func enter() -> Manner {
        let others = underWay.wrappingAdd(1, ordering: .relaxed).oldValue
        if others == 0, spin.withLock({ $0.isWorthwhile() }) { return .hasty }
        return others < few ? .usual : .crowded
    }

    /// Whether others have begun since.
    var isShared: Bool {
        underWay.load(ordering: .relaxed) > 1
    }

    func noteVainHaste() {
        spin.withLock { $0.wasInVain() }
    }

    /// Notes that an exchange has ended, and how long it took.
    func leave(seconds: TimeInterval) {
        if underWay.wrappingSubtract(1, ordering: .relaxed).oldValue == 1 { spin.withLock { $0.note(seconds) } }
    }

    /// An idle connection, which is the caller's from now on; nil without one.
    ///
    /// - Parameter mayBeResent: whether the request for it goes out once more if the connection turns out stale. Else
    ///   none is given that the server may be about to close.
    func take(_ origin: Origin, now: TimeInterval, mayBeResent: Bool = false) throws -> HTTP1Connection? {
        var spent: [HTTP1Connection] = []
        defer { withExtendedLifetime(spent) {} }
        return try state.withLock { state in
            guard !state.isClosed else { throw CancellationError() }
            guard let index = state.resting.index(forKey: origin) else { return nil }
            let margin = mayBeResent ? 0 : KeepAliveTimeout.margin
            while let last = state.resting.values[index].popLast() {
                state.restingCount -= 1
                // The others have been idle for longer.
                guard last.since > now - Self.restLimit else {
                    spent += [last.connection] + state.takeIdle(at: index)
                    break
                }
                guard now >= last.end - margin else {
                    spent.forEach { state.drop($0) }
                    return last.connection
                }
                spent.append(last.connection)
            }
            state.resting.remove(at: index)
            spent.forEach { state.drop($0) }
            return nil
        }
    }

    /// Closes the idle connections to a server, one of whose connections turned out stale: they may be as dead.
    func dropIdle(_ origin: Origin) {
        let spent = state.withLock { state -> [HTTP1Connection] in
            guard !state.isClosed, let index = state.resting.index(forKey: origin) else { return [] }
            let spent = state.takeIdle(at: index)
            state.resting.remove(at: index)
            spent.forEach { state.drop($0) }
            return spent
        }
        withExtendedLifetime(spent) {}
    }

    /// A new connection, which is the caller's.
    func add(_ descriptor: Int32, _ origin: Origin, remoteAddress: String?) throws -> HTTP1Connection {
        try state.withLock { state in
            let place = state.free.popLast() ?? state.all.count
            let connection = HTTP1Connection(descriptor, id: UInt64(place), origin, remoteAddress: remoteAddress)
            guard !state.isClosed else { throw CancellationError() }
            if place == state.all.count { state.all.append(nil) }
            state.all[place] = connection
            return connection
        }
    }

    /// Takes a connection back: for the next request, or to be closed.
    func giveBack(_ connection: HTTP1Connection, mayRest: Bool, now: TimeInterval) {
        var spent: [HTTP1Connection] = []
        let idleLimit = mayRest ? connection.idleLimit : 0
        state.withLock { state in
            guard mayRest, !state.isClosed else { return state.drop(connection) }
            let resting = Resting(connection: connection, since: now, end: now + idleLimit)
            state.resting[connection.origin, default: []].append(resting)
            state.restingCount += 1
            state.nextSweep = min(state.nextSweep, now + Self.restLimit)
            guard now >= state.nextSweep || state.restingCount > limit else { return }
            spent = state.sweep(now: now, limit: limit)
            spent.forEach { state.drop($0) }
        }
        withExtendedLifetime(spent) {}
    }

    // MARK: The loop

    /// Reads for those connections, and lets their exchanges go on.
    func receive(_ ids: UnsafeBufferPointer<UInt64>, with buffer: UnsafeMutableRawBufferPointer) {
        guard !ids.isEmpty else { return }
        let connections = state.withLock { state in
            // One whose number is another's now has nothing to tell; its follower looks in vain once.
            ids.map { Int($0) < state.all.count ? state.all[Int($0)] : nil }
        }
        var waiters: [HTTP1Connection.Waiter] = []
        waiters.reserveCapacity(ids.count)
        for connection in connections {
            if let waiter = connection?.receive(with: buffer) { waiters.append(waiter) }
        }
        // All is read before the first goes on, as all is sent one after the other.
        for waiter in waiters { waiter.resume() }
    }

    var nextCheck: TimeInterval {
        TimeInterval(bitPattern: checkMark.load(ordering: .relaxed))
    }

    /// Notes when a wait that has begun must end at the latest; true if the loop would look too late and must be woken.
    func isLate(for deadline: TimeInterval) -> Bool {
        guard deadline < nextCheck else { return false }
        return checkMark.min(deadline.bitPattern, ordering: .relaxed).oldValue > deadline.bitPattern
    }

    /// Ends what waits for too long.
    func checkTimeouts(now: TimeInterval) {
        guard now >= nextCheck else { return }
        // Waits that begin from here on lower it again: their connections' locks order this before their look at it.
        checkMark.store(TimeInterval.infinity.bitPattern, ordering: .relaxed)
        let all = state.withLock { $0.all }
        _ = isLate(for: all.reduce(.infinity) { min($0, $1?.checkTimeout(now: now) ?? .infinity) })
    }

    /// Ends all exchanges and closes all connections; later ones are refused.
    func close() {
        let all = state.withLock { state in
            state.isClosed = true
            defer { (state.all, state.free, state.resting) = ([], [], [:]) }
            return state.all
        }
        for connection in all { connection?.end(.cancelled) }
    }
}

extension HTTP1ConnectionPool.State {
    fileprivate mutating func drop(_ connection: HTTP1Connection) {
        // After the end there is none.
        guard !isClosed else { return }
        all[Int(connection.id)] = nil
        free.append(Int(connection.id))
    }

    /// Takes out all idle connections of an origin.
    fileprivate mutating func takeIdle(
        at index: Dictionary<Origin, [HTTP1ConnectionPool.Resting]>.Index
    ) -> [HTTP1Connection] {
        let idle = resting.values[index].map(\.connection)
        resting.values[index] = []
        restingCount -= idle.count
        return idle
    }

    /// Takes out what has rested for too long, or is too much: the oldest of all, and then so many that not every
    /// connection that comes makes it look again.
    fileprivate mutating func sweep(now: TimeInterval, limit: Int) -> [HTTP1Connection] {
        let all = resting.values.joined().map(\.since).sorted()
        let surplus = all.count > limit ? all.count - limit * 3 / 4 : 0
        let youngestSurplus = surplus > 0 ? all[surplus - 1] : -.infinity
        let threshold = max(youngestSurplus, now - HTTP1ConnectionPool.restLimit)
        var spent: [HTTP1Connection] = []
        for (origin, connections) in resting {
            guard let first = connections.first else {
                resting[origin] = nil
                continue
            }
            // They came one after the other.
            guard first.since <= threshold else { continue }
            let kept = connections.filter { $0.since > threshold }
            spent += connections.filter { $0.since <= threshold }.map(\.connection)
            resting[origin] = kept.isEmpty ? nil : kept
        }
        restingCount -= spent.count
        nextSweep = resting.isEmpty ? .infinity : now + HTTP1ConnectionPool.restLimit / 4
        return spent
    }
}
#endif
