// SPDX-License-Identifier: MIT

import PulseCore

extension BlockingWork {
    /// The waiter for a job, which is resumed once: by the job, or by an earlier cancellation.
    struct Waiter<Value: Sendable>: Sendable {
        private enum State: Sendable {
            case new
            case waiting(CheckedContinuation<Value, any Error>)
            /// The continuation was taken, or the wait was cancelled before it began.
            case taken
        }

        private let state = Locked(State.new)

        /// Starts to wait; returns false if the wait was cancelled before.
        func wait(_ continuation: CheckedContinuation<Value, any Error>) -> Bool {
            state.withLock { state in
                guard case .new = state else { return false }
                state = .waiting(continuation)
                return true
            }
        }

        /// Takes the continuation, once: for the job, or for an earlier cancellation.
        func take() -> CheckedContinuation<Value, any Error>? {
            state.withLock { state in
                defer { state = .taken }
                guard case .waiting(let continuation) = state else { return nil }
                return continuation
            }
        }
    }
}
