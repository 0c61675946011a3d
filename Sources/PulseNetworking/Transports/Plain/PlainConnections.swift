// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// The connections in the clear of a transport: those at rest, for the next request to their server, and those with an
/// exchange, for the loop.
final class PlainConnections: Sendable {
    /// With so few exchanges under way each sends by itself, which saves waking the loop.
    static let few = 4
    /// How long a connection is kept at rest, in seconds, as libcurl keeps its own: many a server or router on the way
    /// has forgotten it by then.
    fileprivate static let restLimit: TimeInterval = 118

    fileprivate struct Resting {
        let connection: PlainConnection
        let since: TimeInterval
    }

    fileprivate struct State {
        var isClosed = false
        var nextID: UInt64 = 0
        /// By origin, the one used last at the end.
        var resting: [Origin: [Resting]] = [:]
        var restingCount = 0
        /// When the oldest may have rested for too long.
        var nextSweep = TimeInterval.infinity
        var busy: [UInt64: PlainConnection] = [:]
        /// When the first timeout can strike.
        var nextCheck = TimeInterval.infinity
        /// Exchanges under way, with those that have no connection yet.
        var underWay = 0
        var haste: CurlHaste
    }

    private let limit: Int
    private let few: Int
    private let state: Locked<State>

    /// - Parameter limit: how many connections are kept at rest.
    /// - Parameter few: ``few``, but in tests.
    init(limit: Int, few: Int = few, _ haste: CurlHaste) {
        self.limit = limit
        self.few = few
        state = Locked(State(haste: haste))
    }

    // MARK: Exchanges

    /// Notes that an exchange begins; tells whether its sender is to look for the answer itself.
    func enter() -> Bool {
        state.withLock { state in
            state.underWay += 1
            return state.underWay == 1 && state.haste.isWorthwhile()
        }
    }

    /// Whether others have begun since.
    var isShared: Bool {
        state.withLock { $0.underWay > 1 }
    }

    /// Whether so many are under way that the loop is to send for them: one after the other, while the code for that is
    /// at hand. A call's own code, and then the kernel's for sending, is more than a processor's first caches hold.
    var isCrowded: Bool {
        state.withLock { $0.underWay > few }
    }

    func noteVainHaste() {
        state.withLock { $0.haste.wasInVain() }
    }

    /// Notes that an exchange has ended, and how long it took.
    func leave(seconds: TimeInterval) {
        state.withLock { state in
            if state.underWay == 1 { state.haste.note(seconds) }
            state.underWay -= 1
        }
    }

    /// A connection at rest, which is the caller's from now on; nil without one.
    func take(_ origin: Origin, now: TimeInterval) throws -> PlainConnection? {
        while true {
            var spent: [Resting] = []
            defer { withExtendedLifetime(spent) {} }
            let connection = try state.withLock { state -> PlainConnection? in
                guard !state.isClosed else { throw CancellationError() }
                guard let index = state.resting.index(forKey: origin) else { return nil }
                guard let last = state.resting.values[index].popLast() else {
                    state.resting.remove(at: index)
                    return nil
                }
                state.restingCount -= 1
                guard last.since > now - Self.restLimit else {
                    // The others have rested for longer.
                    spent = [last] + state.resting.values[index]
                    state.restingCount -= spent.count - 1
                    state.resting.remove(at: index)
                    return nil
                }
                state.busy[last.connection.id] = last.connection
                return last.connection
            }
            guard let connection, !connection.isQuiet else { return connection }
            state.withLock { _ = $0.busy.removeValue(forKey: connection.id) }
        }
    }

    /// A new connection, which is the caller's.
    func add(_ descriptor: Int32, _ origin: Origin, remoteAddress: String?) throws -> PlainConnection {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let connection = PlainConnection(descriptor, id: id, origin, remoteAddress: remoteAddress)
        try state.withLock { state in
            guard !state.isClosed else { throw CancellationError() }
            state.busy[id] = connection
        }
        return connection
    }

    /// Takes a connection back: for the next request, or to be closed.
    func giveBack(_ connection: PlainConnection, mayRest: Bool, now: TimeInterval) {
        var spent: [PlainConnection] = []
        state.withLock { state in
            state.busy[connection.id] = nil
            guard mayRest, !state.isClosed else { return }
            state.resting[connection.origin, default: []].append(Resting(connection: connection, since: now))
            state.restingCount += 1
            state.nextSweep = min(state.nextSweep, now + Self.restLimit)
            if now >= state.nextSweep || state.restingCount > limit { spent = state.sweep(now: now, limit: limit) }
        }
        withExtendedLifetime(spent) {}
    }

    // MARK: The loop

    /// Reads for those connections, and lets their exchanges go on.
    func receive(_ ids: UnsafeBufferPointer<UInt64>, with buffer: UnsafeMutableRawBufferPointer) {
        let connections = state.withLock { state in ids.compactMap { state.busy[$0] } }
        // All is read before the first goes on, as all is sent one after the other.
        for waiter in connections.compactMap({ $0.receive(with: buffer) }) { waiter.resume() }
    }

    var nextCheck: TimeInterval {
        state.withLock { $0.nextCheck }
    }

    /// Notes when a wait that has begun must end at the latest; true if the loop would look too late and must be woken.
    func isLate(for deadline: TimeInterval) -> Bool {
        state.withLock { state in
            guard deadline < state.nextCheck else { return false }
            state.nextCheck = deadline
            return true
        }
    }

    /// Ends what waits for too long.
    func checkTimeouts(now: TimeInterval) {
        let busy = state.withLock { state -> [PlainConnection]? in
            guard now >= state.nextCheck else { return nil }
            // Waits that begin from here on lower it again.
            state.nextCheck = .infinity
            return Array(state.busy.values)
        }
        guard let busy else { return }
        let next = busy.reduce(TimeInterval.infinity) { min($0, $1.checkTimeout(now: now)) }
        state.withLock { $0.nextCheck = min($0.nextCheck, next) }
    }

    /// Ends all exchanges and closes all connections; later ones are refused.
    func close() {
        let (busy, resting) = state.withLock { state in
            state.isClosed = true
            defer { (state.busy, state.resting) = ([:], [:]) }
            return (state.busy, state.resting)
        }
        for connection in busy.values { connection.end(.cancelled) }
        withExtendedLifetime(resting) {}
    }
}

extension PlainConnections.State {
    /// Takes out what has rested for too long, or is too much: the oldest of all, and then so many that not every
    /// connection that comes makes it look again.
    fileprivate mutating func sweep(now: TimeInterval, limit: Int) -> [PlainConnection] {
        let all = resting.values.joined().map(\.since).sorted()
        let surplus = all.count > limit ? all.count - limit * 3 / 4 : 0
        let youngestSurplus = surplus > 0 ? all[surplus - 1] : -.infinity
        let threshold = max(youngestSurplus, now - PlainConnections.restLimit)
        var spent: [PlainConnection] = []
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
        nextSweep = resting.isEmpty ? .infinity : now + PlainConnections.restLimit / 4
        return spent
    }
}
#endif
