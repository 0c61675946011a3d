// SPDX-License-Identifier: MIT

import PulseCore

/// Holds tasks until it is opened, and counts arrivals.
package final class Gate: Sendable {
    private struct State {
        var isOpen: Bool
        var arrivals = 0
        var held: [CheckedContinuation<Void, Never>] = []
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state: Locked<State>

    package init(isOpen: Bool = false) {
        state = Locked(State(isOpen: isOpen))
    }

    package var arrivals: Int { state.withLock { $0.arrivals } }

    /// Ignores the cancellation of the task.
    package func pass() async {
        await withCheckedContinuation { continuation in
            let woken = state.withLock { state in
                state.arrivals += 1
                if !state.isOpen { state.held.append(continuation) }
                defer { state.watchers.removeAll { $0.count <= state.arrivals } }
                return state.watchers.filter { $0.count <= state.arrivals }.map(\.continuation)
                    + (state.isOpen ? [continuation] : [])
            }
            woken.forEach { $0.resume() }
        }
    }

    package func open() {
        let held = state.withLock { state in
            state.isOpen = true
            defer { state.held = [] }
            return state.held
        }
        held.forEach { $0.resume() }
    }

    package func close() {
        state.withLock { $0.isOpen = false }
    }

    package func arrivals(atLeast count: Int) async {
        await withCheckedContinuation { continuation in
            let isMet = state.withLock { state in
                if state.arrivals < count { state.watchers.append((count, continuation)) }
                return state.arrivals >= count
            }
            if isMet { continuation.resume() }
        }
    }
}
