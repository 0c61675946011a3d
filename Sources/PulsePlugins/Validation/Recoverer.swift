// SPDX-License-Identifier: MIT

import PulseCore

/// Runs the recoveries of one ``ValidatorPlugin``: performs what ``RecoveryState`` decides, in its own tasks.
final class Recoverer: Sendable {
    private typealias Waiter = CheckedContinuation<Ending, any Error>

    private enum Ending {
        case done
        /// A shutdown ended the run before the caller joined: its result does not apply to this caller.
        case recheck
    }

    private struct RunTasks {
        let name: String
        let work: Task<Void, Never>
        /// Nil after the timeout or a cancellation, until another call waits for the run.
        var timer: Task<Void, Never>?
        /// The permits of the call that started the run. That call may leave, the waiting calls may hold all other
        /// permits, and the run may need one.
        var permits: [HeldPermit]
        /// Whether the run has timed out. Calls that join later wait for its end.
        var isGivenUp = false
    }

    private struct State {
        var recoveries = RecoveryState<Waiter>()
        /// Keyed by run number.
        var tasks: [UInt64: RunTasks] = [:]
        /// The runs cancelled by a shutdown.
        var cancelled: Set<UInt64> = []
        var nextID: UInt64 = 0
    }

    private let timeout: TimeInterval
    private let state = Locked(State())

    /// - Parameter timeout: in seconds; 30 unless it is a positive number.
    init(timeout: TimeInterval) {
        self.timeout = timeout > 0 ? timeout : 30
    }

    /// Whether the current task is part of a recovery of this object.
    var isWorking: Bool { WorkScope.isWithin(self) }

    /// The logical send time for ``recover(_:sentAt:in:next:)``; read it before a request is sent.
    var time: UInt64 {
        state.withLock { $0.recoveries.time }
    }

    func waiterCount(_ name: String) -> Int {
        state.withLock { $0.recoveries.waiterCount(name) }
    }

    /// Returns after a successful recovery. Throws the recovery's error, or `CancellationError`.
    func recover(
        _ recovery: Validator.Recovery, sentAt time: UInt64, in context: PluginContext, next: PluginChain
    ) async throws {
        while try await ending(of: recovery, sentAt: time, in: context, next: next) == .recheck {}
    }

    private func ending(
        of recovery: Validator.Recovery, sentAt time: UInt64, in context: PluginContext, next: PluginChain
    ) async throws -> Ending {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: Waiter) in
                let outcome: Result<Ending, any Error>? = state.withLock { state in
                    // A cancellation before the continuation existed found nothing to resume.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    let action = state.recoveries.request(recovery.name, sentAt: time)
                    if action == .proceed { return .success(.done) }
                    _ = state.recoveries.join(recovery.name, continuation, id: id)
                    // Under the lock, so that a shutdown either precedes the run or knows its tasks.
                    switch action {
                    case .proceed: break
                    case .start(let run): state.tasks[run] = start(recovery, run, context.clock, next)
                    case .wait(let run):
                        // The run has timed out but continues: a call that waits for it gets its own timeout.
                        if let tasks = state.tasks[run], tasks.timer == nil {
                            state.tasks[run]?.timer = timer(recovery.name, run, tasks.work, context.clock)
                        }
                    }
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            let waiter = self.state.withLock { $0.recoveries.leave(recovery.name, id: id) }
            waiter?.resume(throwing: CancellationError())
        }
    }

    /// Cancels the recoveries without waiters. Others continue: their calls may belong to another client.
    func shutdown() async {
        let (tasks, permits) = state.withLock { state in
            let unattended = state.tasks.filter { state.recoveries.waiterCount($0.value.name) == 0 }
            for run in unattended.keys {
                state.cancelled.insert(run)
                state.tasks[run]?.timer = nil
                state.tasks[run]?.permits = []
            }
            let tasks = unattended.values.flatMap { [$0.work, $0.timer].compactMap { $0 } }
            return (tasks, unattended.values.flatMap(\.permits))
        }
        permits.forEach { $0.release() }
        tasks.forEach { $0.cancel() }
        // A recovery that finds the session over may shut down its client, and would then wait for itself.
        guard !isWorking else { return }
        for task in tasks { await task.value }
    }

    // MARK: A run

    private func start(
        _ recovery: Validator.Recovery, _ run: UInt64, _ clock: any PulseClock, _ next: PluginChain
    ) -> RunTasks {
        // High priority, regardless of the first call's: others may wait, and the runtime cannot know that.
        let work = Task(priority: .userInitiated) {
            let result: Result<Void, any Error>
            do {
                try await WorkScope.run(self) { try await Self.perform(recovery, next) }
                result = .success(())
            } catch {
                result = .failure(error)
            }
            self.end(recovery.name, run, result)
        }
        return RunTasks(
            name: recovery.name, work: work, timer: timer(recovery.name, run, work, clock),
            permits: HeldPermit.retainAll())
    }

    private func timer(
        _ name: String, _ run: UInt64, _ work: Task<Void, Never>, _ clock: any PulseClock
    ) -> Task<Void, Never> {
        Task(priority: .userInitiated) { [timeout] in
            guard (try? await clock.sleep(timeout, for: .timeout)) != nil else { return }
            // Not awaited: work that ignores its cancellation would block all waiters.
            work.cancel()
            self.giveUp(name, run)
        }
    }

    /// Fails the waiters of a run. The run keeps its name until it ends: a concurrent second login would use the same
    /// refresh token.
    private func giveUp(_ name: String, _ run: UInt64) {
        let (waiters, permits) = state.withLock { state in
            defer {
                state.tasks[run]?.timer = nil
                state.tasks[run]?.permits = []
                state.tasks[run]?.isGivenUp = true
            }
            return (state.recoveries.leaveAll(name, run: run), state.tasks[run]?.permits ?? [])
        }
        permits.forEach { $0.release() }
        waiters.forEach { $0.resume(throwing: timeoutError) }
    }

    private var timeoutError: PulseError {
        .transport(.timedOut, underlying: RecoveryTimeout(seconds: timeout))
    }

    private static func perform(_ recovery: Validator.Recovery, _ next: PluginChain) async throws {
        switch recovery.work {
        case .task(let work):
            try await work()
        case .request(let request):
            let response = try await next.send(ready: request, limit: 1 << 20)
            if let error = PulseError(validating: response, accepted: .successful) { throw error }
        }
    }

    private func end(_ name: String, _ run: UInt64, _ result: Result<Void, any Error>) {
        let isSuccess = (try? result.get()) != nil
        let (waiters, tasks, isShutDown) = state.withLock { state in
            (
                state.recoveries.end(name, run: run, isSuccess: isSuccess), state.tasks.removeValue(forKey: run),
                state.cancelled.remove(run) != nil
            )
        }
        tasks?.timer?.cancel()
        tasks?.permits.forEach { $0.release() }
        let isGivenUp = tasks?.isGivenUp == true
        let outcome = result.map { Ending.done }.mapError { isGivenUp ? timeoutError : Self.asFailure($0, of: name) }
        // Waiters of a run that a shutdown has cancelled joined after the shutdown.
        waiters.forEach { $0.resume(with: isShutDown && !isSuccess ? .success(.recheck) : outcome) }
    }

    /// The error for waiting calls: a recovery that was cancelled from within has failed, but the calls were not
    /// cancelled.
    private static func asFailure(_ error: any Error, of name: String) -> any Error {
        PulseError(wrapping: error).kind == .cancelled ? PulseError.custom(RecoveryCancelled(name: name)) : error
    }
}

/// A recovery was cancelled from within.
struct RecoveryCancelled: Error, CustomStringConvertible {
    let name: String

    var description: String { "a validator's recovery was cancelled: \(Redaction.standard.text(name))" }
}

/// A recovery took longer than its timeout.
struct RecoveryTimeout: Error, CustomStringConvertible {
    let seconds: TimeInterval

    var description: String { "a validator's recovery took longer than \(seconds) s" }
}
