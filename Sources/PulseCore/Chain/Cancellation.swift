// SPDX-License-Identifier: MIT

/// What ends a call that runs in its caller's own task, which nobody but the caller may cancel as a whole.
///
/// A call needs a task of its own only where somebody else's code may wait in it: that code listens to its task alone. But
/// each task costs a way from thread to thread and back, which is more than all the rest of a call. So a call whose every
/// wait is our own code's runs without: each of them, by ``withCancellation(_:operation:onCancel:)``, ends when this says so.
@usableFromInline
package final class Cancellation: Sendable {
    private struct State {
        var isCancelled = false
        var handler: (@Sendable () -> Void)?
    }

    private let state = Locked(State())

    package init() {}

    @usableFromInline
    package var isCancelled: Bool {
        state.withLock { $0.isCancelled }
    }

    /// Ends the wait of the moment, and every later one before it begins.
    package func cancel() {
        let handler = state.withLock { state in
            state.isCancelled = true
            defer { state.handler = nil }
            return state.handler
        }
        handler?()
    }

    fileprivate func install(_ handler: @escaping @Sendable () -> Void) {
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.handler = handler }
            return state.isCancelled
        }
        if isCancelled { handler() }
    }

    fileprivate func remove() {
        // What the handler holds goes outside the lock.
        let handler = state.withLock { state in
            defer { state.handler = nil }
            return state.handler
        }
        withExtendedLifetime(handler) {}
    }
}

/// Runs `operation`, and `handler` once at most if the task, or the call that runs in it, is cancelled meanwhile or was
/// before. One wait at a time for each `cancellation`.
@usableFromInline
package func withCancellation<Value>(
    _ cancellation: Cancellation?, operation: () async throws -> Value, onCancel handler: @escaping @Sendable () -> Void
) async rethrows -> Value {
    cancellation?.install(handler)
    defer { cancellation?.remove() }
    return try await withTaskCancellationHandler(operation: operation, onCancel: handler)
}

/// A plugin, transport or cookie store whose every wait for a call ends with the call's ``Cancellation``, or which never
/// waits for anything but its own short work.
package protocol EndsWithItsCall: Sendable {
    /// False for one that was made with somebody else's code which may wait; true by default.
    var endsWithItsCall: Bool { get }
}

extension EndsWithItsCall {
    package var endsWithItsCall: Bool { true }
}

extension Call {
    /// Whether nobody waits for the outcome any more.
    package var isCancelled: Bool {
        Task.isCancelled || cancellation?.isCancelled == true
    }

    package func checkCancellation() throws {
        if isCancelled { throw CancellationError() }
    }

    /// Sleeps on the client's clock, which may be anybody's and listens to its task alone.
    package func sleep(_ seconds: TimeInterval) async throws {
        guard let cancellation else { return try await environment.clock.sleep(seconds) }
        let clock = environment.clock
        let task = Task { try await clock.sleep(seconds) }
        try await withCancellation(cancellation) {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }
}
