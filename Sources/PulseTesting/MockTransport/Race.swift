// SPDX-License-Identifier: MIT

import PulseCore

/// Work against cancellation: whichever comes first decides, and work that ignores its cancellation is not waited for.
final class Race<Value: Sendable>: Sendable {
    private struct State {
        var continuation: CheckedContinuation<Value, any Error>?
        var task: Task<Void, Never>?
        var isOver = false
    }

    private let state = Locked(State())

    /// Runs `work` in a task of its own that inherits priority and task-local values. Once.
    func run(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let starts = state.withLock { state in
                    if !state.isOver { state.continuation = continuation }
                    return !state.isOver
                }
                guard starts else { return continuation.resume(throwing: CancellationError()) }
                let task = Task {
                    let result: Result<Value, any Error>
                    do {
                        result = .success(try await work())
                    } catch {
                        result = .failure(error)
                    }
                    self.finish(result)
                }
                let isOver = state.withLock { state in
                    state.task = task
                    return state.isOver
                }
                // Cancelled before there was a task to cancel; after its end this does nothing.
                if isOver { task.cancel() }
            }
        } onCancel: {
            cancel()
        }
    }

    func cancel() {
        finish(.failure(CancellationError()))
        state.withLock(\.task)?.cancel()
    }

    private func finish(_ result: Result<Value, any Error>) {
        let continuation = state.withLock { state in
            state.isOver = true
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume(with: result)
    }
}
