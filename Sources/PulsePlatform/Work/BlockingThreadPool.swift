// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore

/// A few threads for blocking work, one job at a time on each. A free thread takes the next job in order, so that a
/// long job delays only itself.
///
/// The pool uses serial queues, which get threads of their own. On Linux, the system's concurrent queues share their
/// threads with all of Swift's tasks: two long computations there stop every task on a machine with two cores.
package struct BlockingThreadPool: Sendable {
    package typealias Work = @Sendable () -> Void

    /// The threads for computations.
    static let shared = BlockingThreadPool(count: max(2, ProcessInfo.processInfo.activeProcessorCount))
    /// The threads for short jobs that mostly wait for a disk. They do not queue behind computations.
    package static let files = BlockingThreadPool(count: 4)

    private struct State {
        var idle: [Int]
        var waiting: ArraySlice<Work> = []
    }

    private let queues: [DispatchQueue]
    private let state: Locked<State>

    package init(count: Int) {
        queues = (0..<max(1, count)).map { DispatchQueue(label: "com.pulse.work-\($0)") }
        // The last idle thread is taken first: a few warm threads are better than many.
        state = Locked(State(idle: queues.indices.reversed()))
    }

    package func begin(_ work: @escaping Work) {
        let thread = state.withLock { state in
            let thread = state.idle.popLast()
            if thread == nil { state.waiting.append(work) }
            return thread
        }
        if let thread { begin(work, on: thread) }
    }

    private func begin(_ work: @escaping Work, on thread: Int) {
        queues[thread].async { [self] in
            work()
            if let next = next(for: thread) { begin(next, on: thread) }
        }
    }

    private func next(for thread: Int) -> Work? {
        state.withLock { state in
            guard let next = state.waiting.popFirst() else {
                // A slice keeps the storage of removed elements.
                state.waiting = []
                state.idle.append(thread)
                return nil
            }
            return next
        }
    }

    // MARK: Results

    /// Runs a job and passes on its value.
    ///
    /// The thread releases the job before: a file whose last reference the receiver drops then is closed at once.
    package func begin<Value: Sendable>(
        _ body: @escaping @Sendable () -> Value, then receive: @escaping @Sendable (Value) -> Void
    ) {
        let job = Locked<(@Sendable () -> Value)?>(body)
        begin {
            if let value = Self.result(of: job) { receive(value) }
        }
    }

    /// Runs a job, even if its caller is cancelled.
    package func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withFencedContinuation { resume in begin(body, then: resume) }
    }

    /// Runs a job, but need not wait for its end.
    ///
    /// - Parameter ifCancelled: whether a cancelled caller ends the wait, with `CancellationError`. The job still runs.
    /// - Parameter register: takes an action that ends the wait with an error, before the job begins.
    package func abandonable<Value: Sendable>(
        ifCancelled: Bool = true, register: (@escaping @Sendable (any Error) -> Void) -> Void = { _ in },
        _ body: @escaping @Sendable () -> Value
    ) async throws -> Value {
        let waiter = BlockingWork.Waiter<Value>()
        register { waiter.take()?.resume(throwing: $0) }
        let value = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                if !waiter.wait(continuation) { continuation.resume(throwing: CancellationError()) }
                begin(body) { value in waiter.take()?.resume(returning: value) }
            }
        } onCancel: {
            if ifCancelled { waiter.take()?.resume(throwing: CancellationError()) }
        }
        // The lock is the fence, as in `withFencedContinuation`.
        _ = waiter.take()
        return value
    }

    /// Runs a job that may fail.
    package func result<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await run { Result(catching: body) }.get()
    }

    /// Takes the job, which nothing else does, and runs it.
    private static func result<Value>(of job: Locked<(@Sendable () -> Value)?>) -> Value? {
        let body = job.withLock { $0.take() }
        return body?()
    }
}
