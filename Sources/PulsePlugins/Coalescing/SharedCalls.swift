// SPDX-License-Identifier: MIT

import PulseCore

/// Requests that several calls wait for, each in a task of this object.
final class SharedCalls: Sendable {
    typealias Outcome = Result<PulseResponse, PulseError>

    /// Where one caller waits.
    // Unchecked: what changes is reached under the lock of the calls alone, which saves one for each.
    private final class Seat: @unchecked Sendable {
        var waiter: CheckedContinuation<Outcome, Never>?
        /// Of one who does not wait yet.
        var outcome: Outcome?
    }

    /// From its beginning to its very end, whether or not somebody waits.
    // Unchecked, for the same reason.
    private final class Run: @unchecked Sendable {
        let waiting = WaitingCalls()
        /// By the tickets' numbers.
        var seats = Members<Seat>()
        var task: Task<Void, any Error>?
        var isCancelled = false
    }

    private struct State {
        var machine = StateMachine<CoalescingKey, Run>()
        /// Runs that nobody waits for and that have not ended.
        var cancelled: [Int: Run] = [:]
        var waiterCount = 0

        /// Brings an outcome to a seat; gives who waits there.
        mutating func settle(_ seat: Seat, _ outcome: Outcome) -> CheckedContinuation<Outcome, Never>? {
            guard let waiter = seat.waiter else {
                // The first one stays: what it gave way to would go under the lock.
                if seat.outcome == nil { seat.outcome = outcome }
                return nil
            }
            seat.waiter = nil
            waiterCount -= 1
            return waiter
        }

        /// The outcome of a seat where it has come, which is then free.
        mutating func takeOutcome(_ seat: Seat) -> Outcome? {
            guard let outcome = seat.outcome else { return nil }
            seat.outcome = nil
            waiterCount -= 1
            return outcome
        }

        /// Nobody waits for it any more.
        mutating func cancel(_ run: Run, _ number: Int) {
            run.isCancelled = true
            cancelled[number] = run
        }

        mutating func end(_ run: Run, _ number: Int) {
            guard run.isCancelled else { return }
            cancelled[number] = nil
            if cancelled.isEmpty, cancelled.capacity > 64 { cancelled = [:] }
        }
    }

    private let state = Locked(State())
    private let unseenCredentials = OneWarning(
        """
        calls are not coalesced whose credential a plugin further in sets, since nobody could tell whose answers they \
        get; let that plugin stand before the coalescing one
        """)

    var waiterCount: Int { state.withLock { $0.waiterCount } }
    var runCount: Int { state.withLock { $0.machine.runCount + $0.cancelled.count } }

    /// The answer to a run that is under way or begins now. Throws ``PulseError``; a caller that is cancelled leaves at
    /// once.
    func response(
        for key: CoalescingKey, to request: URLRequest, for context: PluginContext, _ next: PluginChain
    ) async throws -> PulseResponse {
        let seat = Seat()
        let (ticket, run, place) = state.withLock { state in
            let (ticket, run) = state.machine.join(key) { Run() }
            run.seats[ticket.number] = seat
            state.waiterCount += 1
            // Under the lock, so that nobody else can be the last one to leave meanwhile.
            return (ticket, run, run.waiting.join(context.call))
        }
        if ticket.isFirst { begin(run, ticket.run, key, request, next) }
        let outcome = await outcome(of: ticket, seat, run, key, in: context) { run.waiting.leave(place) }
        run.waiting.leave(place)
        guard !ticket.isFirst else { return try outcome.get() }
        guard isFit(outcome, of: run.waiting, for: request, in: context.call) else {
            unseenCredentials.emit(in: context)
            return try await next(request)
        }
        var response = try outcome.get()
        response.request = request
        // What came from a store stays that: a body from there that does not decode is fetched anew.
        switch response.origin {
        case .network, .mock: response.origin = .coalesced
        case .cache, .revalidated, .stale, .coalesced: break
        }
        return response
    }

    /// Whether it is an answer for others than the call that came first: not if the request as it was sent says more of who
    /// asks than that of this call.
    private func isFit(
        _ outcome: Outcome, of waiting: WaitingCalls, for request: URLRequest, in call: Call
    ) -> Bool {
        // What an answer was turned into may no longer say what was sent.
        let sent = [waiting.sent, try? outcome.get().request].compactMap { $0?.allHTTPHeaderFields }
        let seen = request.allHTTPHeaderFields ?? [:]
        return sent.allSatisfy { sent in
            CachePartition.unseenCredential(in: sent, seen: seen, isSecret: call.isCredential(header:)) == nil
        }
    }

    func shutdown() async {
        let (waiters, tasks) = state.withLock { state in
            var waiters: [CheckedContinuation<Outcome, Never>] = []
            for (number, run) in state.machine.removeAll() {
                state.cancel(run, number)
                run.seats.forEach { seat in
                    if let waiter = state.settle(seat, .failure(.cancelled)) { waiters.append(waiter) }
                }
            }
            return (waiters, state.cancelled.values.compactMap(\.task))
        }
        waiters.forEach { $0.resume(returning: .failure(.cancelled)) }
        tasks.forEach { $0.cancel() }
        for task in tasks { _ = await task.result }
    }

    // MARK: A run

    private func begin(
        _ run: Run, _ number: Int, _ key: CoalescingKey, _ request: URLRequest, _ next: PluginChain
    ) {
        // Urgent, whoever was first to ask: others may wait for it, and nothing tells the system that they do.
        let task = Task.startingNow(priority: .userInitiated) {
            self.finish(run, number, key, await next.detachedResult(request, for: run.waiting))
        }
        let isCancelled = state.withLock { _ in
            run.task = task
            return run.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    private func finish(_ run: Run, _ number: Int, _ key: CoalescingKey, _ outcome: Outcome) {
        let waiters = state.withLock { state in
            var waiters: [CheckedContinuation<Outcome, Never>] = []
            state.machine.finish(number, key).forEach { ticket in
                guard let seat = run.seats[ticket.number] else { return }
                if let waiter = state.settle(seat, outcome) { waiters.append(waiter) }
            }
            state.end(run, number)
            return waiters
        }
        waiters.forEach { $0.resume(returning: outcome) }
    }

    // MARK: A call

    private func outcome(
        of ticket: Ticket, _ seat: Seat, _ run: Run, _ key: CoalescingKey, in context: PluginContext,
        onCancel handler: @escaping @Sendable () -> Void
    ) async -> Outcome {
        // Where nothing was waited for there is nobody to wake.
        if let outcome = state.withLock({ $0.takeOutcome(seat) }) { return outcome }
        return await withCancellation(context.call.cancellation) {
            await withCheckedContinuation { continuation in
                let outcome = state.withLock { state in
                    let outcome = state.takeOutcome(seat)
                    if outcome == nil { seat.waiter = continuation }
                    return outcome
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            handler()
            self.leave(ticket, seat, run, key)
        }
    }

    private func leave(_ ticket: Ticket, _ seat: Seat, _ run: Run, _ key: CoalescingKey) {
        let (waiter, task) = state.withLock { state in
            let waiter = state.settle(seat, .failure(.cancelled))
            run.seats[ticket.number] = nil
            guard state.machine.leave(ticket, key) else { return (waiter, Task<Void, any Error>?.none) }
            state.cancel(run, ticket.run)
            return (waiter, run.task)
        }
        waiter?.resume(returning: .failure(.cancelled))
        task?.cancel()
    }
}
