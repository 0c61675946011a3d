// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// Requests for which several calls wait, and those behind an answer: each in a task of this object.
///
/// Who waits leaves alone and at once when its call is cancelled; the last one to leave ends the request.
final class CacheFlights: Sendable {
    typealias Ticket = StateMachine.Ticket

    /// What has come of one ticket so far.
    private enum Place {
        case expected
        case waiting(CheckedContinuation<CacheOutcome, Never>)
        case done(CacheOutcome)
    }

    private struct Run {
        let waiting = WaitingCalls()
        var task: Task<Void, any Error>?
        var isCancelled = false
        /// Who waits for its end without a place.
        var enders: [CheckedContinuation<Void, Never>] = []
    }

    private struct State {
        var machine = StateMachine()
        var runs: [Int: Run] = [:]
        var places: [Ticket: Place] = [:]
        /// Of tests: who waits until that many wait.
        var watchers: [(places: Int, continuation: CheckedContinuation<Void, Never>)] = []

        mutating func takeMetWatchers() -> [CheckedContinuation<Void, Never>] {
            guard !watchers.isEmpty else { return [] }
            let met = watchers.filter { $0.places <= places.count }
            watchers.removeAll { $0.places <= places.count }
            return met.map(\.continuation)
        }

        /// Gives who waits at that place.
        mutating func settle(_ ticket: Ticket, _ outcome: CacheOutcome) -> CheckedContinuation<CacheOutcome, Never>? {
            switch places[ticket] {
            case .expected:
                places[ticket] = .done(outcome)
                return nil
            case .waiting(let continuation):
                places[ticket] = nil
                return continuation
            case .done, nil:
                return nil
            }
        }
    }

    private let state = Locked(State())

    /// Requests under way, and places that somebody holds.
    var counts: (runs: Int, places: Int) { state.withLock { ($0.runs.count, $0.places.count) } }

    /// Suspends until that many wait at the same time: for tests.
    func waitUntil(places: Int) async {
        await withCheckedContinuation { continuation in
            let isMet = state.withLock { state in
                guard state.places.count < places else { return true }
                state.watchers.append((places, continuation))
                return false
            }
            if isMet { continuation.resume() }
        }
    }

    /// Suspends until nothing is under way: for tests.
    func waitUntilIdle() async {
        while let number = state.withLock({ $0.runs.keys.first }) { await end(of: number) }
    }

    /// What comes of the request of that key, which `work` begins if there is none. The caller whose request it is learns
    /// that it leads.
    func outcome(
        of key: CacheFlightKey, for call: Call, work: @escaping @Sendable (WaitingCalls) async -> CacheOutcome
    ) async -> (outcome: CacheOutcome, isLeader: Bool) {
        let (ticket, waiting, place, watchers) = state.withLock { state in
            let ticket = state.machine.join(key)
            state.places[ticket] = .expected
            let run = state.runs[ticket.flight] ?? Run()
            if ticket.isLeader { state.runs[ticket.flight] = run }
            return (ticket, run.waiting, run.waiting.join(call), state.takeMetWatchers())
        }
        watchers.forEach { $0.resume() }
        if ticket.isLeader { begin(ticket.flight, for: waiting, work) }
        let outcome = await withCancellation(call.cancellation) {
            await wait(ticket)
        } onCancel: {
            waiting.leave(place)
            self.leave(ticket)
        }
        waiting.leave(place)
        return (outcome, ticket.isLeader)
    }

    /// Begins a request that nobody waits for, unless one of that key is under way.
    func beginBehind(_ key: CacheFlightKey, work: @escaping @Sendable (WaitingCalls) async -> CacheOutcome) {
        let number = state.withLock { state -> Int? in
            guard let number = state.machine.beginBehind(key) else { return nil }
            state.runs[number] = Run()
            return number
        }
        // Of nobody's: it goes on without those who join it, and no deadline of theirs is its own.
        if let number { begin(number, for: WaitingCalls(), work) }
    }

    /// Who comes from now on does not wait for what was asked for before.
    func close(where isConcerned: (CacheKey) -> Bool) {
        state.withLock { $0.machine.close(where: isConcerned) }
    }

    /// Cancels all that is under way and waits for its end.
    func shutdown() async {
        let (numbers, tasks) = state.withLock { state in
            state.machine.close { _ in true }
            let numbers = Array(state.runs.keys)
            for number in numbers { state.runs[number]?.isCancelled = true }
            return (numbers, state.runs.values.compactMap(\.task))
        }
        tasks.forEach { $0.cancel() }
        // Not for the tasks: of a run that is just about to begin there is none yet.
        for number in numbers { await end(of: number) }
    }

    private func end(of number: Int) async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                state.runs[number]?.enders.append(continuation)
                return state.runs[number] == nil
            }
            if hasEnded { continuation.resume() }
        }
    }

    private func begin(
        _ number: Int, for waiting: WaitingCalls, _ work: @escaping @Sendable (WaitingCalls) async -> CacheOutcome
    ) {
        let task = Task<Void, any Error>.startingNow {
            self.finish(number, await work(waiting))
        }
        let isCancelled = state.withLock { state in
            // It may have ended within the line above.
            guard state.runs[number] != nil else { return false }
            state.runs[number]?.task = task
            return state.runs[number]?.isCancelled == true
        }
        if isCancelled { task.cancel() }
    }

    private func finish(_ number: Int, _ outcome: CacheOutcome) {
        let (waiters, enders) = state.withLock { state in
            let enders = state.runs.removeValue(forKey: number)?.enders ?? []
            return (state.machine.finish(number).compactMap { state.settle($0, outcome) }, enders)
        }
        waiters.forEach { $0.resume(returning: outcome) }
        enders.forEach { $0.resume() }
    }

    private func wait(_ ticket: Ticket) async -> CacheOutcome {
        await withCheckedContinuation { continuation in
            let outcome = state.withLock { state -> CacheOutcome? in
                guard case .done(let outcome) = state.places[ticket] else {
                    state.places[ticket] = .waiting(continuation)
                    return nil
                }
                state.places[ticket] = nil
                return outcome
            }
            if let outcome { continuation.resume(returning: outcome) }
        }
    }

    private func leave(_ ticket: Ticket) {
        let (waiter, task) = state.withLock {
            state -> (CheckedContinuation<CacheOutcome, Never>?, Task<Void, any Error>?) in
            let waiter = state.settle(ticket, .failed(.cancelled))
            guard state.machine.leave(ticket) else { return (waiter, nil) }
            state.runs[ticket.flight]?.isCancelled = true
            return (waiter, state.runs[ticket.flight]?.task)
        }
        waiter?.resume(returning: .failed(.cancelled))
        task?.cancel()
    }
}
