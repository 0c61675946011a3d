// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform

/// Ends the waits for a disk that hangs, such as a dead network volume. System calls cannot be cancelled: they hold
/// their threads until they return.
///
/// A job is late if it has not ended after one to two periods, including its time in the queue. The disk counts as
/// hanging until all late jobs have ended.
final class DiskWatch: Sendable {
    /// In seconds. A disk that spins up, or a busy machine, takes less.
    static let period: TimeInterval = 5

    private struct Job {
        /// The number of periods that had ended when the job began.
        let start: Int
        /// Ends the wait; nil for a late job.
        var abandon: (@Sendable (any Error) -> Void)?
    }

    private struct State {
        var jobs: [Int: Job] = [:]
        var lastJob = 0
        var lateCount = 0
        var periods = 0
        var isTicking = false

        /// Ends a period, and returns the waits to abandon.
        mutating func tick() -> [@Sendable (any Error) -> Void] {
            periods += 1
            let late = jobs.filter { $0.value.abandon != nil && $0.value.start < periods - 1 }
            for number in late.keys { jobs[number]?.abandon = nil }
            lateCount += late.count
            isTicking = jobs.values.contains { $0.abandon != nil }
            return late.values.compactMap(\.abandon)
        }
    }

    private let clock: any PulseClock
    private let state = Locked(State())

    init(_ clock: any PulseClock) {
        self.clock = clock
    }

    var isHanging: Bool { state.withLock { $0.lateCount > 0 } }

    /// Runs a job on the disk. Throws ``DiskFailure/hanging`` for a late job, which still runs.
    ///
    /// - Parameter ifCancelled: whether a cancelled caller ends the wait, with `CancellationError`.
    func run<Value: Sendable>(
        on pool: BlockingThreadPool, ifCancelled: Bool, _ body: @escaping @Sendable () -> Value
    ) async throws -> Value {
        let number = nextNumber()
        return try await pool.abandonable(ifCancelled: ifCancelled) { abandon in
            begin(number, abandon)
        } _: { [self] in
            defer { end(number) }
            return body()
        }
    }

    /// Runs a job that is late from the start: the disk counts as hanging until it has ended.
    func runLate(on pool: BlockingThreadPool, _ body: @escaping @Sendable () -> Void) {
        let number = nextNumber()
        state.withLock { state in
            state.jobs[number] = Job(start: state.periods)
            state.lateCount += 1
        }
        pool.begin { [self] in
            body()
            end(number)
        }
    }

    private func nextNumber() -> Int {
        state.withLock { state in
            state.lastJob += 1
            return state.lastJob
        }
    }

    private func begin(_ number: Int, _ abandon: @escaping @Sendable (any Error) -> Void) {
        let mustTick = state.withLock { state in
            state.jobs[number] = Job(start: state.periods, abandon: abandon)
            defer { state.isTicking = true }
            return !state.isTicking
        }
        guard mustTick else { return }
        // Ends with the jobs: within two periods, however long they take.
        Task.detached { [self] in
            repeat { try? await clock.sleep(Self.period, for: .timeout) } while tick()
        }
    }

    private func end(_ number: Int) {
        state.withLock { state in
            guard let job = state.jobs.removeValue(forKey: number) else { return }
            if job.abandon == nil { state.lateCount -= 1 }
        }
    }

    /// Returns whether a job is still being timed.
    private func tick() -> Bool {
        let (late, isTicking) = state.withLock { ($0.tick(), $0.isTicking) }
        late.forEach { $0(DiskFailure.hanging) }
        return isTicking
    }
}
