// SPDX-License-Identifier: MIT

/// A semaphore as a value: so many hold a permit, the rest stand in line, the more urgent before the less, within one
/// urgency first come first served.
///
/// A permit that is given back goes to the next in line or lapses: it never lies about while somebody waits, whoever
/// left the line meanwhile. It has no lock and resumes nobody, see ``Permits``.
// Inlinable, so that other modules specialize it: plugins ask it at each attempt.
@usableFromInline
package struct PermitLine<Waiter: Sendable>: Sendable {
    @usableFromInline let limit: Int
    /// How many hold a permit.
    @usableFromInline package internal(set) var active = 0
    /// One for each urgency, the least urgent first; none until somebody has to wait.
    @usableFromInline var lines: [WaitingLine<Waiter>] = []

    /// - Parameter limit: of permits; less than 1 counts as 1.
    @inlinable
    package init(limit: Int) {
        self.limit = max(1, limit)
    }

    package var waiterCount: Int { lines.reduce(0) { $0 + $1.count } }

    /// How many places the lines take in memory.
    package var placeCount: Int { lines.reduce(0) { $0 + $1.placeCount } }

    /// Nobody holds a permit, and so nobody waits.
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
        while lines.count <= place { lines.append(WaitingLine()) }
        lines[place].append(waiter, id: id)
    }

    /// Leaves the line; nil if nobody of that number is in it, as when its turn has come.
    @inlinable
    package mutating func leave(id: UInt64) -> Waiter? {
        for index in lines.indices {
            if let waiter = lines[index].remove(id: id) { return waiter }
        }
        return nil
    }

    /// Gives a permit back. Whoever it returns holds it now.
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
