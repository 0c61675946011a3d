// SPDX-License-Identifier: MIT

// Inlinable on the call path, so that other modules specialize it.
/// Semaphores by key. Each exists only while a permit is held, so memory grows only with the calls in progress and not
/// with the keys ever seen.
@usableFromInline
package struct KeyedSemaphore<Key: Hashable & Sendable>: Sendable {
    @usableFromInline typealias Waiter = CheckedContinuation<Void, any Error>

    @usableFromInline struct State: Sendable {
        @usableFromInline var isShutDown = false
        @usableFromInline var semaphores: [Key: SemaphoreState<Waiter>] = [:]
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

    /// Waits for a permit. Throws `CancellationError`, without a permit, if the task is cancelled while it waits.
    @inlinable
    package func acquire(
        _ key: Key, priority: RequestOptions.Priority = .normal
    ) async throws {
        if let id = enter(key) { try await wait(key, id, priority: priority) }
    }

    /// Takes a permit if one is free and returns nil; else returns the identifier for ``wait(_:_:priority:)``.
    ///
    /// For callers that usually find a free permit: an asynchronous call costs more than everything done here.
    @inlinable
    package func enter(_ key: Key) -> UInt64? {
        state.withLock { state in
            state.semaphores[key, default: SemaphoreState(limit: limit)].tryAcquire() ? nil : state.takeID()
        }
    }

    /// The second half of ``acquire(_:priority:)``.
    ///
    /// - Parameter whenQueued: called once the waiter is queued, if it has to wait. From then on, ``fail(_:_:with:)``
    ///   ends the wait.
    @inlinable
    package func wait(
        _ key: Key, _ id: UInt64, priority: RequestOptions.Priority, whenQueued: @Sendable () -> Void = {}
    ) async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome: Result<Void, any Error>? = state.withLock { state in
                    // A cancellation before this point had no continuation to resume.
                    if Task.isCancelled || state.isShutDown {
                        return .failure(CancellationError())
                    }
                    // A permit may have become free between the two locks, when there was no waiter to take it.
                    if state.semaphores[key, default: SemaphoreState(limit: limit)].tryAcquire() { return .success(()) }
                    state.semaphores[key]?.enqueue(continuation, id: id, priority: priority)
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) } else { whenQueued() }
            }
        } onCancel: {
            state.withLock { $0.semaphores[key]?.remove(id: id) }?.resume(throwing: CancellationError())
        }
    }

    /// Ends the wait of a queued waiter with an error. Does nothing if it is not queued, for example because it already
    /// has a permit.
    package func fail(_ key: Key, _ id: UInt64, with error: any Error) {
        state.withLock { $0.semaphores[key]?.remove(id: id) }?.resume(throwing: error)
    }

    /// Releases a permit, which resumes the first waiter.
    @inlinable
    package func release(_ key: Key) {
        let next = state.withLock { state -> Waiter? in
            // One lookup for the key, and another only to remove it.
            guard let index = state.semaphores.index(forKey: key) else { return nil }
            let next = state.semaphores.values[index].release()
            if state.semaphores.values[index].isIdle { state.semaphores.remove(at: index) }
            return next
        }
        next?.resume()
    }

    /// Cancels all current and future waiters.
    package func shutdown() {
        let waiters = state.withLock { state in
            state.isShutDown = true
            return state.semaphores.keys.flatMap { state.semaphores[$0]?.removeAll() ?? [] }
        }
        waiters.forEach { $0.resume(throwing: CancellationError()) }
    }

    /// The number of permits in use under a key.
    package func activeCount(_ key: Key) -> Int {
        state.withLock { $0.semaphores[key]?.active ?? 0 }
    }

    /// The number of waiters under a key.
    package func waiterCount(_ key: Key) -> Int {
        state.withLock { $0.semaphores[key]?.waiterCount ?? 0 }
    }

    /// The number of queue slots in memory under a key: those of the waiters, and of some that were removed.
    package func queueSlotCount(_ key: Key) -> Int {
        state.withLock { $0.semaphores[key]?.queueSlotCount ?? 0 }
    }

    /// The number of stored keys: those with a permit in use.
    package var keyCount: Int {
        state.withLock { $0.semaphores.count }
    }
}
