// SPDX-License-Identifier: MIT

/// The nonces of accepted requests whose time has not run out: they tell a replay from a new request.
///
/// It holds a bounded number of them. When it is full it forgets the oldest second, and with it accepts no request of
/// that second or before: a flood makes the window shorter, never a replay possible.
struct NonceMemory: Sendable {
    enum Verdict: Equatable, Sendable {
        case new
        case replayed
        /// The request is of a second whose nonces are already forgotten.
        case evicted
    }

    private let capacity: Int
    private var seconds: [Int64: Set<String>] = [:]
    /// The keys of `seconds` as a binary heap, the oldest first: a wide window has very many, and each request needs
    /// the oldest.
    private var order: [Int64] = []
    private(set) var count = 0
    /// Nothing of a second before this one is accepted.
    private var floor = Int64.min

    /// - Parameter capacity: less than 1 counts as 1.
    init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    /// - Parameter timestamp: of the request, in Unix seconds.
    /// - Parameter oldest: the oldest timestamp that anybody still accepts.
    mutating func admit(_ nonce: String, timestamp: Int64, oldest: Int64) -> Verdict {
        while let first = order.first, first < oldest { evictOldest() }
        guard timestamp >= floor else { return .evicted }
        if seconds[timestamp] == nil { insert(timestamp) }
        guard seconds[timestamp, default: []].insert(nonce).inserted else { return .replayed }
        count += 1
        while count > capacity { evictOldest() }
        return .new
    }

    private mutating func evictOldest() {
        let second = removeFirst()
        count -= seconds.removeValue(forKey: second)?.count ?? 0
        floor = max(floor, second + 1)
    }

    private mutating func insert(_ second: Int64) {
        order.append(second)
        var child = order.count - 1
        while child > 0, order[child] < order[(child - 1) / 2] {
            order.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private mutating func removeFirst() -> Int64 {
        order.swapAt(0, order.count - 1)
        let first = order.removeLast()
        var (parent, child) = (0, 1)
        while child < order.count {
            if child + 1 < order.count, order[child + 1] < order[child] { child += 1 }
            if order[parent] <= order[child] { break }
            order.swapAt(parent, child)
            (parent, child) = (child, 2 * child + 1)
        }
        return first
    }
}
