// SPDX-License-Identifier: MIT

/// The nonces of the requests that were accepted and whose time has not run out: what tells a replay from a new request.
///
/// It holds a bounded number of them. When it is full it forgets the oldest second, and with it accepts no request of that
/// second or before: a flood makes the window shorter, never a replay possible.
struct NonceMemory: Sendable {
    enum Verdict: Equatable, Sendable {
        case new
        case replayed
        /// Of a second whose nonces are forgotten already.
        case forgotten
    }

    private let capacity: Int
    private var seconds: [Int64: Set<String>] = [:]
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
        forget { $0 < oldest }
        guard timestamp >= floor else { return .forgotten }
        guard seconds[timestamp, default: []].insert(nonce).inserted else { return .replayed }
        count += 1
        while count > capacity, let first = seconds.keys.min() { forget { $0 == first } }
        return .new
    }

    // The keys are the seconds of one window: some hundred at most.
    private mutating func forget(where isForgotten: (Int64) -> Bool) {
        for second in seconds.keys where isForgotten(second) {
            count -= seconds.removeValue(forKey: second)?.count ?? 0
            floor = max(floor, second + 1)
        }
    }
}
