// SPDX-License-Identifier: MIT

import PulseCore

/// A rate: one request every `interval` seconds, and a burst of `burst` requests after a pause.
struct Rate: Sendable, Hashable {
    /// 0 for no limit.
    let interval: TimeInterval
    /// Seconds by which requests may run ahead of the steady rate.
    let tolerance: TimeInterval

    static let unlimited = Rate(requests: 1, per: 0, burst: 1)

    init(requests: Int, per period: TimeInterval, burst: Int) {
        // A century counts as never, and keeps the arithmetic finite.
        interval = period > 0 ? min(period, 3e9) / Double(max(1, requests)) : 0
        tolerance = interval * Double(max(1, burst) - 1)
    }
}

/// A token bucket with a queue of waiters, as a value: first come, first served.
///
/// Instead of a token count, it stores the time at which the steady rate catches up (the generic cell rate algorithm).
/// So tokens need no timer, and every waiter's time is known when it joins. Times are uptimes. It reads no clock and
/// resumes no waiter: its owner acts on the results.
struct RateBucket<Waiter: Sendable>: Sendable {
    struct QueuedWaiter: Sendable {
        let waiter: Waiter
        /// A waiter that is due after this time does not wait.
        let latest: TimeInterval
    }

    private let rate: Rate
    /// The time when the steady rate catches up with the admitted requests.
    private var caughtUp = -TimeInterval.infinity
    /// The server accepts no request before this time.
    private var pausedUntil = -TimeInterval.infinity
    private var queue = WaitQueue<QueuedWaiter>()

    init(_ rate: Rate) {
        self.rate = rate
    }

    var waiterCount: Int { queue.count }
    var hasWaiters: Bool { !queue.isEmpty }

    /// When the first waiter may proceed; nil without waiters.
    func due(now: TimeInterval) -> TimeInterval? {
        queue.isEmpty ? nil : time(after: 0, now: now)
    }

    /// Takes a token at once if there are no waiters and a token is available.
    ///
    /// - Returns: nil, or the time when a new waiter could proceed.
    mutating func enter(now: TimeInterval) -> TimeInterval? {
        let time = time(after: queue.count, now: now)
        guard queue.isEmpty, time <= now + slack(now) else { return time }
        take(now: now)
        return nil
    }

    mutating func join(_ waiter: Waiter, id: UInt64, latest: TimeInterval) {
        queue.append(QueuedWaiter(waiter: waiter, latest: latest), id: id)
    }

    /// Removes a waiter, and later ones move up; nil if there is no such waiter.
    mutating func leave(id: UInt64) -> Waiter? {
        queue.remove(id: id)?.waiter
    }

    /// Removes the waiters that may proceed now, in order; each has its token.
    mutating func admit(now: TimeInterval) -> [Waiter] {
        var admitted: [Waiter] = []
        while !queue.isEmpty, time(after: 0, now: now) <= now + slack(now), let entry = queue.popFirst() {
            take(now: now)
            admitted.append(entry.waiter)
        }
        return admitted
    }

    /// Delays all waiters until a time, or until a later time set before.
    ///
    /// - Returns: the removed waiters, which can no longer proceed in time, each with the time when it would have been
    ///   due.
    mutating func pause(until time: TimeInterval, now: TimeInterval) -> [(waiter: Waiter, due: TimeInterval)] {
        guard time > pausedUntil, time > now else { return [] }
        pausedUntil = time
        var dues: [TimeInterval] = []
        let bucket = self
        let late = queue.removeAll { entry, staying in
            let due = bucket.time(after: staying, now: now)
            guard due > entry.latest else { return false }
            dues.append(due)
            return true
        }
        return zip(late, dues).map { ($0.waiter, $1) }
    }

    /// When a new waiter may proceed, after the given number of others.
    private func time(after others: Int, now: TimeInterval) -> TimeInterval {
        let start = max(now, pausedUntil)
        let pace = max(caughtUp, start) + Double(others) * rate.interval
        return max(start, pace - rate.tolerance)
    }

    /// The rounding error of a sum of many intervals. Without it, the last request of a burst would wait for less than
    /// a clock can measure.
    private func slack(_ now: TimeInterval) -> TimeInterval {
        min(rate.interval / 2, (abs(now) + rate.tolerance + rate.interval) * 1e-11)
    }

    private mutating func take(now: TimeInterval) {
        caughtUp = max(caughtUp, now) + rate.interval
    }
}
