// SPDX-License-Identifier: MIT

// Inlinable where it is on the path of a call, so that other modules specialize it.
/// Semaphores under keys, which exist only while somebody holds a permit: however many keys were ever seen, only the
/// calls under way take memory.
@usableFromInline
package struct KeyedSemaphore<Key: Hashable & Sendable>: Sendable {
    @usableFromInline typealias Waiter = CheckedContinuation<Void, any Error>

    @usableFromInline struct State: Sendable {
        @usableFromInline var isShutDown = false
        @usableFromInline var lines: [Key: SemaphoreState<Waiter>] = [:]
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

    /// Creates semaphores with all permits free.
    ///
    /// - Parameter limit: the number of permits under each key; less than 1 counts as 1.
    package init(limit: Int) {
        self.limit = max(1, limit)
    }

    /// Waits for a permit. Throws `CancellationError`, and then holds none, if the task or the call that runs in it is
    /// cancelled meanwhile.
    @inlinable
    package func acquire(
        _ key: Key, priority: RequestPriority = .normal
    ) async throws {
        if let id = enter(key) { try await wait(key, id, priority: priority) }
    }

    /// Takes a permit if one is free and returns nil; else returns the number to call ``wait(_:_:priority:_:)`` with.
    ///
    /// For callers who mostly find a permit: an asynchronous function costs more than everything that is done here.
    @inlinable
    package func enter(_ key: Key) -> UInt64? {
        state.withLock { state in
            state.lines[key, default: SemaphoreState(limit: limit)].enter() ? nil : state.takeID()
        }
    }

    /// The second half of ``acquire(_:priority:_:)``.
    @inlinable
    package func wait(
        _ key: Key, _ id: UInt64, priority: RequestPriority
    ) async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome: Result<Void, any Error>? = state.withLock { state in
                    // If cancellation came before the continuation, it found nothing to resume.
                    if Task.isCancelled || state.isShutDown {
                        return .failure(CancellationError())
                    }
                    // A permit may have become free between the two locks, with nobody there to take it.
                    if state.lines[key, default: SemaphoreState(limit: limit)].enter() { return .success(()) }
                    state.lines[key]?.join(continuation, id: id, priority: priority)
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            state.withLock { $0.lines[key]?.leave(id: id) }?.resume(throwing: CancellationError())
        }
    }

    /// Gives a permit back, and with it resumes the first who waits.
    @inlinable
    package func release(_ key: Key) {
        let next = state.withLock { state -> Waiter? in
            // The key is looked up once, and again only to forget it.
            guard let index = state.lines.index(forKey: key) else { return nil }
            let next = state.lines.values[index].release()
            if state.lines.values[index].isIdle { state.lines.remove(at: index) }
            return next
        }
        next?.resume()
    }

    /// Cancels all who wait, and everybody who would wait later.
    package func shutdown() {
        let waiters = state.withLock { state in
            state.isShutDown = true
            return state.lines.keys.flatMap { state.lines[$0]?.removeAll() ?? [] }
        }
        waiters.forEach { $0.resume(throwing: CancellationError()) }
    }

    /// The number of permits that are held under a key now.
    package func activeCount(_ key: Key) -> Int {
        state.withLock { $0.lines[key]?.active ?? 0 }
    }

    /// The number of those who wait under a key now.
    package func waiterCount(_ key: Key) -> Int {
        state.withLock { $0.lines[key]?.waiterCount ?? 0 }
    }

    /// The number of places that a line takes in memory: those of the waiters, and of some who have left.
    package func placeCount(_ key: Key) -> Int {
        state.withLock { $0.lines[key]?.placeCount ?? 0 }
    }

    /// The number of keys that are kept: those under which somebody holds a permit.
    package var keyCount: Int {
        state.withLock { $0.lines.count }
    }
}
