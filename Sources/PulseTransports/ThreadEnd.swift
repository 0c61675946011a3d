// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore

/// The end of a loop's thread, which tasks wait for.
struct ThreadEnd: Sendable {
    private struct State {
        var hasCome = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    /// Resumes the waiting tasks, and lets later ones pass.
    func come() {
        let waiters = state.withLock { state in
            state.hasCome = true
            defer { state.waiters = [] }
            return state.waiters
        }
        waiters.forEach { $0.resume() }
    }

    func wait() async {
        await withCheckedContinuation { waiter in
            let hasCome = state.withLock { state in
                if !state.hasCome { state.waiters.append(waiter) }
                return state.hasCome
            }
            if hasCome { waiter.resume() }
        }
    }
}
#endif
