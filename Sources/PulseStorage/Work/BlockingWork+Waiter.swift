// SPDX-License-Identifier: MIT

import PulseCore

extension BlockingWork {
    /// Who waits for a piece of work, and what is left of that: so that a cancelled waiter goes at once while nothing has
    /// begun, and later with the work itself.
    struct Waiter<Value: Sendable>: Sendable {
        private enum State: Sendable {
            case new
            case waiting(CheckedContinuation<Value, any Error>)
            /// Begun, or cancelled before.
            case left
        }

        private let state = Locked(State.new)

        /// False for one that was cancelled before it could wait.
        func wait(_ continuation: CheckedContinuation<Value, any Error>) -> Bool {
            state.withLock { state in
                guard case .new = state else { return false }
                state = .waiting(continuation)
                return true
            }
        }

        /// Who waits, once: for the work as it begins, or for a cancellation before.
        func leave() -> CheckedContinuation<Value, any Error>? {
            state.withLock { state in
                defer { state = .left }
                guard case .waiting(let continuation) = state else { return nil }
                return continuation
            }
        }
    }
}
