// SPDX-License-Identifier: MIT

import PulseCore

/// How often something may happen: once every `interval` seconds, `burst` times at once after a rest.
struct Rate: Sendable, Hashable {
    /// 0 for no limit.
    let interval: TimeInterval
    /// Seconds by which requests may run ahead of the even pace.
    let tolerance: TimeInterval

    static let unlimited = Rate(requests: 1, per: 0, burst: 1)

    init(requests: Int, per period: TimeInterval, burst: Int) {
        // A century is as good as never, and keeps the arithmetic finite.
        interval = period > 0 ? min(period, 3e9) / Double(max(1, requests)) : 0
        tolerance = interval * Double(max(1, burst) - 1)
    }
}

/// A token bucket as a value, with those who wait for a token: first come, first served.
///
/// It keeps no count of tokens, but the time at which the even pace catches up (the generic cell rate algorithm): so
/// tokens need no timer, and every waiter's time is known when it joins. Times are uptimes. It reads no clock and
/// resumes nobody: its owner acts upon what it returns.
struct RateBucket<Waiter: Sendable>: Sendable {
    struct QueuedWaiter: Sendable {
        let waiter: Waiter
        /// A waiter that cannot go by then does not wait.
        let latest: TimeInterval
    }

    private let rate: Rate
    /// When the even pace has caught up with what went through.
    private var caughtUp = -TimeInterval.infinity
    /// The server wants no request before this time.
    private var pausedUntil = -TimeInterval.infinity
    private var queue = WaitQueue<QueuedWaiter>()

    init(_ rate: Rate) {
        self.rate = rate
    }

    var waiterCount: Int { queue.count }
    var hasWaiters: Bool { !queue.isEmpty }

    /// When the first in line may go; nil if nobody waits.
    func due(now: TimeInterval) -> TimeInterval? {
        queue.isEmpty ? nil : time(after: 0, now: now)
    }

    /// Goes through at once if nobody waits and there is a token.
    ///
    /// - Returns: nil, or when a newcomer could go if it joined the line.
    mutating func enter(now: TimeInterval) -> TimeInterval? {
        let time = time(after: queue.count, now: now)
        guard queue.isEmpty, time <= now + slack(now) else { return time }
        take(now: now)
        return nil
    }

    mutating func join(_ waiter: Waiter, id: UInt64, latest: TimeInterval) {
        queue.append(QueuedWaiter(waiter: waiter, latest: latest), id: id)
    }

    /// Leaves the line, and those behind move up; nil if nobody of that number is in it.
    mutating func leave(id: UInt64) -> Waiter? {
        queue.remove(id: id)?.waiter
    }

    /// Those who may go now, in their order; each has its token.
    mutating func admit(now: TimeInterval) -> [Waiter] {
        var admitted: [Waiter] = []
        while !queue.isEmpty, time(after: 0, now: now) <= now + slack(now), let entry = queue.popFirst() {
            take(now: now)
            admitted.append(entry.waiter)
        }
        return admitted
    }

    /// Holds everybody until a time, or longer if somebody has said so before.
    ///
    /// - Returns: those who cannot go in time any more, each with when it could have gone. They have left.
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

    /// When a newcomer may go that has that many others before it.
    private func time(after others: Int, now: TimeInterval) -> TimeInterval {
        let start = max(now, pausedUntil)
        let pace = max(caughtUp, start) + Double(others) * rate.interval
        return max(start, pace - rate.tolerance)
    }

    /// What the sum of many intervals may be off by: else the last of a burst would wait for less than a clock tells.
    private func slack(_ now: TimeInterval) -> TimeInterval {
        min(rate.interval / 2, (abs(now) + rate.tolerance + rate.interval) * 1e-11)
    }

    private mutating func take(now: TimeInterval) {
        caughtUp = max(caughtUp, now) + rate.interval
    }
}
