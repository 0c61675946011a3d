// SPDX-License-Identifier: MIT

import PulseCore

/// The state that the queue's tasks and its journal share. Safe from any thread.
///
/// The journal tells it of every record, in order; it tells who waits. Nobody is told anything under the lock.
final class QueueCore: Sendable {
    private struct State {
        var machine: OfflineQueue.StateMachine
        /// The outcomes of replays whose records are not written yet.
        var verdicts: [UUID: Result<PulseResponse, PulseError>] = [:]
        /// The outcomes of the entries that ended last.
        var outcomes = LRUCache<UUID, Result<PulseResponse, PulseError>>(capacity: 64)
        var waiters: [Int: (id: UUID, continuation: CheckedContinuation<PulseResponse?, any Error>)] = [:]
        /// Callers that wait for a look that begins after their call.
        var quietWaiters: [Int: (since: Int, continuation: CheckedContinuation<Void, Never>)] = [:]
        var nextWaiter = 0
        var ticks: AsyncStream<Void>.Continuation?
        /// The rest of the drainer; nil while it looks.
        var rest: Rest?
        var isClosed = false
    }

    /// Until when the drainer looks by itself, and what it knows of expiries.
    private struct Rest {
        let end: TimeInterval
        let firstExpiry: Int64
    }

    private let state: Locked<State>
    private let files: SideFiles?
    private let endedEntries: EndedEntries?
    private let events: (any EventSink)?

    init(
        _ machine: OfflineQueue.StateMachine, files: SideFiles?, ended: EndedEntries? = nil, events: (any EventSink)?
    ) {
        state = Locked(State(machine: machine))
        self.files = files
        endedEntries = ended
        self.events = events
    }

    func emit(_ event: @autoclosure () -> NetworkEvent) {
        guard let events, events.isActive else { return }
        events.emit(event())
    }

    /// Reads the machine's state.
    func read<Value>(_ body: (OfflineQueue.StateMachine) throws -> Value) rethrows -> Value {
        try state.withLock { try body($0.machine) }
    }

    /// Changes the machine's state, and lets the drainer look.
    func change<Value>(_ body: (inout OfflineQueue.StateMachine) throws -> Value) rethrows -> Value {
        let (value, ticks) = try state.withLock { (try body(&$0.machine), $0.ticks) }
        ticks?.yield()
        return value
    }

    /// The actions that are due. From here on until ``rest(uptime:now:atMost:)`` every change wakes the drainer.
    func look(uptime: TimeInterval, now: Int64) -> [OfflineQueue.StateMachine.Action] {
        state.withLock { state in
            state.rest = nil
            return state.machine.next(uptime: uptime, now: now)
        }
    }

    /// Whether there may be anything to do. If not, the drainer may rest again without a look. Until it does, every
    /// change wakes it, as after a look.
    func hasWork(uptime: TimeInterval, now: Int64) -> Bool {
        state.withLock { state in
            state.rest = nil
            return state.machine.hasWork(uptime: uptime, now: now)
        }
    }

    /// The uptime at which the drainer is to look again by itself, which it must: it is not woken for what does not
    /// come before. Nil if there is nothing to come.
    func rest(uptime: TimeInterval, now: Int64, atMost period: TimeInterval) -> TimeInterval? {
        state.withLock { state in
            guard !state.machine.isIdle, let wait = state.machine.wait(uptime: uptime, now: now) else { return nil }
            let end = uptime + min(wait, period)
            state.rest = Rest(end: end, firstExpiry: state.machine.firstExpiry)
            return end
        }
    }

    /// Ends the drainer's rest.
    func endRest() {
        state.withLock { $0.rest = nil }
    }

    /// Changes the machine's state where the drainer looks anyway.
    func decide<Value>(_ body: (inout OfflineQueue.StateMachine) throws -> Value) rethrows -> Value {
        try state.withLock { try body(&$0.machine) }
    }

    // MARK: The journal

    func apply(_ change: LogChange) {
        let effects: [OfflineQueue.StateMachine.Effect]
        switch change {
        case .reset(let items): effects = self.change { $0.reset(items) }
        case .appended(let items): effects = append(items)
        case .damaged(let bytes, let kept):
            let rest = kept < bytes ? "; there was no room for the other \(bytes - kept)" : ""
            let text = "\(bytes) bytes of the offline queue's journal were damaged; \(kept) were set aside"
            return emit(.warning(text + rest))
        }
        effects.forEach(settle)
    }

    private func append(_ items: [LogItem]) -> [OfflineQueue.StateMachine.Effect] {
        let (effects, ticks) = state.withLock { state in
            let effects = items.compactMap { state.machine.apply($0) }
            // Without a connection, one more entry needs no look before the pause is over.
            let isForLater =
                items.allSatisfy { $0.operation == QueueOperation.enqueued.byte }
                && state.rest.map { rest in
                    state.machine.pausedUntil >= rest.end && state.machine.firstExpiry >= rest.firstExpiry
                } ?? false
            return (effects, isForLater ? nil : state.ticks)
        }
        ticks?.yield()
        return effects
    }

    private func settle(_ effect: OfflineQueue.StateMachine.Effect) {
        switch effect {
        case .removed(let id, let reason, let wasUpdated):
            if wasUpdated { files?.removeAll(of: id) } else { files?.remove(id.uuidString) }
            switch reason {
            case .done: emit(.offlineQueueRequestCompleted(id: id, success: true))
            case .expired: emit(.offlineQueueExpired(id: id))
            case .dropped: emit(.offlineQueueRequestCompleted(id: id, success: false))
            case .removed, .surplus: break
            }
            conclude(id, reason.outcome(of: id) ?? state.withLock { $0.outcomes.peek(id) })
        case .vanished(let id, let wasUpdated):
            let reason = endedEntries?.read().last { $0.id == id }?.reason
            settle(.removed(id, reason ?? .removed, wasUpdated: wasUpdated))
        case .deadLettered(let id):
            emit(.offlineQueueDeadLettered(id: id))
            emit(.offlineQueueRequestCompleted(id: id, success: false))
            conclude(id, nil)
        }
    }

    /// Tells those who wait for an entry its outcome: the answer that this process got, else what the journal says. A
    /// dead letter has a record of its own in the journal.
    private func conclude(_ id: UUID, _ known: Result<PulseResponse, PulseError>?) {
        let (outcome, waiters) = state.withLock { state in
            let outcome = state.verdicts.removeValue(forKey: id) ?? known
            if let outcome {
                state.outcomes.withValue(for: id, default: outcome) { $0 = outcome }
            } else {
                // Its outcome before it was revived.
                state.outcomes.removeValue(for: id)
            }
            let waiters = state.waiters.filter { $0.value.id == id }
            waiters.keys.forEach { state.waiters[$0] = nil }
            return (outcome, waiters.values.map(\.continuation))
        }
        let result = outcome.map { $0.map { Optional($0) }.mapError { $0 as any Error } } ?? .success(nil)
        waiters.forEach { $0.resume(with: result) }
    }

    /// Why the last entries ended.
    var ended: [(id: UUID, reason: QueueRemoval)] {
        read { machine in
            machine.ended.keys.compactMap { id in machine.ended.peek(id).map { (id, $0) } }
        }
    }

    /// Keeps the outcome of a replay until its record is written, without a large body, which is not worth the memory.
    func note(_ id: UUID, _ result: Result<PulseResponse, PulseError>) {
        let result = result.map(\.withoutLargeBody).mapError(\.withoutLargeBody)
        state.withLock { $0.verdicts[id] = result }
    }

    func forgetVerdict(_ id: UUID) {
        _ = state.withLock { $0.verdicts.removeValue(forKey: id) }
    }

    // MARK: Queueing

    func admit(_ id: UUID) throws -> LogRecord? {
        try state.withLock { try $0.machine.admit(id) }
    }

    func release(_ id: UUID, dropping dropped: UUID?) {
        change { $0.release(id, dropping: dropped) }
    }

    /// Sends nothing for a while. The drainer need not look: there is less to do.
    func pause(_ uptime: TimeInterval, _ randomness: any Randomness) {
        decide { $0.pause(uptime, randomness) }
    }

    func hasPending(tag: String?) -> Bool {
        read { $0.hasPending(tag: tag) }
    }

    // MARK: Waiting

    /// Signals whenever there may be something to do. One who listens at a time.
    func ticks() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (replaced, isClosed) = state.withLock { state in
            defer { state.ticks = continuation }
            return (state.ticks, state.isClosed)
        }
        replaced?.finish()
        if isClosed { continuation.finish() }
        return stream
    }

    func tick() {
        state.withLock { $0.ticks }?.yield()
    }

    /// The outcome of an entry, at once if it is known, else when it is. Nil if no such entry may still be sent, or
    /// when another process has given it up.
    func outcome(of id: UUID) async throws -> PulseResponse? {
        let number = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome = state.withLock { state -> Result<PulseResponse?, any Error>? in
                    // Asked only here: an entry that ended between a question and the wait would be missed.
                    guard let entry = state.machine.entries[id], entry.death == nil else {
                        return state.outcomes.peek(id)?.map { Optional($0) }.mapError { $0 } ?? .success(nil)
                    }
                    guard !Task.isCancelled, !state.isClosed else { return .failure(PulseError.cancelled) }
                    state.waiters[number] = (id, continuation)
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiters.removeValue(forKey: number) }
            waiter?.continuation.resume(throwing: PulseError.cancelled)
        }
    }

    /// Returns when nothing is on its way and nothing could be sent, in a look that began after `change`. Then `start`
    /// is run.
    func quiet(after change: (inout OfflineQueue.StateMachine) -> Void, _ start: () -> Void) async {
        let number = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    guard !state.isClosed, !Task.isCancelled else { return true }
                    // In one step: a look in between would take the one for waiting, and know nothing of the other.
                    state.nextWaiter += 1
                    state.quietWaiters[number] = (state.nextWaiter, continuation)
                    change(&state.machine)
                    return false
                }
                if isOver { continuation.resume() } else { start() }
            }
        } onCancel: {
            let waiter = state.withLock { $0.quietWaiters.removeValue(forKey: number) }
            waiter?.continuation.resume()
        }
    }

    /// Begins a look at what is to be done; who comes later waits for the next one.
    func beginLook() -> Int {
        state.withLock { $0.nextWaiter }
    }

    func becameQuiet(inLook look: Int = .max) {
        let waiters = state.withLock { state in
            let waiters = state.quietWaiters.filter { $0.value.since <= look }
            waiters.keys.forEach { state.quietWaiters[$0] = nil }
            return waiters.values.map(\.continuation)
        }
        waiters.forEach { $0.resume() }
    }

    /// Ends all waits; nothing is reported any more.
    func close() {
        let (waiters, ticks) = state.withLock { state in
            state.isClosed = true
            defer {
                state.waiters = [:]
                state.ticks = nil
            }
            return (state.waiters.values.map(\.continuation), state.ticks)
        }
        ticks?.finish()
        waiters.forEach { $0.resume(throwing: PulseError.cancelled) }
        becameQuiet()
    }
}

extension PulseResponse {
    fileprivate var withoutLargeBody: PulseResponse {
        guard data.count > SideFiles.limit else { return self }
        var copy = self
        (copy.data, copy.isTruncated) = (Data(), true)
        return copy
    }
}

extension PulseError {
    /// An error's body may be as large as any other.
    fileprivate var withoutLargeBody: PulseError {
        switch self {
        case .http(let response): .http(response.withoutLargeBody)
        case .unauthorized(let response?): .unauthorized(response.withoutLargeBody)
        case .retryExhausted(let last, let attempts): .retryExhausted(last: last.withoutLargeBody, attempts: attempts)
        case .deadlineExceeded(let last?): .deadlineExceeded(last: last.withoutLargeBody)
        case .transport(let code, let error as PulseError): .transport(code, underlying: error.withoutLargeBody)
        default: self
        }
    }
}

extension QueueRemoval {
    /// The outcome that is reported if another process has received the answer; nil if the one before it stays.
    fileprivate func outcome(of id: UUID) -> Result<PulseResponse, PulseError>? {
        switch self {
        case .done(let status):
            guard let url = URL(string: "pulse-queue:\(id.uuidString)") else { return .failure(.cancelled) }
            return .success(PulseResponse(statusCode: status, request: URLRequest(url: url)))
        case .expired: return .failure(.deadlineExceeded(last: .noConnection))
        case .removed: return .failure(.cancelled)
        case .dropped: return .failure(.offlineQueueFull)
        case .surplus: return nil
        }
    }
}
