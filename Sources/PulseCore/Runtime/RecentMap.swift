// SPDX-License-Identifier: MIT

/// A dictionary that holds a bounded number of values and lets go of the least recently used: what is kept for each host,
/// route or user must not grow with the number of those that were ever seen.
///
/// Reading, writing and letting go take constant time. A value; who shares one puts it into a ``Locked``.
// Inlinable, so that other modules specialize it: plugins ask it at each attempt.
@usableFromInline
package struct RecentMap<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline struct Node: Sendable {
        @usableFromInline var key: Key
        @usableFromInline var value: Value
        @usableFromInline var newer: Int
        @usableFromInline var older: Int

        @inlinable
        init(key: Key, value: Value, newer: Int, older: Int) {
            self.key = key
            self.value = value
            self.newer = newer
            self.older = older
        }
    }

    @inlinable static var none: Int { -1 }

    @usableFromInline let capacity: Int
    @usableFromInline let mayLeave: @Sendable (Value) -> Bool
    @usableFromInline var places: [Key: Int] = [:]
    @usableFromInline var nodes: [Node] = []
    @usableFromInline var newest = none
    @usableFromInline var oldest = none

    /// - Parameter capacity: less than 1 counts as 1.
    /// - Parameter mayLeave: false for a value that somebody still counts on. Such values stay beyond the capacity.
    package init(capacity: Int, mayLeave: @escaping @Sendable (Value) -> Bool = { _ in true }) {
        self.capacity = max(1, capacity)
        self.mayLeave = mayLeave
    }

    @inlinable
    package var count: Int { nodes.count }

    /// In no order.
    @inlinable
    package var keys: Dictionary<Key, Int>.Keys { places.keys }

    /// The value without a use of it.
    @inlinable
    package func peek(_ key: Key) -> Value? {
        place(of: key).map { nodes[$0].value }
    }

    /// Uses the value under a key, made first if there is none.
    @inlinable
    package mutating func withValue<Result>(
        for key: Key, default value: @autoclosure () -> Value, _ body: (inout Value) throws -> Result
    ) rethrows -> Result {
        if let place = place(of: key) {
            moveToFront(place)
        } else {
            append(key, value())
            defer { letGo(butNot: key) }
            return try body(&nodes[newest].value)
        }
        return try body(&nodes[newest].value)
    }

    /// Uses the value under a key, if there is one.
    @inlinable
    package mutating func withValue<Result>(for key: Key, _ body: (inout Value) throws -> Result) rethrows -> Result? {
        guard let place = place(of: key) else { return nil }
        moveToFront(place)
        return try body(&nodes[place].value)
    }

    @discardableResult
    @inlinable
    package mutating func removeValue(for key: Key) -> Value? {
        guard let place = place(of: key) else { return nil }
        return remove(at: place).value
    }

    /// For whoever bounds the map by more than a count.
    @inlinable
    package mutating func removeLeastRecentlyUsed() -> (key: Key, value: Value)? {
        guard oldest != Self.none else { return nil }
        let node = remove(at: oldest)
        return (node.key, node.value)
    }

    package mutating func removeAll() {
        self = RecentMap(capacity: capacity, mayLeave: mayLeave)
    }

    // Mostly an app asks one host, or one route, several times in a row: to compare is cheaper than to hash.
    @inlinable
    func place(of key: Key) -> Int? {
        newest != Self.none && nodes[newest].key == key ? newest : places[key]
    }

    // MARK: The list, newest first, as indices into `nodes`

    @inlinable
    mutating func append(_ key: Key, _ value: Value) {
        nodes.append(Node(key: key, value: value, newer: Self.none, older: newest))
        let place = nodes.count - 1
        places[key] = place
        if newest != Self.none { nodes[newest].newer = place } else { oldest = place }
        newest = place
    }

    @inlinable
    mutating func moveToFront(_ place: Int) {
        guard place != newest else { return }
        unlink(place)
        nodes[place].newer = Self.none
        nodes[place].older = newest
        nodes[newest].newer = place
        newest = place
    }

    @inlinable
    mutating func unlink(_ place: Int) {
        let (newer, older) = (nodes[place].newer, nodes[place].older)
        if newer != Self.none { nodes[newer].older = older } else { newest = older }
        if older != Self.none { nodes[older].newer = newer } else { oldest = newer }
    }

    @inlinable
    mutating func remove(at place: Int) -> Node {
        unlink(place)
        let removed = nodes[place]
        places[removed.key] = nil
        let last = nodes.removeLast()
        guard place < nodes.count else { return removed }
        // The last node fills the hole, and those beside it learn its new place.
        nodes[place] = last
        places[last.key] = place
        if last.newer != Self.none { nodes[last.newer].older = place } else { newest = place }
        if last.older != Self.none { nodes[last.older].newer = place } else { oldest = place }
        return removed
    }

    /// A value that must stay counts as used, so that the next search does not meet it first; a few steps at a time, so
    /// that one insertion never costs a walk through all.
    @inlinable
    mutating func letGo(butNot key: Key) {
        var steps = 8
        while nodes.count > capacity, steps > 0 {
            steps -= 1
            if mayLeave(nodes[oldest].value), nodes[oldest].key != key {
                _ = remove(at: oldest)
            } else {
                moveToFront(oldest)
            }
        }
    }
}
