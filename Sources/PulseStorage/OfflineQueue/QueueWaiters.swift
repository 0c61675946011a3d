// SPDX-License-Identifier: MIT

import PulseCore

/// The callers that wait for the outcome of an entry, or until nothing is left to send. Safe from any thread.
final class QueueWaiters: Sendable {
    typealias Outcome = Result<PulseResponse, PulseError>

    private struct State {
        /// The outcomes of replays whose records are not written yet.
        var unwritten: [UUID: Outcome] = [:]
        /// The outcomes of the entries that ended last.
        var outcomes = LRUCache<UUID, Outcome>(capacity: 64)
        var waiters: [Int: (id: UUID, continuation: CheckedContinuation<PulseResponse?, any Error>)] = [:]
        /// Callers that wait for a drain pass that starts after their call and finds nothing to do.
        var idleWaiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var lastNumber = 0
        var isClosed = false
    }

    private let state = Locked(State())

    /// Numbers increase, so that a drain pass can tell which callers arrived before it.
    private func nextNumber() -> Int {
        state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
    }

    // MARK: Outcomes

    /// Stores the outcome of a replay until its record is written, without a large body.
    func hold(_ outcome: Outcome, of id: UUID) {
        let outcome = outcome.map(\.withoutLargeBody).mapError(\.withoutLargeBody)
        state.withLock { $0.unwritten[id] = outcome }
    }

    /// Drops the held outcome of a replay.
    func drop(_ id: UUID) {
        _ = state.withLock { $0.unwritten.removeValue(forKey: id) }
    }

    /// Resumes the waiters of an entry with its outcome: the response that this process received, otherwise the outcome
    /// in the journal.
    ///
    /// - Parameter reason: nil for a dead letter, whose reason has a record in the journal.
    func end(_ id: UUID, _ reason: QueueRemoval?) {
        let (outcome, waiters) = state.withLock { state in
            let known = reason.flatMap { $0.outcome(of: id) ?? state.outcomes.peek(id) }
            let outcome = state.unwritten.removeValue(forKey: id) ?? known
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

    /// The outcome of an entry, once it is known. Nil if the entry is not pending and has no known outcome, or if
    /// another process gave it up.
    ///
    /// - Parameter isPending: whether the entry will end. Runs under the waiters' lock: an entry that ends afterwards
    ///   finds its waiter.
    func outcome(of id: UUID, isPending: () -> Bool) async throws -> PulseResponse? {
        let number = nextNumber()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome = state.withLock { state -> Result<PulseResponse?, any Error>? in
                    guard isPending() else {
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

    // MARK: Drain passes

    /// Runs `start`, and returns when a later drain pass finds no replay running and nothing to send.
    func waitUntilIdle(_ start: () -> Void) async {
        let number = nextNumber()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waits = state.withLock { state in
                    guard !state.isClosed, !Task.isCancelled else { return false }
                    state.idleWaiters[number] = continuation
                    return true
                }
                if waits { start() } else { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.idleWaiters.removeValue(forKey: number) }?.resume()
        }
    }

    /// The callers of ``waitUntilIdle(_:)``, for tests.
    var idleWaiterCount: Int { state.withLock { $0.idleWaiters.count } }

    /// Starts a drain pass; later callers wait for the next one.
    func beginDrainPass() -> Int {
        state.withLock { $0.lastNumber }
    }

    /// Resumes the callers that arrived before this drain pass.
    func becameIdle(inPass pass: Int = .max) {
        let waiters = state.withLock { state in
            let waiters = state.idleWaiters.filter { $0.key <= pass }
            waiters.keys.forEach { state.idleWaiters[$0] = nil }
            return waiters.values
        }
        waiters.forEach { $0.resume() }
    }

    /// Ends all waits.
    func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            defer { state.waiters = [:] }
            return state.waiters.values.map(\.continuation)
        }
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
    /// The error without the body of its response if that is large.
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
