// SPDX-License-Identifier: MIT

import PulseCore

extension BlockingWork {
    /// The waiter for a piece of work: a cancelled one leaves at once while the work has not begun, and with the work
    /// later.
    struct Waiter<Value: Sendable>: Sendable {
        private enum State: Sendable {
            case new
            case waiting(CheckedContinuation<Value, any Error>)
            /// The work has begun, or was cancelled before.
            case left
        }

        private let state = Locked(State.new)

        /// Begins to wait; false if it was cancelled before.
        func wait(_ continuation: CheckedContinuation<Value, any Error>) -> Bool {
            state.withLock { state in
                guard case .new = state else { return false }
                state = .waiting(continuation)
                return true
            }
        }

        /// Takes the waiter, once: for the work as it begins, or for a cancellation before.
        func leave() -> CheckedContinuation<Value, any Error>? {
            state.withLock { state in
                defer { state = .left }
                guard case .waiting(let continuation) = state else { return nil }
                return continuation
            }
        }
    }
}
