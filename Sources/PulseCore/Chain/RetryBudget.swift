// SPDX-License-Identifier: MIT

/// The retry budget of one host: at most 20 % of the calls of the last 10 seconds. In any 10 seconds, 30 retries are
/// always allowed.
///
/// So clients add at most a fifth to the load of an overloaded server, and a client with few calls notices no limit.
/// The budget counts calls and retries by the second, over the last ten seconds; the 30 are exact. It is a value: the
/// caller passes the time as the clock's uptime. A time older than the previous one counts as the latest.
package struct RetryBudget: Sendable {
    private struct Second {
        var calls: Int32 = 0
        var retries: Int32 = 0
    }

    private static let window = 10
    private static let callsPerRetry = 5
    private static let alwaysAllowed = 30

    /// A ring of seconds; `slot` is the index of the current second.
    private var seconds = [Second](repeating: Second(), count: Self.window)
    private var slot = 0
    private var current: TimeInterval
    private var calls = 0
    private var retries = 0
    /// The times of the last 30 granted retries. Once there are 30, it is a ring with the oldest at `oldest`.
    private var granted: [TimeInterval] = []
    private var oldest = 0

    package init(at now: TimeInterval) {
        current = now.rounded(.down)
    }

    /// Counts a call at its start, whatever its outcome.
    package mutating func countCall(at now: TimeInterval) {
        advance(to: now)
        // No real use exceeds this number, and the sum must not overflow.
        guard seconds[slot].calls < 100_000_000 else { return }
        seconds[slot].calls += 1
        calls += 1
    }

    /// Whether one more retry is allowed. If so, the retry is counted.
    package mutating func takeRetry(at now: TimeInterval) -> Bool {
        advance(to: now)
        let isFewInAll = granted.count < Self.alwaysAllowed || now - granted[oldest] >= TimeInterval(Self.window)
        guard isFewInAll || (retries + 1) * Self.callsPerRetry <= calls else { return false }
        seconds[slot].retries += 1
        retries += 1
        if granted.count < Self.alwaysAllowed {
            granted.append(now)
        } else {
            granted[oldest] = now
            oldest = (oldest + 1) % Self.alwaysAllowed
        }
        return true
    }

    private mutating func advance(to now: TimeInterval) {
        let second = now.rounded(.down)
        // The comparison is false for NaN too.
        guard second > current else { return }
        let passed = second - current
        current = second
        guard passed < TimeInterval(Self.window) else {
            for index in seconds.indices { seconds[index] = Second() }
            (calls, retries) = (0, 0)
            return
        }
        for _ in 0..<Int(passed) {
            slot = (slot + 1) % Self.window
            calls -= Int(seconds[slot].calls)
            retries -= Int(seconds[slot].retries)
            seconds[slot] = Second()
        }
    }
}

/// The budgets of the hosts that a client calls. Only those of the most recently used hosts are stored.
package struct RetryBudgets: Sendable {
    package static let capacity = 1024

    private let hosts = Locked(LRUCache<String, RetryBudget>(capacity: Self.capacity))

    package init() {}

    package var count: Int { hosts.withLock { $0.count } }

    package func countCall(to host: String, at now: TimeInterval) {
        hosts.withLock { $0.withValue(for: host, default: RetryBudget(at: now)) { $0.countCall(at: now) } }
    }

    package func takeRetry(of host: String, at now: TimeInterval) -> Bool {
        hosts.withLock { $0.withValue(for: host, default: RetryBudget(at: now)) { $0.takeRetry(at: now) } }
    }
}
