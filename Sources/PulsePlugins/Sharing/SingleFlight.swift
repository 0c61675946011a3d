// SPDX-License-Identifier: MIT

import PulseCore

/// Work that several calls wait for, and work behind an answer: each in a task of this object.
///
/// A caller leaves alone and at once when its call is cancelled; when the last one leaves, the work is cancelled.
final class SingleFlight<Key: Hashable & Sendable, Outcome: Sendable>: Sendable {
    typealias Work = @Sendable (CallGroup) async -> Outcome

    /// One caller's part in a run.
    // A class, so that the outcome is not copied on its way through asynchronous functions.
    //
    // Unchecked: what changes is reached under the lock of the runs alone, which saves one for each. Its caller reads
    // the outcome without it, but not before it has found it settled, or was resumed since: then it changes no more.
    final class Subscription: @unchecked Sendable {
        fileprivate let ticket: Ticket
        fileprivate let run: Run
        /// Among those that wait.
        fileprivate let member: Int
        fileprivate var waiter: CheckedContinuation<Void, Never>?
        fileprivate private(set) var isSettled = false
        /// Does not change once the caller has this.
        private(set) var outcome: Outcome

        fileprivate init(_ ticket: Ticket, _ run: Run, _ call: Call, cancelled: Outcome) {
            self.ticket = ticket
            self.run = run
            member = run.calls.join(call)
            outcome = cancelled
        }

        /// Whether this caller began the run.
        var isFirst: Bool { ticket.isFirst }
        /// The last request that the work has sent; nil if it has sent none.
        var sent: URLRequest? { run.chain.sent }

        /// Brings the outcome, nil for that of who leaves, unless there is one already; gives the continuation to
        /// resume, if the caller waits.
        fileprivate func settle(_ outcome: Outcome?) -> CheckedContinuation<Void, Never>? {
            guard !isSettled else { return nil }
            isSettled = true
            if let outcome { self.outcome = outcome }
            defer { waiter = nil }
            return waiter
        }
    }

    /// Work from its beginning to its very end, whether or not somebody waits.
    // Unchecked: what changes is reached under that lock alone.
    fileprivate final class Run: @unchecked Sendable {
        /// The calls that share it.
        let calls: CallGroup
        /// What the work's own chain heeds. Work behind an answer heeds no caller: it goes on without those who join,
        /// and has no deadline of theirs.
        let chain: CallGroup
        var task: Task<Void, any Error>?
        var isCancelled = false
        var hasEnded = false
        /// Those who wait for its end without a seat.
        var endWaiters: [CheckedContinuation<Void, Never>] = []

        init(isBackground: Bool) {
            calls = CallGroup()
            chain = isBackground ? CallGroup() : calls
        }
    }

    private struct State {
        var machine = StateMachine<Run, Subscription>()
        /// Tests that wait until that many callers wait.
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

    /// Suspends until that many callers wait at the same time: for tests.
    func waitUntil(waiters: Int) async {
        await withCheckedContinuation { continuation in
            let isMet = state.withLock { state in
                guard state.machine.subscriberCount < waiters else { return true }
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

    /// The caller's share, with its outcome, of the work of that key, which begins if it is not under way. Nil for a
    /// caller that is itself part of the work under way, as where a plugin stands twice in one chain: it would wait for
    /// itself.
    // Inlined, as is `begin`: else the work would go through two more asynchronous functions.
    @inline(__always)
    func join(_ key: Key, for call: Call, _ work: @escaping Work) async -> Subscription? {
        let (joined, watchers) = state.withLock { state in
            // With the place among those who wait, so that nobody else can be the last one to leave meanwhile.
            let subscription = state.machine.join(key) {
                Run(isBackground: false)
            } subscriber: {
                !$0.isFirst && call.isWork(for: $1.chain) ? nil : Subscription($0, $1, call, cancelled: cancelled)
            }
            return (subscription, state.takeMetWatchers())
        }
        watchers.forEach { $0.resume() }
        guard let subscription = joined else { return nil }
        // Urgent whichever call was first: others may wait for it, and nothing tells the system that they do.
        if subscription.isFirst {
            begin(subscription.run, subscription.ticket.run, key, priority: .userInitiated, work)
        }
        // Work that never waited has its outcome here already.
        if !state.withLock({ _ in subscription.isSettled }) { await settled(subscription, key, for: call) }
        subscription.run.calls.leave(subscription.member)
        if subscription.run.chain !== subscription.run.calls { subscription.run.chain.tellSecrets(to: call) }
        return subscription
    }

    /// Begins work that nobody waits for, unless some is under way that will do as well.
    func startInBackground(_ key: Key, unless willDo: (Key) -> Bool, _ work: @escaping Work) {
        let run = Run(isBackground: true)
        let number = state.withLock { $0.machine.startInBackground(key, run, unless: willDo) }
        if let number { begin(run, number, key, priority: nil, work) }
    }

    /// Callers that come from now on do not wait for what was asked for before.
    func close(where isConcerned: (Key) -> Bool) {
        state.withLock { $0.machine.close(where: isConcerned) }
    }

    /// Cancels what nobody waits for, and waits for its end. What callers wait for is theirs: they may be another
    /// client's than the one that shuts down.
    func shutdown() async {
        let (runs, tasks) = state.withLock { state in
            let runs = state.machine.closeUnattended()
            for run in runs { run.isCancelled = true }
            return (runs, runs.compactMap(\.task))
        }
        tasks.forEach { $0.cancel() }
        // Waits for the runs and not for their tasks: a run that is about to begin has none yet.
        for run in runs { await end(of: run) }
    }

    // MARK: A run

    @inline(__always)
    private func begin(_ run: Run, _ number: Int, _ key: Key, priority: TaskPriority?, _ work: @escaping Work) {
        let task = Task<Void, any Error>.startingNow(priority: priority) {
            self.finish(run, number, key, await work(run.chain))
        }
        let isCancelled = state.withLock { _ in
            run.task = task
            return run.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    private func finish(_ run: Run, _ number: Int, _ key: Key, _ outcome: Outcome) {
        let (waiters, endWaiters) = state.withLock { state in
            var waiters: [CheckedContinuation<Void, Never>] = []
            state.machine.finish(number, key).forEach { subscription in
                if let waiter = subscription.settle(outcome) { waiters.append(waiter) }
            }
            run.hasEnded = true
            return (waiters, run.endWaiters)
        }
        waiters.forEach { $0.resume() }
        endWaiters.forEach { $0.resume() }
    }

    private func end(of run: Run) async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { _ in
                if !run.hasEnded { run.endWaiters.append(continuation) }
                return run.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    // MARK: A caller

    private func settled(_ subscription: Subscription, _ key: Key, for call: Call) async {
        await withCancellation(call.cancellation) {
            await withCheckedContinuation { continuation in
                let isSettled = state.withLock { _ in
                    if !subscription.isSettled { subscription.waiter = continuation }
                    return subscription.isSettled
                }
                if isSettled { continuation.resume() }
            }
        } onCancel: {
            subscription.run.calls.leave(subscription.member)
            self.leave(subscription, key)
        }
    }

    private func leave(_ subscription: Subscription, _ key: Key) {
        let (waiter, task) = state.withLock { state in
            let waiter = subscription.settle(nil)
            let run = state.machine.leave(subscription.ticket, key)
            run?.isCancelled = true
            return (waiter, run?.task)
        }
        waiter?.resume()
        task?.cancel()
    }
}
