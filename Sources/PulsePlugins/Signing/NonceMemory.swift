// SPDX-License-Identifier: MIT

/// The nonces of accepted requests within the tolerance, to detect replays.
///
/// Their number is bounded. When full, the memory evicts the oldest second, and rejects further requests from that
/// second or earlier. A flood shortens the window, but never allows a replay.
struct NonceMemory: Sendable {
    enum Verdict: Equatable, Sendable {
        case new
        case replayed
        /// The nonces of the request's second are already evicted.
        case evicted
    }

    private let capacity: Int
    private var seconds: [Int64: Set<String>] = [:]
    /// The keys of `seconds` as a binary heap, the oldest first: a wide window has many, and each request needs the
    /// oldest.
    private var order: [Int64] = []
    private(set) var count = 0
    /// Requests from before this second are rejected.
    private var floor = Int64.min

    /// - Parameter capacity: less than 1 counts as 1.
    init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    /// - Parameter timestamp: of the request, in Unix seconds.
    /// - Parameter oldest: the oldest timestamp within the tolerance.
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
