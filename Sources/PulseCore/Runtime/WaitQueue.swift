// SPDX-License-Identifier: MIT

// Inlinable, so that other modules specialize it.
/// A line of waiters, first come first served, which each may leave from any place.
///
/// Joining, leaving and being served take constant time on average. It is a value without a lock: put it into a
/// ``Locked`` to share it, and resume outside the lock whomever it gave out.
@usableFromInline
package struct WaitQueue<Waiter: Sendable>: Sendable {
    /// The waiters' numbers in order; a number without a waiter has left.
    @usableFromInline var order: [UInt64] = []
    @usableFromInline var head = 0
    @usableFromInline var waiting: [UInt64: Waiter] = [:]

    @inlinable
    package init() {}

    package var count: Int { waiting.count }
    @inlinable
    package var isEmpty: Bool { waiting.isEmpty }

    /// The number of places that the line takes in memory: those of the waiters, and of some who have left.
    package var placeCount: Int { order.count }

    /// Joins at the end.
    ///
    /// - Parameter id: a number that nobody in the line has.
    @inlinable
    package mutating func append(_ waiter: Waiter, id: UInt64) {
        waiting[id] = waiter
        order.append(id)
        // Otherwise a line that is never empty would keep the places of all who were ever in it.
        guard order.count > 1024, order.count > 2 * waiting.count else { return }
        order = order[head...].filter { waiting[$0] != nil }
        head = 0
    }

    /// Takes the first waiter out, if there is one.
    @inlinable
    package mutating func popFirst() -> Waiter? {
        guard let id = firstID() else { return nil }
        head += 1
        return waiting.removeValue(forKey: id)
    }

    /// Takes out the waiter of that number; nil if there is none.
    @inlinable
    package mutating func remove(id: UInt64) -> Waiter? {
        waiting.removeValue(forKey: id)
    }

    /// Takes all waiters out, in their order.
    @inlinable
    package mutating func removeAll() -> [Waiter] {
        let all = order[head...].compactMap { waiting[$0] }
        self = WaitQueue()
        return all
    }

    /// Takes out those for whom `leaves` is true. It is called in their order, with the number of those who stay before
    /// each.
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

    /// The number of the first waiter who has not left; forgets the places before it.
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
