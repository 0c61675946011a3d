// SPDX-License-Identifier: MIT

// Inlinable, so that other modules specialize it.
/// A first-in, first-out queue of waiters, each of which can be removed from any position.
///
/// Appending, removing and popping take constant time on average. It is a value type without a lock: put it into a
/// ``Locked`` to share it, and resume the returned waiters outside the lock.
@usableFromInline
package struct WaitQueue<Waiter: Sendable>: Sendable {
    /// The waiters' identifiers in order; an identifier without a waiter was removed.
    @usableFromInline var order: [UInt64] = []
    @usableFromInline var head = 0
    @usableFromInline var waiting: [UInt64: Waiter] = [:]

    @inlinable
    package init() {}

    package var count: Int { waiting.count }
    @inlinable
    package var isEmpty: Bool { waiting.isEmpty }

    /// The number of queue slots in memory: those of the waiters, and of some that were removed.
    package var slotCount: Int { order.count }

    /// Appends a waiter.
    ///
    /// - Parameter id: an identifier that no other waiter in the queue has.
    @inlinable
    package mutating func append(_ waiter: Waiter, id: UInt64) {
        waiting[id] = waiter
        order.append(id)
        // Otherwise a queue that is never empty would keep the slots of all waiters ever queued.
        guard order.count > 1024, order.count > 2 * waiting.count else { return }
        order = order[head...].filter { waiting[$0] != nil }
        head = 0
    }

    /// Removes the first waiter and returns it.
    @inlinable
    package mutating func popFirst() -> Waiter? {
        guard let id = firstID() else { return nil }
        head += 1
        return waiting.removeValue(forKey: id)
    }

    /// Removes the waiter with that identifier and returns it; nil if there is none.
    @inlinable
    package mutating func remove(id: UInt64) -> Waiter? {
        waiting.removeValue(forKey: id)
    }

    /// Removes all waiters and returns them in order.
    @inlinable
    package mutating func removeAll() -> [Waiter] {
        let all = order[head...].compactMap { waiting[$0] }
        self = WaitQueue()
        return all
    }

    /// Removes and returns the waiters for which `leaves` is true. It is called in order, with the number of waiters
    /// before each that stay.
    package mutating func removeAll(where leaves: (_ waiter: Waiter, _ staying: Int) -> Bool) -> [Waiter] {
        var (staying, leaving) = (0, [Waiter]())
        for id in order[head...] {
            guard let waiter = waiting[id] else { continue }
            if leaves(waiter, staying) {
                waiting[id] = nil
                leaving.append(waiter)
            } else {
                staying += 1
            }
        }
        return leaving
    }

    /// The identifier of the first waiter still queued; drops the slots before it.
    @inlinable
    mutating func firstID() -> UInt64? {
        while head < order.count {
            if waiting[order[head]] != nil { return order[head] }
            head += 1
        }
        order = []
        head = 0
        return nil
    }
}
