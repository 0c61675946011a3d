// SPDX-License-Identifier: MIT

/// A latch: opens once, and any number of tasks wait until then.
package struct Latch: Sendable {
    private struct State {
        var isOpen = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    package init() {}

    /// Resumes the waiting tasks, and lets later ones pass.
    package func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [] }
            return state.waiters
        }
        waiters.forEach { $0.resume() }
    }

    /// Waits until the latch is open. A cancelled task waits too.
    package func wait() async {
        await state.suspend(if: { !$0.isOpen }) { $0.waiters.append($1) }
    }
}
