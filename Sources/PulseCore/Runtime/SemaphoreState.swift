// SPDX-License-Identifier: MIT

// Inlinable, so that other modules specialize it: plugins use it at each attempt.
/// A semaphore as a value: a limited number hold a permit and the rest stand in line, the more urgent first, and first
/// come first served within one urgency.
///
/// A permit that is given back goes to the next in line, or lapses if nobody waits: it is never left unused while
/// somebody waits, whoever has left the line in between. It has no lock and resumes nobody, see ``KeyedSemaphore``.
@usableFromInline
package struct SemaphoreState<Waiter: Sendable>: Sendable {
    @usableFromInline let limit: Int
    /// The number of permits that are held.
    @usableFromInline package internal(set) var active = 0
    /// One line for each urgency, the least urgent first; none until somebody has to wait.
    @usableFromInline var lines: [WaitQueue<Waiter>] = []

    /// Creates a line with all permits free.
    ///
    /// - Parameter limit: the number of permits; less than 1 counts as 1.
    @inlinable
    package init(limit: Int) {
        self.limit = max(1, limit)
    }

    package var waiterCount: Int { lines.reduce(0) { $0 + $1.count } }

    /// The number of places that the lines take in memory.
    package var placeCount: Int { lines.reduce(0) { $0 + $1.placeCount } }

    /// Whether nobody holds a permit, and so nobody waits.
    @inlinable
    package var isIdle: Bool { active == 0 }

    /// Takes a permit if one is free.
    @inlinable
    package mutating func enter() -> Bool {
        guard active < limit else { return false }
        active += 1
        return true
    }

    /// Stands in line for the next free permit.
    @inlinable
    package mutating func join(_ waiter: Waiter, id: UInt64, priority: RequestPriority) {
        let place = Self.place(of: priority)
        while lines.count <= place { lines.append(WaitQueue()) }
        lines[place].append(waiter, id: id)
    }

    /// Takes a waiter out of the line and returns it; nil if it is not there, as after its turn has come.
    @inlinable
    package mutating func leave(id: UInt64) -> Waiter? {
        for index in lines.indices {
            if let waiter = lines[index].remove(id: id) { return waiter }
        }
        return nil
    }

    /// Gives a permit back. The waiter that it returns holds the permit now.
    @inlinable
    package mutating func release() -> Waiter? {
        if !lines.isEmpty {
            for index in lines.indices.reversed() {
                if let next = lines[index].popFirst() { return next }
            }
        }
        active = max(0, active - 1)
        return nil
    }

    /// Empties the line; the permits stay with their holders.
    package mutating func removeAll() -> [Waiter] {
        lines.indices.reversed().flatMap { lines[$0].removeAll() }
    }

    @inlinable
    static func place(of priority: RequestPriority) -> Int {
        switch priority {
        case .low: 0
        case .normal: 1
        case .high: 2
        }
    }
}
