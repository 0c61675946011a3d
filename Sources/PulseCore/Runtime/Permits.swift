// SPDX-License-Identifier: MIT

/// Semaphores under keys, which exist only while somebody holds a permit: however many keys were ever seen, memory is
/// that of the calls under way.
// Inlinable where it is on the way of a call, so that other modules specialize it.
@usableFromInline
package struct Permits<Key: Hashable & Sendable>: Sendable {
    @usableFromInline typealias Waiter = CheckedContinuation<Void, any Error>

    @usableFromInline struct State: Sendable {
        @usableFromInline var isShutDown = false
        @usableFromInline var lines: [Key: PermitLine<Waiter>] = [:]
        @usableFromInline var nextID: UInt64 = 0

        init() {}

        @inlinable
        mutating func takeID() -> UInt64 {
            nextID += 1
            return nextID
        }
    }

    @usableFromInline let limit: Int
    @usableFromInline let state = Locked(State())

    /// - Parameter limit: of permits under each key; less than 1 counts as 1.
    package init(limit: Int) {
        self.limit = max(1, limit)
    }

    /// Waits for a permit. Throws `CancellationError` if the task, or the call that runs in it, is cancelled meanwhile;
    /// then it holds none.
    @inlinable
    package func acquire(
        _ key: Key, priority: RequestPriority = .normal, _ cancellation: Cancellation? = nil
    ) async throws {
        if let id = enter(key) { try await wait(key, id, priority: priority, cancellation) }
    }

    /// Takes a permit if one is free, which is nil; else gives what to ``wait(_:_:priority:_:)`` with. For whoever finds one
    /// mostly: an asynchronous function costs more than all that is done here.
    @inlinable
    package func enter(_ key: Key) -> UInt64? {
        state.withLock { state in
            state.lines[key, default: PermitLine(limit: limit)].enter() ? nil : state.takeID()
        }
    }

    /// The second half of ``acquire(_:priority:_:)``.
    @inlinable
    package func wait(
        _ key: Key, _ id: UInt64, priority: RequestPriority, _ cancellation: Cancellation?
    ) async throws {
        try await withCancellation(cancellation) {
            try await withCheckedThrowingContinuation { continuation in
                let outcome: Result<Void, any Error>? = state.withLock { state in
                    // Cancellation that came before the continuation found nothing to resume.
                    if Task.isCancelled || cancellation?.isCancelled == true || state.isShutDown {
                        return .failure(CancellationError())
                    }
                    // A permit may have become free between the two locks, with nobody there to take it.
                    if state.lines[key, default: PermitLine(limit: limit)].enter() { return .success(()) }
                    state.lines[key]?.join(continuation, id: id, priority: priority)
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            state.withLock { $0.lines[key]?.leave(id: id) }?.resume(throwing: CancellationError())
        }
    }

    /// Gives a permit to the first who waits.
    @inlinable
    package func release(_ key: Key) {
        let next = state.withLock { state -> Waiter? in
            // One look for the key, and another only to forget it.
            guard let index = state.lines.index(forKey: key) else { return nil }
            let next = state.lines.values[index].release()
            if state.lines.values[index].isIdle { state.lines.remove(at: index) }
            return next
        }
        next?.resume()
    }

    /// Nobody waits any more: who does is cancelled, and so is whoever would.
    package func shutdown() {
        let waiters = state.withLock { state in
            state.isShutDown = true
            return state.lines.keys.flatMap { state.lines[$0]?.removeAll() ?? [] }
        }
        waiters.forEach { $0.resume(throwing: CancellationError()) }
    }

    /// How many hold a permit now.
    package func activeCount(_ key: Key) -> Int {
        state.withLock { $0.lines[key]?.active ?? 0 }
    }

    /// How many wait now.
    package func waiterCount(_ key: Key) -> Int {
        state.withLock { $0.lines[key]?.waiterCount ?? 0 }
    }

    /// How many places the line takes in memory: those of the waiters, and of some who have left.
    package func placeCount(_ key: Key) -> Int {
        state.withLock { $0.lines[key]?.placeCount ?? 0 }
    }

    /// How many keys are kept: those under which somebody holds a permit.
    package var keyCount: Int {
        state.withLock { $0.lines.count }
    }
}
