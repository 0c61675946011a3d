// SPDX-License-Identifier: MIT

import PulseCore

/// Requests that several calls wait for, each in a task of this object.
final class SharedCalls: Sendable {
    typealias Machine = StateMachine<CoalescingKey>
    typealias Outcome = Result<PulseResponse, PulseError>

    /// What has come of one ticket so far.
    private enum Place {
        case expected
        case waiting(CheckedContinuation<Outcome, Never>)
        case done(Outcome)
    }

    /// From its beginning to its very end, whether or not somebody waits.
    private struct Run {
        let waiting: WaitingCalls
        var task: Task<Void, any Error>?
        var isCancelled = false
    }

    private struct State {
        var machine = Machine()
        var runs: [Int: Run] = [:]
        var places: [Machine.Ticket: Place] = [:]

        /// Puts an outcome into a place; gives who waits there.
        mutating func settle(_ ticket: Machine.Ticket, _ outcome: Outcome) -> CheckedContinuation<Outcome, Never>? {
            switch places[ticket] {
            case .expected: places[ticket] = .done(outcome)
            case .waiting(let continuation):
                removePlace(ticket)
                return continuation
            case .done, nil: break
            }
            return nil
        }

        /// The outcome of a place where it has come, which is then free.
        mutating func takeOutcome(_ ticket: Machine.Ticket) -> Outcome? {
            guard case .done(let outcome) = places[ticket] else { return nil }
            removePlace(ticket)
            return outcome
        }

        mutating func removePlace(_ ticket: Machine.Ticket) {
            places[ticket] = nil
            if places.isEmpty, places.capacity > 64 { places = [:] }
        }

        mutating func removeRun(_ number: Int) -> Task<Void, any Error>? {
            defer { if runs.isEmpty, runs.capacity > 64 { runs = [:] } }
            return runs.removeValue(forKey: number)?.task
        }
    }

    private let state = Locked(State())
    private let unseenCredentials = OneWarning(
        """
        calls are not coalesced whose credential a plugin further in sets, since nobody could tell whose answers they \
        get; let that plugin stand before the coalescing one
        """)

    var waiterCount: Int { state.withLock { $0.places.count } }
    var runCount: Int { state.withLock { $0.runs.count } }

    /// The answer to a run that is under way or begins now. Throws ``PulseError``; a caller that is cancelled leaves at
    /// once.
    func response(
        for key: CoalescingKey, to request: URLRequest, for context: PluginContext, _ next: PluginChain
    ) async throws -> PulseResponse {
        let (ticket, waiting, place) = state.withLock { state in
            let ticket = state.machine.join(key)
            state.places[ticket] = .expected
            let run = state.runs[ticket.run] ?? Run(waiting: WaitingCalls())
            if ticket.isFirst { state.runs[ticket.run] = run }
            // Under the lock, so that nobody else can be the last one to leave meanwhile.
            return (ticket, run.waiting, run.waiting.join(context.call))
        }
        if ticket.isFirst { begin(ticket.run, key, request, next, for: waiting) }
        let outcome = await outcome(of: ticket, key, in: context) { waiting.leave(place) }
        waiting.leave(place)
        guard !ticket.isFirst else { return try outcome.get() }
        guard isFit(outcome, of: waiting, for: request, in: context.call) else {
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
            state.machine.removeAll()
            let waiters = Array(state.places.keys).compactMap { state.settle($0, .failure(.cancelled)) }
            for number in Array(state.runs.keys) { state.runs[number]?.isCancelled = true }
            return (waiters, state.runs.values.compactMap(\.task))
        }
        waiters.forEach { $0.resume(returning: .failure(.cancelled)) }
        tasks.forEach { $0.cancel() }
        for task in tasks { _ = await task.result }
    }

    // MARK: A run

    private func begin(
        _ number: Int, _ key: CoalescingKey, _ request: URLRequest, _ next: PluginChain, for waiting: WaitingCalls
    ) {
        // Urgent, whoever was first to ask: others may wait for it, and nothing tells the system that they do.
        let task = Task.startingNow(priority: .userInitiated) {
            self.finish(number, key, await next.detachedResult(request, for: waiting))
        }
        let isCancelled = state.withLock { state in
            // It may have ended within the line above.
            guard state.runs[number] != nil else { return false }
            state.runs[number]?.task = task
            return state.runs[number]?.isCancelled == true
        }
        if isCancelled { task.cancel() }
    }

    private func finish(_ number: Int, _ key: CoalescingKey, _ outcome: Outcome) {
        let (waiters, _) = state.withLock { state in
            let tickets = state.machine.finish(number, key)
            return (tickets.compactMap { state.settle($0, outcome) }, state.removeRun(number))
        }
        waiters.forEach { $0.resume(returning: outcome) }
    }

    // MARK: A call

    private func outcome(
        of ticket: Machine.Ticket, _ key: CoalescingKey, in context: PluginContext,
        onCancel handler: @escaping @Sendable () -> Void
    ) async -> Outcome {
        // Where nothing was waited for there is nobody to wake.
        if let outcome = state.withLock({ $0.takeOutcome(ticket) }) { return outcome }
        return await withCancellation(context.call.cancellation) {
            await withCheckedContinuation { continuation in
                let outcome = state.withLock { state in
                    let outcome = state.takeOutcome(ticket)
                    if outcome == nil { state.places[ticket] = .waiting(continuation) }
                    return outcome
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            handler()
            self.leave(ticket, key)
        }
    }

    private func leave(_ ticket: Machine.Ticket, _ key: CoalescingKey) {
        let (waiter, task) = state.withLock { state in
            let waiter = state.settle(ticket, .failure(.cancelled))
            guard state.machine.leave(ticket, key) else { return (waiter, Task<Void, any Error>?.none) }
            state.runs[ticket.run]?.isCancelled = true
            return (waiter, state.runs[ticket.run]?.task)
        }
        waiter?.resume(returning: .failure(.cancelled))
        task?.cancel()
    }
}
