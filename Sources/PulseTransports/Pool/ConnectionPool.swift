// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulsePlatform

/// The connections of a transport: idle HTTP/1.1 connections, and HTTP/2 connections, which requests share.
///
/// All exchanges of a transport share it to save round trips. It keeps up to `limit` idle connections of each version,
/// each for 118 seconds or as `Keep-Alive` allows.
///
/// The pool's lock is taken before that of a shared connection, never after it.
final class ConnectionPool: IdleConnections {
    typealias Machine = State<HTTP2Connection>

    private struct Guarded: Sendable {
        var machine: Machine
        var continuations: [Machine.WaiterID: CheckedContinuation<Void, Never>] = [:]
        /// When the shared connections are next checked for idle ones.
        var nextCheck = TimeInterval.infinity

        /// Removes the continuations of dequeued waiters; those without one have not suspended yet.
        mutating func take(_ ids: [Machine.WaiterID]) -> [CheckedContinuation<Void, Never>] {
            ids.compactMap { continuations.removeValue(forKey: $0) }
        }
    }

    private let clock: any PulseClock
    private let deadlines: DeadlineHeap
    private let state: Locked<Guarded>

    /// - Parameter limit: the maximum number of idle connections of either version.
    init(limit: Int, clock: any PulseClock = .system) {
        self.clock = clock
        deadlines = DeadlineHeap(clock: clock, for: .timeout)
        state = Locked(Guarded(machine: Machine(limit: limit)))
    }

    deinit {
        // The streams of a transport may outlive it.
        for connection in state.withLock({ $0.machine.allShared }) { connection.retire() }
    }

    // MARK: Decisions

    /// What a request does next. Throws `CancellationError` after ``close()``.
    func next(_ key: ConnectionKey, _ demand: Demand, now: TimeInterval) throws -> Machine.Step {
        // Released outside the lock, as in all methods here: releasing closes them.
        var dropped: [Machine.IdleConnection] = []
        defer { withExtendedLifetime(dropped) {} }
        return try state.withLock { try $0.machine.next(key, demand, now: now, dropped: &dropped) }
    }

    func expectsHTTP2(_ key: ConnectionKey) -> Bool {
        state.withLock { $0.machine.expectsHTTP2(key) }
    }

    func requireHTTP1(_ origin: Origin) {
        state.withLock { $0.machine.requireHTTP1(origin) }
    }

    /// Waits until the request should call ``next(_:_:now:)`` again. Returns the seconds waited. Throws
    /// `CancellationError`, and ``TransportFailure`` after the timeout.
    func wait(
        _ id: Machine.WaiterID, for key: ConnectionKey, within timeout: TimeInterval
    ) async throws -> TimeInterval {
        let start = clock.uptime
        let isLate = Locked(false)
        var alarm: DeadlineHeap.Alarm?
        if timeout < .infinity {
            alarm = deadlines.add(start + timeout) { [weak self] in
                isLate.withLock { $0 = true }
                self?.interrupt(id)
            }
        }
        defer { if let alarm { deadlines.remove(alarm) } }
        // An earlier timeout found no continuation.
        await state.suspend(if: { !isLate.withLock { $0 } && $0.machine.isWaiting(id, for: key) }) {
            $0.continuations[id] = $1
        } onCancel: {
            $0.continuations.removeValue(forKey: id)
        }
        guard Task.isCancelled || isLate.withLock({ $0 }) else { return clock.uptime - start }
        leave(id, key)
        try Task.checkCancellation()
        throw TransportFailure(code: .timedOut, phase: .beforeSend)
    }

    private func interrupt(_ id: Machine.WaiterID) {
        state.withLock { $0.continuations.removeValue(forKey: id) }?.resume()
    }

    /// Removes a waiter that gives up. If it was just woken, the next one is woken instead.
    private func leave(_ id: Machine.WaiterID, _ key: ConnectionKey) {
        let woken = state.withLock { state in
            let next = state.machine.leave(id, key)
            return state.take(next.map { [$0] } ?? [])
        }
        for continuation in woken { continuation.resume() }
    }

    // MARK: Connections

    /// Reports the result of an opening. Returns false after ``close()``.
    @discardableResult
    func end(_ key: ConnectionKey, isAwaited: Bool, _ opened: Opened<HTTP2Connection>) -> Bool {
        let (isClosed, woken) = state.withLock { state in
            let waiters = state.machine.end(key, isAwaited: isAwaited, opened)
            return (state.machine.isClosed, state.take(waiters))
        }
        for continuation in woken { continuation.resume() }
        return !isClosed
    }

    /// Ends an opening with an HTTP/2 connection, and reserves a stream slot for the request that opened it. Throws
    /// ``TransportFailure``, and `CancellationError` after ``close()``.
    func share(_ opening: ConnectionOpening, _ key: ConnectionKey, isAwaited: Bool) throws -> Machine.Sharing {
        guard let connection = opening.connection as? any ReusableConnection & EagerConnection else {
            throw TransportFailure(code: .networkConnectionLost, phase: .beforeSend)
        }
        let expectedLimit = state.withLock { $0.machine.expectedLimit(key) }
        let shared = try HTTP2Connection(
            connection, clock: clock, deadlines: deadlines, expectedLimit: expectedLimit
        ) { [weak self] connection in
            self?.change(connection, of: key)
        }
        shared.start()
        guard shared.reserve() else {
            shared.close()
            throw TransportFailure(code: .networkConnectionLost, phase: .beforeSend)
        }
        let sharing = Machine.Sharing(connection: shared, unpinnedKeys: opening.unpinnedKeys)
        guard end(key, isAwaited: isAwaited, .http2(sharing)) else {
            shared.close()
            throw CancellationError()
        }
        dropIdleShared()
        return sharing
    }

    private func change(_ connection: HTTP2Connection, of key: ConnectionKey) {
        let (ended, woken) = state.withLock { state in
            let (id, ended) = state.machine.change(connection, of: key)
            return (ended, state.take(id.map { [$0] } ?? []))
        }
        withExtendedLifetime(ended) {}
        for continuation in woken { continuation.resume() }
        if connection.isOpen, let since = connection.idleSince { checkIdleShared(at: since + Machine.maxIdleTime) }
    }

    /// HTTP/1.1 connections close by themselves; see ``ReusableConnection/rest(for:)``.
    private func checkIdleShared(at time: TimeInterval) {
        let isFirst = state.withLock { state -> Bool in
            guard time < state.nextCheck, !state.machine.isClosed else { return false }
            state.nextCheck = time
            return true
        }
        guard isFirst else { return }
        _ = deadlines.add(time) { [weak self] in
            self?.state.withLock { $0.nextCheck = .infinity }
            self?.dropIdleShared()
        }
    }

    private func dropIdleShared() {
        let now = clock.uptime
        let (expired, next) = state.withLock { $0.machine.takeIdleShared(now: now) }
        for connection in expired { connection.retire() }
        if next < .infinity { checkIdleShared(at: next) }
    }

    func keep(_ pooled: PooledConnection, now: TimeInterval) {
        pooled.connection.rest(for: min(Machine.maxIdleTime, pooled.idleLimit))
        let dropped = state.withLock { $0.machine.keep(pooled, now: now) }
        withExtendedLifetime(dropped) {}
    }

    func dropIdle(_ key: ConnectionKey) {
        let dropped = state.withLock { $0.machine.takeIdle(key) }
        withExtendedLifetime(dropped) {}
    }

    /// For tests.
    var sizes: (idle: Int, shared: Int, openings: Int, waiters: Int) { state.withLock { $0.machine.sizes } }

    /// For tests: the numbers of streams in memory and of pending alarms.
    var remains: (streams: Int, alarms: Int) {
        let shared = state.withLock { $0.machine.allShared }
        return (shared.reduce(0) { $0 + $1.keptCount }, deadlines.count)
    }

    /// Closes all connections, and keeps none from now on. Waiters are cancelled.
    func close() {
        let (all, woken) = state.withLock { state in
            let all = state.machine.close()
            return (all, state.take(all.waiters))
        }
        for connection in all.shared { connection.close() }
        for continuation in woken { continuation.resume() }
        deadlines.shutdown()
    }
}
#endif
