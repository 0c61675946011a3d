// SPDX-License-Identifier: MIT

/// What ends a call that runs in its caller's own task, which nobody but the caller may cancel as a whole.
///
/// A call needs a task of its own only if code from outside may wait in it: such code listens to its task alone. But
/// each task costs a hop from thread to thread and back, which is more than the rest of a call. So a call that only our
/// own code waits in runs without one: each of its waits, by ``withCancellation(_:operation:onCancel:)``, ends when
/// this is cancelled.
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

    /// Ends the current wait, and every later one before it begins.
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
        // What the handler holds is released outside the lock.
        let handler = state.withLock { state in
            defer { state.handler = nil }
            return state.handler
        }
        withExtendedLifetime(handler) {}
    }
}

/// Runs `operation`, and at most once `handler` if the task, or the call that runs in it, is cancelled meanwhile or was
/// before. Only one wait at a time for each `cancellation`.
@usableFromInline
package func withCancellation<Value>(
    _ cancellation: Cancellation?, operation: () async throws -> Value, onCancel handler: @escaping @Sendable () -> Void
) async rethrows -> Value {
    cancellation?.install(handler)
    defer { cancellation?.remove() }
    return try await withTaskCancellationHandler(operation: operation, onCancel: handler)
}

/// A plugin, transport or cookie store that never waits for a call beyond that call's ``Cancellation``, or that never
/// waits for anything but its own short work.
package protocol EndsWithItsCall: Sendable {
    /// Whether this holds; false if it was made with code from outside that may wait. True by default.
    var endsWithItsCall: Bool { get }
}

extension EndsWithItsCall {
    package var endsWithItsCall: Bool { true }
}

extension Call {
    /// Whether the call is cancelled, so that nobody waits for its outcome any more.
    package var isCancelled: Bool {
        Task.isCancelled || cancellation?.isCancelled == true
    }

    package func checkCancellation() throws {
        if isCancelled { throw CancellationError() }
    }

    /// Sleeps on the client's clock, whose type may be anybody's and which listens to its task alone.
    package func sleep(_ seconds: TimeInterval, for purpose: SleepPurpose) async throws {
        guard let cancellation else { return try await environment.clock.sleep(seconds, for: purpose) }
        let clock = environment.clock
        let task = Task { try await clock.sleep(seconds, for: purpose) }
        try await withCancellation(cancellation) {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }
}
