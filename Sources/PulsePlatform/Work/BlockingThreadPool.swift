// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore

/// A few threads for work that would hold up others, one piece at a time on each, in order: a free thread takes the
/// next piece, so that a long one holds up only itself.
///
/// Serial queues, which get threads of their own: on Linux the system's concurrent queues share theirs with all of
/// Swift's tasks, and two long computations there stop every task on a machine with two cores.
package struct BlockingThreadPool: Sendable {
    package typealias Work = @Sendable () -> Void

    /// The lanes for computations.
    static let shared = BlockingThreadPool(count: max(2, ProcessInfo.processInfo.activeProcessorCount))
    /// The lanes for short pieces that mostly wait for a disk, not behind computations.
    package static let files = BlockingThreadPool(count: 4)

    private struct State {
        var idle: [Int]
        var waiting: ArraySlice<Work> = []
    }

    private let queues: [DispatchQueue]
    private let state: Locked<State>

    package init(count: Int) {
        queues = (0..<max(1, count)).map { DispatchQueue(label: "com.pulse.work-\($0)") }
        // The first free one is taken: a few warm threads are better than many.
        state = Locked(State(idle: queues.indices.reversed()))
    }

    package func begin(_ work: @escaping Work) {
        let lane = state.withLock { state in
            let lane = state.idle.popLast()
            if lane == nil { state.waiting.append(work) }
            return lane
        }
        if let lane { begin(work, on: lane) }
    }

    private func begin(_ work: @escaping Work, on lane: Int) {
        queues[lane].async { [self] in
            work()
            if let next = next(for: lane) { begin(next, on: lane) }
        }
    }

    private func next(for lane: Int) -> Work? {
        state.withLock { state in
            guard let next = state.waiting.popFirst() else {
                // A slice keeps what was cut from it.
                state.waiting = []
                state.idle.append(lane)
                return nil
            }
            return next
        }
    }

    // MARK: Waiting for it

    /// Runs a piece; one that was handed over is done, even if its caller is cancelled.
    package func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            begin { continuation.resume(returning: body()) }
        }
    }

    /// Runs a piece that may fail.
    package func result<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            begin { continuation.resume(with: Result(catching: body)) }
        }
    }
}
