// SPDX-License-Identifier: MIT

/// A promise: a value that is set once, for one waiting task.
///
/// The value goes through the lock and not through the continuation: if a continuation is resumed before its task has
/// suspended, the runtime synchronizes with an atomic that the thread sanitizer does not see.
package final class Promise<Value: Sendable>: Sendable {
    package typealias Waiter = CheckedContinuation<Void, Never>

    private struct State {
        var value: Value?
        var waiter: Waiter?
    }

    private let state = Locked(State())

    package init() {}

    /// Stores the value, unless there is one. Returns the waiter, which the caller resumes outside of all locks.
    package func store(_ value: Value) -> Waiter? {
        state.withLock { state in
            guard state.value == nil else { return nil }
            state.value = value
            return state.waiter.take()
        }
    }

    /// Stores the value, unless there is one, and resumes the task.
    package func fulfill(_ value: Value) {
        store(value)?.resume()
    }

    /// Waits for the value.
    ///
    /// - Parameter onCancel: called if the task is cancelled; it must ensure that a value is set.
    package func value(onCancel: @Sendable () -> Void = {}) async -> Value {
        while true {
            if let value = state.withLock({ $0.value }) { return value }
            await withTaskCancellationHandler {
                await state.suspend(if: { $0.value == nil }) { $0.waiter = $1 }
            } onCancel: {
                onCancel()
            }
        }
    }
}
