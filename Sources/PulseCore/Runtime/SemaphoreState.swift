// SPDX-License-Identifier: MIT

// Inlinable, so that other modules specialize it: plugins use it in each attempt.
/// A counting semaphore as a value type: a limited number of holders have a permit, and other waiters are queued by
/// priority, then first in, first out.
///
/// A released permit goes to the next waiter, or becomes free if there is none. It is never unused while a waiter is
/// queued, even after other waiters were removed. The type has no lock and resumes no continuation, see
/// ``KeyedSemaphore``.
@usableFromInline
package struct SemaphoreState<Waiter: Sendable>: Sendable {
    @usableFromInline let limit: Int
    /// The number of permits in use.
    @usableFromInline package internal(set) var active = 0
    /// One queue for each priority, the lowest first; empty until a waiter is queued.
    @usableFromInline var queues: [WaitQueue<Waiter>] = []

    /// Creates a semaphore with all permits free.
    ///
    /// - Parameter limit: the number of permits; less than 1 counts as 1.
    @inlinable
    package init(limit: Int) {
        self.limit = max(1, limit)
    }

    package var waiterCount: Int { queues.reduce(0) { $0 + $1.count } }

    /// The number of queue slots in memory.
    package var queueSlotCount: Int { queues.reduce(0) { $0 + $1.slotCount } }

    /// Whether no permit is in use, and so no waiter is queued.
    @inlinable
    package var isIdle: Bool { active == 0 }

    /// Takes a permit if one is free.
    @inlinable
    package mutating func tryAcquire() -> Bool {
        guard active < limit else { return false }
        active += 1
        return true
    }

    /// Queues a waiter for the next free permit.
    @inlinable
    package mutating func enqueue(_ waiter: Waiter, id: UInt64, priority: RequestOptions.Priority) {
        let index = Self.queueIndex(of: priority)
        while queues.count <= index { queues.append(WaitQueue()) }
        queues[index].append(waiter, id: id)
    }

    /// Removes a queued waiter and returns it; nil if it is not queued, for example because it already has a permit.
    @inlinable
    package mutating func remove(id: UInt64) -> Waiter? {
        for index in queues.indices {
            if let waiter = queues[index].remove(id: id) { return waiter }
        }
        return nil
    }

    /// Releases a permit. The returned waiter now holds the permit.
    @inlinable
    package mutating func release() -> Waiter? {
        if !queues.isEmpty {
            for index in queues.indices.reversed() {
                if let next = queues[index].popFirst() { return next }
            }
        }
        active = max(0, active - 1)
        return nil
    }

    /// Removes all waiters; permits in use are not affected.
    package mutating func removeAll() -> [Waiter] {
        queues.indices.reversed().flatMap { queues[$0].removeAll() }
    }

    @inlinable
    static func queueIndex(of priority: RequestOptions.Priority) -> Int {
        switch priority {
        case .low: 0
        case .normal: 1
        case .high: 2
        }
    }
}
