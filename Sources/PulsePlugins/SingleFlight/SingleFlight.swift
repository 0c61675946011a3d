// SPDX-License-Identifier: MIT

import PulseCore

/// Runs work once for several calls, and background work after a response, each in a task that this object owns.
///
/// A cancelled caller leaves at once and the others continue to wait; when the last one leaves, the work is cancelled.
final class SingleFlight<Key: Hashable & Sendable, Outcome: Sendable>: Sendable {
    typealias Work = @Sendable (CallGroup) async -> Outcome

    /// One caller's subscription to a run.
    // A class, so that the outcome is not copied through asynchronous functions.
    //
    // Unchecked: the lock of the runs guards all mutable state, which saves a lock for each. The caller reads the
    // outcome without it, but only after it is settled and no longer changes.
    final class Subscription: @unchecked Sendable {
        fileprivate let ticket: Ticket
        fileprivate let run: Run
        /// The caller's position in the group of calls.
        fileprivate let member: Int
        fileprivate var waiter: CheckedContinuation<Void, Never>?
        fileprivate private(set) var isSettled = false
        /// Constant once the caller has the subscription.
        private(set) var outcome: Outcome

        fileprivate init(_ ticket: Ticket, _ run: Run, _ call: Call, cancelled: Outcome) {
            self.ticket = ticket
            self.run = run
            member = run.calls.join(call)
            outcome = cancelled
        }

        /// Whether this caller started the run.
        var isFirst: Bool { ticket.isFirst }
        /// The last request that the work has sent; nil if it has sent none.
        var sent: URLRequest? { run.chain.sent }

        /// Sets the outcome unless there is one already; nil means that the caller leaves. Returns the continuation to
        /// resume if the caller waits.
        fileprivate func settle(_ outcome: Outcome?) -> CheckedContinuation<Void, Never>? {
            guard !isSettled else { return nil }
            isSettled = true
            if let outcome { self.outcome = outcome }
            defer { waiter = nil }
            return waiter
        }
    }

    /// One execution of the work, with or without subscribers.
    // Unchecked: the same lock guards all mutable state.
    fileprivate final class Run: @unchecked Sendable {
        /// The calls that share the run.
        let calls: CallGroup
        /// The calls that the work's own chain depends on. Background work depends on no caller: it continues without
        /// subscribers, and without their deadlines.
        let chain: CallGroup
        var task: Task<Void, any Error>?
        var isCancelled = false
        var hasEnded = false
        /// Continuations that wait for the run's end without a subscription.
        var endWaiters: [CheckedContinuation<Void, Never>] = []

        init(isBackground: Bool) {
            calls = CallGroup()
            chain = isBackground ? CallGroup() : calls
        }
    }

    private struct State {
        var machine = StateMachine<Run, Subscription>()
        /// Tests that wait for a number of subscribers.
        var watchers: [(waiters: Int, continuation: CheckedContinuation<Void, Never>)] = []

        mutating func takeMetWatchers() -> [CheckedContinuation<Void, Never>] {
            guard !watchers.isEmpty else { return [] }
            let count = machine.subscriberCount
            let met = watchers.filter { $0.waiters <= count }
            watchers.removeAll { $0.waiters <= count }
            return met.map(\.continuation)
        }
    }

    private let state = Locked(State())
    private let cancelled: Outcome

    /// - Parameter cancelled: the outcome for callers that leave.
    init(cancelled: Outcome) {
        self.cancelled = cancelled
    }

    var waiterCount: Int { state.withLock { $0.machine.subscriberCount } }
    /// Runs under way, including cancelled ones that have not ended yet.
    var runCount: Int { state.withLock { $0.machine.runCount } }

    /// Suspends until this many callers wait at the same time: for tests.
    func waitUntil(waiters: Int) async {
        await state.suspend(if: { $0.machine.subscriberCount < waiters }) { $0.watchers.append((waiters, $1)) }
    }

    /// Suspends until no run is in progress: for tests.
    func waitUntilIdle() async {
        while let run = state.withLock({ $0.machine.works.first }) { await end(of: run) }
    }

    /// Joins the run for this key, or starts one, and waits for its outcome. Nil for a caller that is part of the run
    /// itself, for example when a chain has the plugin twice: it would wait for itself.
    func join(_ key: Key, for call: Call, _ work: @escaping Work) async -> Subscription? {
        let (joined, watchers) = state.withLock { state in
            // Subscribes under the lock: otherwise the last other caller could leave meanwhile and cancel the run.
            let subscription = state.machine.join(key) {
                Run(isBackground: false)
            } subscriber: {
                !$0.isFirst && call.isWork(for: $1.chain) ? nil : Subscription($0, $1, call, cancelled: cancelled)
            }
            return (subscription, state.takeMetWatchers())
        }
        watchers.forEach { $0.resume() }
        guard let subscription = joined else { return nil }
        // High priority, regardless of the first call's: others may wait, and the runtime cannot know that.
        if subscription.isFirst {
            begin(subscription.run, subscription.ticket.run, priority: .userInitiated, work)
        }
        // Work that did not suspend has its outcome already.
        if !state.withLock({ _ in subscription.isSettled }) { await settled(subscription) }
        subscription.run.calls.leave(subscription.member)
        if subscription.run.chain !== subscription.run.calls { subscription.run.chain.tellSecrets(to: call) }
        return subscription
    }

    /// Starts background work, unless a suitable run is in progress.
    func startInBackground(_ key: Key, unless willDo: (Key) -> Bool, _ work: @escaping Work) {
        let run = Run(isBackground: true)
        let number = state.withLock { $0.machine.startInBackground(key, run, unless: willDo) }
        if let number { begin(run, number, priority: nil, work) }
    }

    /// Closes the matching runs to new subscribers, so that later callers do not share an earlier request.
    func close(where isConcerned: (Key) -> Bool) {
        state.withLock { $0.machine.close(where: isConcerned) }
    }

    /// Cancels the runs without subscribers, and waits for their end. Other runs continue: their callers may belong to
    /// another client.
    func shutdown() async {
        let (runs, tasks) = state.withLock { state in
            let runs = state.machine.closeUnattended()
            for run in runs { run.isCancelled = true }
            return (runs, runs.compactMap(\.task))
        }
        tasks.forEach { $0.cancel() }
        // Waits for the runs, not for their tasks: a run that is about to start has no task yet.
        for run in runs { await end(of: run) }
    }

    // MARK: A run

    private func begin(_ run: Run, _ number: Int, priority: TaskPriority?, _ work: @escaping Work) {
        let task = Task<Void, any Error>.startingNow(priority: priority) {
            self.finish(run, number, await work(run.chain))
        }
        let isCancelled = state.withLock { _ in
            run.task = task
            return run.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    private func finish(_ run: Run, _ number: Int, _ outcome: Outcome) {
        let (waiters, endWaiters) = state.withLock { state in
            let waiters = state.machine.finish(number).compactMap { $0.settle(outcome) }
            run.hasEnded = true
            return (waiters, run.endWaiters)
        }
        waiters.forEach { $0.resume() }
        endWaiters.forEach { $0.resume() }
    }

    private func end(of run: Run) async {
        await state.suspend(if: { _ in !run.hasEnded }) { _, waiter in run.endWaiters.append(waiter) }
    }

    // MARK: A caller

    private func settled(_ subscription: Subscription) async {
        await withTaskCancellationHandler {
            await state.suspend(if: { _ in !subscription.isSettled }) { _, waiter in subscription.waiter = waiter }
        } onCancel: {
            subscription.run.calls.leave(subscription.member)
            self.leave(subscription)
        }
    }

    private func leave(_ subscription: Subscription) {
        let (waiter, task) = state.withLock { state in
            let waiter = subscription.settle(nil)
            let run = state.machine.leave(subscription.ticket)
            run?.isCancelled = true
            return (waiter, run?.task)
        }
        waiter?.resume()
        task?.cancel()
    }
}
