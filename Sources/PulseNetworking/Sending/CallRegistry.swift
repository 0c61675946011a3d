// SPDX-License-Identifier: MIT

import PulseCore

/// The calls in progress of one client. They can be cancelled and waited for.
struct CallRegistry: Sendable {
    private struct State {
        var isShutDown = false
        var calls: [ObjectIdentifier: ActiveCall] = [:]
        var idleWaiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    var isShutDown: Bool {
        state.withLock { $0.isShutDown }
    }

    var count: Int {
        state.withLock { $0.calls.count }
    }

    /// Registers a call that starts. Returns false after shutdown: then the call must not start.
    func add(_ active: ActiveCall) -> Bool {
        state.withLock { state in
            if !state.isShutDown { state.calls[ObjectIdentifier(active.call)] = active }
            return !state.isShutDown
        }
    }

    func remove(_ active: ActiveCall) {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.calls[ObjectIdentifier(active.call)] = nil
            guard state.calls.isEmpty else { return [] }
            defer { state.idleWaiters = [] }
            return state.idleWaiters
        }
        waiters.forEach { $0.resume() }
    }

    /// Cancels all calls, or those with one tag.
    func cancelAll(tag: String? = nil) {
        for active in state.withLock({ $0.calls }).values where tag == nil || active.call.options.tag == tag {
            active.cancel(by: tag.map { .tag($0) } ?? .cancelAll)
        }
    }

    /// Refuses new calls, cancels the calls in progress, and waits until they have ended.
    func shutdown() async {
        let calls = state.withLock { state in
            state.isShutDown = true
            return state.calls
        }
        calls.values.forEach { $0.cancel(by: .shutdown) }
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if !state.calls.isEmpty { state.idleWaiters.append(continuation) }
                return state.calls.isEmpty
            }
            if isIdle { continuation.resume() }
        }
    }
}
