// SPDX-License-Identifier: MIT

// Inlinable, so that other modules specialize it.
extension Locked {
    /// Suspends the task if `park` returns true: it has then stored the waiter in the state. Otherwise returns at once.
    ///
    /// `park` runs under the lock, so a change of the state either comes before it or finds the waiter. The code that
    /// changes the state takes the waiter out, and resumes it outside the lock. The waiter carries no value: the task
    /// reads the state again, for the reason that ``Promise`` has. A cancelled task waits too.
    @inlinable
    package func suspend(_ park: (inout State, CheckedContinuation<Void, Never>) -> Bool) async {
        await withCheckedContinuation { waiter in
            let waits = withLock { park(&$0, waiter) }
            if !waits { waiter.resume() }
        }
    }

    /// Suspends the task if `mustWait` is true, after `store` has put the waiter into the state:
    /// `await state.suspend(if: { !$0.isOpen }) { $0.waiters.append($1) }`.
    @inlinable
    package func suspend(
        if mustWait: (State) -> Bool, storing store: (inout State, CheckedContinuation<Void, Never>) -> Void
    ) async {
        await suspend { state, waiter in
            guard mustWait(state) else { return false }
            store(&state, waiter)
            return true
        }
    }

    /// Suspends the task likewise, and resumes it when it is cancelled.
    ///
    /// - Parameter take: takes the waiter out of the state; nil if it is not there, because it is being resumed.
    @inlinable
    package func suspend(
        if mustWait: (State) -> Bool, storing store: (inout State, CheckedContinuation<Void, Never>) -> Void,
        onCancel take: @Sendable (inout State) -> CheckedContinuation<Void, Never>?
    ) async {
        await withTaskCancellationHandler {
            // An earlier cancellation found no waiter to resume.
            await suspend(if: { mustWait($0) && !Task.isCancelled }, storing: store)
        } onCancel: {
            withLock(take)?.resume()
        }
    }
}
