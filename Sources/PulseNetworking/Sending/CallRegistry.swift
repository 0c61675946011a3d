// SPDX-License-Identifier: MIT

import PulseCore

/// The calls of one client that are under way, so that they can be cancelled and waited for.
struct CallRegistry: Sendable {
    typealias Ticket = UInt64

    private struct Entry {
        let tag: String?
        var cancel: @Sendable () -> Void
    }

    private struct State {
        var isShutDown = false
        var nextID: Ticket = 0
        var entries: [Ticket: Entry] = [:]
        var idleWaiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    var isShutDown: Bool {
        state.withLock { $0.isShutDown }
    }

    var count: Int {
        state.withLock { $0.entries.count }
    }

    /// Adds a call and gives its number; nil after shutdown.
    func add(tag: String?, cancel: @escaping @Sendable () -> Void) -> Ticket? {
        state.withLock { state in
            guard !state.isShutDown else { return nil }
            state.nextID += 1
            state.entries[state.nextID] = Entry(tag: tag, cancel: cancel)
            return state.nextID
        }
    }

    /// From now on the call is cancelled in another way: its head is there, its stream goes on.
    func update(_ id: Ticket, cancel: @escaping @Sendable () -> Void) {
        state.withLock { $0.entries[id]?.cancel = cancel }
    }

    func remove(_ id: Ticket) {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.entries[id] = nil
            guard state.entries.isEmpty else { return [] }
            defer { state.idleWaiters = [] }
            return state.idleWaiters
        }
        waiters.forEach { $0.resume() }
    }

    /// Cancels all calls, or those of one tag.
    func cancelAll(tag: String? = nil) {
        let cancels = state.withLock { state in
            state.entries.values.filter { tag == nil || $0.tag == tag }.map(\.cancel)
        }
        cancels.forEach { $0() }
    }

    /// Refuses further calls, cancels those under way and waits until they have ended.
    func shutdown() async {
        state.withLock { $0.isShutDown = true }
        cancelAll()
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                guard !state.entries.isEmpty else { return true }
                state.idleWaiters.append(continuation)
                return false
            }
            if isIdle { continuation.resume() }
        }
    }
}
