// SPDX-License-Identifier: MIT

import PulseCore

/// Work that several calls wait for, and work behind an answer: each in a task of this object.
///
/// A caller leaves alone and at once when its call is cancelled; when the last one leaves, the work is cancelled.
final class SharedRuns<Key: Hashable & Sendable, Outcome: Sendable>: Sendable {
    typealias Work = @Sendable (WaitingCalls) async -> Outcome

    /// Where one caller waits.
    // Unchecked: what changes is reached under the lock of the runs alone, which saves one for each.
    private final class Seat: @unchecked Sendable {
        var waiter: CheckedContinuation<Outcome, Never>?
        /// The outcome for a caller that does not wait yet.
        var outcome: Outcome?

        /// Brings an outcome; gives the continuation to resume with it, if the caller waits already.
        func settle(_ outcome: Outcome) -> CheckedContinuation<Outcome, Never>? {
            guard let waiter else {
                // The first one stays: what it replaced would be freed under the lock.
                if self.outcome == nil { self.outcome = outcome }
                return nil
            }
            self.waiter = nil
            return waiter
        }
    }

    /// Work from its beginning to its very end, whether or not somebody waits.
    // Unchecked, for the same reason.
    private final class Run: @unchecked Sendable {
        let waiting = WaitingCalls()
        var task: Task<Void, any Error>?
        var isCancelled = false
        var hasEnded = false
        /// Those who wait for its end without a seat.
        var enders: [CheckedContinuation<Void, Never>] = []
    }

    private struct State {
        var machine = StateMachine<Run, Seat>()
        /// Tests that wait until that many callers wait.
        var watchers: [(waiters: Int, continuation: CheckedContinuation<Void, Never>)] = []

        mutating func takeMetWatchers() -> [CheckedContinuation<Void, Never>] {
            guard !watchers.isEmpty else { return [] }
            let count = machine.seatCount
            let met = watchers.filter { $0.waiters <= count }
            watchers.removeAll { $0.waiters <= count }
            return met.map(\.continuation)
        }
    }

    private let state = Locked(State())
    private let cancelled: Outcome

    /// - Parameter cancelled: the outcome for callers that leave, or whose work a shutdown ends.
    init(cancelled: Outcome) {
        self.cancelled = cancelled
    }

    var waiterCount: Int { state.withLock { $0.machine.seatCount } }
    /// Runs under way, including cancelled ones that have not ended yet.
    var runCount: Int { state.withLock { $0.machine.runCount } }

    /// Suspends until that many callers wait at the same time: for tests.
    func waitUntil(waiters: Int) async {
        await withCheckedContinuation { continuation in
            let isMet = state.withLock { state in
                guard state.machine.seatCount < waiters else { return true }
                state.watchers.append((waiters, continuation))
                return false
            }
            if isMet { continuation.resume() }
        }
    }

    /// Suspends until nothing is under way: for tests.
    func waitUntilIdle() async {
        while let run = state.withLock({ $0.machine.works.first }) { await end(of: run) }
    }

    /// The outcome of the work of that key, which begins if it is not under way; with it, whether this caller began it,
    /// and the calls that share it.
    func outcome(
        of key: Key, for call: Call, _ work: @escaping Work
    ) async -> (outcome: Outcome, isFirst: Bool, waiting: WaitingCalls) {
        let seat = Seat()
        let (ticket, run, place, watchers) = state.withLock { state in
            let (ticket, run) = state.machine.join(key, seat) { Run() }
            // Under the lock, so that nobody else can be the last one to leave meanwhile.
            return (ticket, run, run.waiting.join(call), state.takeMetWatchers())
        }
        watchers.forEach { $0.resume() }
        // Urgent whichever call was first: others may wait for it, and nothing tells the system that they do.
        if ticket.isFirst { begin(run, ticket.run, key, priority: .userInitiated, work) }
        let outcome = await outcome(of: ticket, seat, run, key, place, for: call)
        run.waiting.leave(place)
        return (outcome, ticket.isFirst, run.waiting)
    }

    /// Begins work that nobody waits for, unless some is under way that will do as well.
    func beginBehind(_ key: Key, unless willDo: (Key) -> Bool, _ work: @escaping Work) {
        let run = Run()
        let number = state.withLock { $0.machine.beginBehind(key, run, unless: willDo) }
        if let number { begin(run, number, key, priority: nil, work) }
    }

    /// Callers that come from now on do not wait for what was asked for before.
    func close(where isConcerned: (Key) -> Bool) {
        state.withLock { $0.machine.close(where: isConcerned) }
    }

    /// Cancels all that is under way and waits for its end.
    func shutdown() async {
        let (waiters, runs, tasks) = state.withLock { state in
            var waiters: [CheckedContinuation<Outcome, Never>] = []
            for seats in state.machine.closeAll() {
                seats.forEach { seat in
                    if let waiter = seat.settle(cancelled) { waiters.append(waiter) }
                }
            }
            let runs = state.machine.works
            for run in runs { run.isCancelled = true }
            return (waiters, runs, runs.compactMap(\.task))
        }
        waiters.forEach { $0.resume(returning: cancelled) }
        tasks.forEach { $0.cancel() }
        // Waits for the runs and not for their tasks: a run that is about to begin has none yet.
        for run in runs { await end(of: run) }
    }

    // MARK: A run

    private func begin(_ run: Run, _ number: Int, _ key: Key, priority: TaskPriority?, _ work: @escaping Work) {
        // Work behind an answer has waiting calls of its own, and none of them: it goes on without those who join, and
        // heeds no deadline of theirs.
        let waiting = priority == nil ? WaitingCalls() : run.waiting
        let task = Task<Void, any Error>.startingNow(priority: priority) {
            self.finish(run, number, key, await work(waiting))
        }
        let isCancelled = state.withLock { _ in
            run.task = task
            return run.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    private func finish(_ run: Run, _ number: Int, _ key: Key, _ outcome: Outcome) {
        let (waiters, enders) = state.withLock { state in
            var waiters: [CheckedContinuation<Outcome, Never>] = []
            state.machine.finish(number, key).forEach { seat in
                if let waiter = seat.settle(outcome) { waiters.append(waiter) }
            }
            run.hasEnded = true
            return (waiters, run.enders)
        }
        waiters.forEach { $0.resume(returning: outcome) }
        enders.forEach { $0.resume() }
    }

    private func end(of run: Run) async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { _ in
                if !run.hasEnded { run.enders.append(continuation) }
                return run.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    // MARK: A caller

    private func outcome(
        of ticket: Ticket, _ seat: Seat, _ run: Run, _ key: Key, _ place: Int, for call: Call
    ) async -> Outcome {
        // Work that never waited has its outcome here already.
        if let outcome = state.withLock({ _ in seat.outcome }) { return outcome }
        return await withCancellation(call.cancellation) {
            await withCheckedContinuation { continuation in
                let outcome = state.withLock { _ in
                    if seat.outcome == nil { seat.waiter = continuation }
                    return seat.outcome
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            run.waiting.leave(place)
            self.leave(ticket, seat, key)
        }
    }

    private func leave(_ ticket: Ticket, _ seat: Seat, _ key: Key) {
        let (waiter, task) = state.withLock { state in
            let waiter = seat.settle(cancelled)
            let run = state.machine.leave(ticket, key)
            run?.isCancelled = true
            return (waiter, run?.task)
        }
        waiter?.resume(returning: cancelled)
        task?.cancel()
    }
}
