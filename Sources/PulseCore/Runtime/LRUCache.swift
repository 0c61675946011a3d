// SPDX-License-Identifier: MIT

// Inlinable, so that other modules specialize it: plugins use it at each attempt.
/// A dictionary that holds a bounded number of values and drops the least recently used: what is kept for each host,
/// route or user must not grow with the number of those that were ever seen.
///
/// Reading, writing and dropping take constant time. It is a value; put it into a ``Locked`` to share it.
@usableFromInline
package struct LRUCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
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

    /// Creates an empty map.
    ///
    /// - Parameter capacity: the number of values to keep; less than 1 counts as 1.
    /// - Parameter mayLeave: whether a value may be dropped; false for one that is still in use, which then stays
    ///   beyond the capacity.
    package init(capacity: Int, mayLeave: @escaping @Sendable (Value) -> Bool = { _ in true }) {
        self.capacity = max(1, capacity)
        self.mayLeave = mayLeave
    }

    @inlinable
    package var count: Int { nodes.count }

    /// The keys, in no particular order.
    @inlinable
    package var keys: Dictionary<Key, Int>.Keys { places.keys }

    /// The value under a key, without counting as a use of it.
    @inlinable
    package func peek(_ key: Key) -> Value? {
        place(of: key).map { nodes[$0].value }
    }

    /// Runs `body` with the value under a key, which is made first if there is none.
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

    /// Runs `body` with the value under a key, if there is one.
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

    /// Removes the least recently used value, for callers who bound the map by more than a count.
    @inlinable
    package mutating func removeLeastRecentlyUsed() -> (key: Key, value: Value)? {
        guard oldest != Self.none else { return nil }
        let node = remove(at: oldest)
        return (node.key, node.value)
    }

    package mutating func removeAll() {
        self = LRUCache(capacity: capacity, mayLeave: mayLeave)
    }

    // Most apps use one host, or one route, several times in a row: comparing is cheaper than hashing.
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

    /// Drops the least recently used values beyond the capacity. A value that must stay counts as used, so that the
    /// next search does not meet it first. A few steps at a time, so that one insertion never walks through all values.
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
