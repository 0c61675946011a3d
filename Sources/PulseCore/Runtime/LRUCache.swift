// SPDX-License-Identifier: MIT

// Inlinable, so that other modules specialize it: plugins use it in each attempt.
/// A dictionary with a bounded number of values that evicts the least recently used. State for each host, route or user
/// must not grow with the number ever seen.
///
/// Reading, writing and eviction take constant time. It is a value type; put it into a ``Locked`` to share it.
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
    @usableFromInline let isEvictable: @Sendable (Value) -> Bool
    @usableFromInline var indices: [Key: Int] = [:]
    @usableFromInline var nodes: [Node] = []
    @usableFromInline var newest = none
    @usableFromInline var oldest = none

    /// Creates an empty cache.
    ///
    /// - Parameter capacity: the maximum number of values; less than 1 counts as 1.
    /// - Parameter isEvictable: whether a value may be evicted; false for a value in use, which then stays beyond the
    ///   capacity.
    package init(capacity: Int, isEvictable: @escaping @Sendable (Value) -> Bool = { _ in true }) {
        self.capacity = max(1, capacity)
        self.isEvictable = isEvictable
    }

    @inlinable
    package var count: Int { nodes.count }

    /// The keys, in no particular order.
    @inlinable
    package var keys: Dictionary<Key, Int>.Keys { indices.keys }

    /// The value of a key; does not count as a use.
    @inlinable
    package func peek(_ key: Key) -> Value? {
        index(of: key).map { nodes[$0].value }
    }

    /// Runs `body` with the value of a key, which is created first if it is missing.
    @inlinable
    package mutating func withValue<Result>(
        for key: Key, default value: @autoclosure () -> Value, _ body: (inout Value) throws -> Result
    ) rethrows -> Result {
        if let index = index(of: key) {
            moveToFront(index)
        } else {
            append(key, value())
            defer { letGo(butNot: key) }
            return try body(&nodes[newest].value)
        }
        return try body(&nodes[newest].value)
    }

    /// Runs `body` with the value of a key, if there is one.
    @inlinable
    package mutating func withValue<Result>(for key: Key, _ body: (inout Value) throws -> Result) rethrows -> Result? {
        guard let index = index(of: key) else { return nil }
        moveToFront(index)
        return try body(&nodes[index].value)
    }

    @discardableResult
    @inlinable
    package mutating func removeValue(for key: Key) -> Value? {
        guard let index = index(of: key) else { return nil }
        return remove(at: index).value
    }

    /// Removes the least recently used value, for callers that bound the cache by more than a count.
    @inlinable
    package mutating func removeLeastRecentlyUsed() -> (key: Key, value: Value)? {
        guard oldest != Self.none else { return nil }
        let node = remove(at: oldest)
        return (node.key, node.value)
    }

    package mutating func removeAll() {
        self = LRUCache(capacity: capacity, isEvictable: isEvictable)
    }

    // Most apps use the same host or route several times in a row: comparing is cheaper than hashing.
    @inlinable
    func index(of key: Key) -> Int? {
        newest != Self.none && nodes[newest].key == key ? newest : indices[key]
    }

    // MARK: The list, newest first, as indices into `nodes`

    @inlinable
    mutating func append(_ key: Key, _ value: Value) {
        nodes.append(Node(key: key, value: value, newer: Self.none, older: newest))
        let index = nodes.count - 1
        indices[key] = index
        if newest != Self.none { nodes[newest].newer = index } else { oldest = index }
        newest = index
    }

    @inlinable
    mutating func moveToFront(_ index: Int) {
        guard index != newest else { return }
        unlink(index)
        nodes[index].newer = Self.none
        nodes[index].older = newest
        nodes[newest].newer = index
        newest = index
    }

    @inlinable
    mutating func unlink(_ index: Int) {
        let (newer, older) = (nodes[index].newer, nodes[index].older)
        if newer != Self.none { nodes[newer].older = older } else { newest = older }
        if older != Self.none { nodes[older].newer = newer } else { oldest = newer }
    }

    @inlinable
    mutating func remove(at index: Int) -> Node {
        unlink(index)
        let removed = nodes[index]
        indices[removed.key] = nil
        let last = nodes.removeLast()
        guard index < nodes.count else { return removed }
        // The last node fills the hole, and its neighbors get its new index.
        nodes[index] = last
        indices[last.key] = index
        if last.newer != Self.none { nodes[last.newer].older = index } else { newest = index }
        if last.older != Self.none { nodes[last.older].newer = index } else { oldest = index }
        return removed
    }

    /// Evicts the least recently used values beyond the capacity. A value in use moves to the front, so that the next
    /// eviction does not find it first. Each call takes a few steps, so that one insertion never walks through all
    /// values.
    @inlinable
    mutating func letGo(butNot key: Key) {
        var steps = 8
        while nodes.count > capacity, steps > 0 {
            steps -= 1
            if isEvictable(nodes[oldest].value), nodes[oldest].key != key {
                _ = remove(at: oldest)
            } else {
                moveToFront(oldest)
            }
        }
    }
}
