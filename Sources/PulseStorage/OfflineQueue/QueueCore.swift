// SPDX-License-Identifier: MIT

import PulseCore

/// The state that the queue's tasks and its journal share. Safe from any thread.
///
/// The journal passes every record to it, in order. It reports outcomes to waiters, never under the lock.
final class QueueCore: Sendable {
    private struct State {
        var machine: OfflineQueue.StateMachine
        /// The outcomes of replays whose records are not written yet.
        var pendingOutcomes: [UUID: Result<PulseResponse, PulseError>] = [:]
        /// The outcomes of the entries that ended last.
        var outcomes = LRUCache<UUID, Result<PulseResponse, PulseError>>(capacity: 64)
        var waiters: [Int: (id: UUID, continuation: CheckedContinuation<PulseResponse?, any Error>)] = [:]
        /// Callers that wait for a drain pass that starts after their call and finds nothing to do.
        var idleWaiters: [Int: (since: Int, continuation: CheckedContinuation<Void, Never>)] = [:]
        var nextWaiter = 0
        var ticks: AsyncStream<Void>.Continuation?
        /// The current sleep of the drainer; nil during a drain pass.
        var sleep: Sleep?
        var isClosed = false
    }

    /// The end of the drainer's sleep, and the first expiry that it accounts for.
    private struct Sleep {
        let end: TimeInterval
        let firstExpiry: Int64
    }

    private let state: Locked<State>
    private let files: BodyFiles?
    private let endedEntries: EndedEntries?
    private let events: (any EventSink)?

    init(
        _ machine: OfflineQueue.StateMachine, files: BodyFiles?, ended: EndedEntries? = nil, events: (any EventSink)?
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

    /// Changes the machine's state, and wakes the drainer.
    func change<Value>(_ body: (inout OfflineQueue.StateMachine) throws -> Value) rethrows -> Value {
        let (value, ticks) = try state.withLock { (try body(&$0.machine), $0.ticks) }
        ticks?.yield()
        return value
    }

    /// Returns the actions that are due. From here on until ``sleep(uptime:now:atMost:)``, every change wakes the
    /// drainer.
    func drainPass(uptime: TimeInterval, now: Int64) -> [OfflineQueue.StateMachine.Action] {
        state.withLock { state in
            state.sleep = nil
            return state.machine.next(uptime: uptime, now: now)
        }
    }

    /// Whether an action may be due. If not, the drainer may skip the pass. Until its next sleep, every change wakes
    /// it.
    func hasWork(uptime: TimeInterval, now: Int64) -> Bool {
        state.withLock { state in
            state.sleep = nil
            return state.machine.hasWork(uptime: uptime, now: now)
        }
    }

    /// Returns the uptime until which the drainer sleeps. It must wake up by then: events that are not due earlier do
    /// not wake it. Nil if it may sleep until the next tick.
    func sleep(uptime: TimeInterval, now: Int64, atMost period: TimeInterval) -> TimeInterval? {
        state.withLock { state in
            guard !state.machine.isIdle, let wait = state.machine.wait(uptime: uptime, now: now) else { return nil }
            let end = uptime + min(wait, period)
            state.sleep = Sleep(end: end, firstExpiry: state.machine.firstExpiry)
            return end
        }
    }

    /// Ends the drainer's sleep.
    func endSleep() {
        state.withLock { $0.sleep = nil }
    }

    /// Changes the machine's state without waking the drainer, which runs a pass anyway.
    func decide<Value>(_ body: (inout OfflineQueue.StateMachine) throws -> Value) rethrows -> Value {
        try state.withLock { try body(&$0.machine) }
    }

    // MARK: Journal

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
        effects.forEach(handle)
    }

    private func append(_ items: [LogItem]) -> [OfflineQueue.StateMachine.Effect] {
        let (effects, ticks) = state.withLock { state in
            let effects = items.compactMap { state.machine.apply($0) }
            // Without a connection, one more entry needs no pass before the pause is over.
            let canWait =
                items.allSatisfy { $0.operation == QueueOperation.enqueued.byte }
                && state.sleep.map { sleep in
                    state.machine.pausedUntil >= sleep.end && state.machine.firstExpiry >= sleep.firstExpiry
                } ?? false
            return (effects, canWait ? nil : state.ticks)
        }
        ticks?.yield()
        return effects
    }

    private func handle(_ effect: OfflineQueue.StateMachine.Effect) {
        switch effect {
        case .removed(let id, let reason, let wasUpdated):
            if wasUpdated { files?.removeAll(of: id) } else { files?.remove(id.uuidString) }
            switch reason {
            case .done: emit(.offlineQueueRequestCompleted(id: id, success: true))
            case .expired: emit(.offlineQueueExpired(id: id))
            case .dropped: emit(.offlineQueueRequestCompleted(id: id, success: false))
            case .removed, .surplus: break
            }
            resumeWaiters(id, reason.outcome(of: id) ?? state.withLock { $0.outcomes.peek(id) })
        case .vanished(let id, let wasUpdated):
            let reason = endedEntries?.read().last { $0.id == id }?.reason
            handle(.removed(id, reason ?? .removed, wasUpdated: wasUpdated))
        case .deadLettered(let id):
            emit(.offlineQueueDeadLettered(id: id))
            emit(.offlineQueueRequestCompleted(id: id, success: false))
            resumeWaiters(id, nil)
        }
    }

    /// Resumes the waiters of an entry with its outcome: the response that this process received, otherwise the outcome
    /// in the journal. Nil for a dead letter, whose reason has a record in the journal.
    private func resumeWaiters(_ id: UUID, _ known: Result<PulseResponse, PulseError>?) {
        let (outcome, waiters) = state.withLock { state in
            let outcome = state.pendingOutcomes.removeValue(forKey: id) ?? known
            if let outcome {
                state.outcomes.withValue(for: id, default: outcome) { $0 = outcome }
            } else {
                // The outcome from before the entry was revived.
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

    /// Stores the outcome of a replay until its record is written, without a large body.
    func storePendingOutcome(_ id: UUID, _ result: Result<PulseResponse, PulseError>) {
        let result = result.map(\.withoutLargeBody).mapError(\.withoutLargeBody)
        state.withLock { $0.pendingOutcomes[id] = result }
    }

    func discardPendingOutcome(_ id: UUID) {
        _ = state.withLock { $0.pendingOutcomes.removeValue(forKey: id) }
    }

    // MARK: Queueing

    func admit(_ id: UUID) throws -> LogRecord? {
        try state.withLock { try $0.machine.admit(id) }
    }

    func release(_ id: UUID, dropping dropped: UUID?) {
        change { $0.release(id, dropping: dropped) }
    }

    /// Pauses all sending. Does not wake the drainer: it has less to do.
    func pause(_ uptime: TimeInterval, _ randomness: any Randomness) {
        decide { $0.pause(uptime, randomness) }
    }

    func hasPending(tag: String?) -> Bool {
        read { $0.hasPending(tag: tag) }
    }

    // MARK: Waiting

    /// Yields whenever an action may be due. Has one subscriber at a time: a new one ends the stream of the last.
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

    /// The outcome of an entry, once it is known. Nil if the entry is not pending and has no known outcome, or when
    /// another process has given it up.
    func outcome(of id: UUID) async throws -> PulseResponse? {
        let number = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome = state.withLock { state -> Result<PulseResponse?, any Error>? in
                    // Checked in the same step as the wait starts, so that an entry cannot end in between.
                    guard let entry = state.machine.entries[id], entry.deadLetter == nil else {
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

    /// Applies `change`, runs `start`, and returns when a later drain pass finds no replay running and nothing to send.
    func waitUntilIdle(after change: (inout OfflineQueue.StateMachine) -> Void, _ start: () -> Void) async {
        let number = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    guard !state.isClosed, !Task.isCancelled else { return true }
                    // In one step, so that no pass can see the waiter without the change.
                    state.nextWaiter += 1
                    state.idleWaiters[number] = (state.nextWaiter, continuation)
                    change(&state.machine)
                    return false
                }
                if isOver { continuation.resume() } else { start() }
            }
        } onCancel: {
            let waiter = state.withLock { $0.idleWaiters.removeValue(forKey: number) }
            waiter?.continuation.resume()
        }
    }

    /// Starts a drain pass; later callers wait for the next one.
    func beginDrainPass() -> Int {
        state.withLock { $0.nextWaiter }
    }

    /// Resumes the callers that came before this drain pass.
    func becameIdle(inPass pass: Int = .max) {
        let waiters = state.withLock { state in
            let waiters = state.idleWaiters.filter { $0.value.since <= pass }
            waiters.keys.forEach { state.idleWaiters[$0] = nil }
            return waiters.values.map(\.continuation)
        }
        waiters.forEach { $0.resume() }
    }

    /// Ends all waits. No event is reported afterwards.
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
        becameIdle()
    }
}

extension PulseResponse {
    fileprivate var withoutLargeBody: PulseResponse {
        guard data.count > BodyFiles.limit else { return self }
        var copy = self
        (copy.data, copy.isTruncated) = (Data(), true)
        return copy
    }
}

extension PulseError {
    /// The error with the body of its response dropped if that is large.
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
    /// The outcome to report if another process has received the response; nil if the earlier outcome stays.
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
