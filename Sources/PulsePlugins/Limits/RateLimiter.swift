// SPDX-License-Identifier: MIT

import PulseCore

/// The buckets of a ``RateLimitPlugin`` and the calls that wait: does what ``RateBucket`` decides.
///
/// One task sleeps for each bucket that is waited for, none for a waiter; it ends with its last waiter.
final class RateLimiter: Sendable {
    private typealias Waiter = CheckedContinuation<Void, any Error>

    private struct Entry {
        var bucket: RateBucket<Waiter>
        var timer: Task<Void, Never>?
        /// When the timer wakes.
        var wake = TimeInterval.infinity
        /// Tells a timer that was replaced from the present one.
        var generation: UInt64 = 0
    }

    private struct State {
        var entries: LRUCache<LimitKey.Value, Entry>
        var nextID: UInt64 = 0
    }

    private enum Arrival {
        case through
        case wait(id: UInt64, seconds: TimeInterval)
        case tooLong(seconds: TimeInterval)
    }

    /// A place in the line for a token that is not there yet.
    struct PendingWait {
        fileprivate let id: UInt64
        /// Since when the call waits, in the clock's uptime.
        fileprivate let start: TimeInterval
        /// Until when a token is of use, in the clock's uptime.
        fileprivate let latest: TimeInterval
    }

    private let rate: Rate
    private let maximumWait: TimeInterval
    private let state: Locked<State>

    /// - Parameter maximumKeys: kept at the same time; a bucket that is waited for stays beyond that.
    init(_ rate: Rate, maximumWait: TimeInterval, maximumKeys: Int = 4096) {
        self.rate = rate
        self.maximumWait = maximumWait
        state = Locked(
            State(entries: LRUCache(capacity: maximumKeys) { !$0.bucket.hasWaiters && $0.timer == nil }))
    }

    /// How many buckets are kept.
    var bucketCount: Int { state.withLock { $0.entries.count } }

    func waiterCount(_ key: LimitKey.Value) -> Int {
        state.withLock { $0.entries.peek(key)?.bucket.waiterCount ?? 0 }
    }

    // MARK: Going through

    /// Takes a token and gives nil if there is one; else gives a place to ``wait(_:in:for:)`` in. Throws
    /// ``PulseError/rateLimited(retryAfter:)`` if it is known that there will be none in time.
    func admit(_ key: LimitKey.Value, for context: PluginContext) throws -> PendingWait? {
        let now = context.clock.uptime
        let latest = latest(for: context, since: now)
        switch arrive(key, now: now, latest: latest) {
        case .through:
            return nil
        case .tooLong(let seconds):
            context.emit(.rateLimited(context.summary, retryAfter: seconds))
            throw PulseError.rateLimited(retryAfter: seconds)
        case .wait(let id, let seconds):
            context.emit(.rateLimited(context.summary, retryAfter: seconds))
            return PendingWait(id: id, start: now, latest: latest)
        }
    }

    /// Waits for a token. Throws ``PulseError/rateLimited(retryAfter:)`` as soon as it is known that there will be none
    /// in time, and `CancellationError`.
    func wait(_ key: LimitKey.Value, _ pending: PendingWait, for context: PluginContext) async throws {
        do {
            try await wait(key, pending.id, latest: pending.latest, context.clock, context.call.cancellation)
        } catch let error as PulseError {
            // Calls that share the work may have joined since, which wait longer.
            let latest = latest(for: context, since: pending.start)
            guard latest > pending.latest else { throw error }
            switch arrive(key, now: context.clock.uptime, latest: latest) {
            case .through: return
            case .tooLong(let seconds): throw PulseError.rateLimited(retryAfter: seconds)
            case .wait(let id, _):
                try await wait(key, PendingWait(id: id, start: pending.start, latest: latest), for: context)
            }
        }
    }

    private func latest(for context: PluginContext, since start: TimeInterval) -> TimeInterval {
        min(start + maximumWait, context.deadline.map(\.nextDown) ?? .infinity)
    }

    private func arrive(_ key: LimitKey.Value, now: TimeInterval, latest: TimeInterval) -> Arrival {
        state.withLock { state in
            let due = state.entries.withValue(for: key, default: Entry(bucket: RateBucket(rate))) { entry in
                entry.bucket.enter(now: now)
            }
            guard let due else { return .through }
            guard due <= latest else { return .tooLong(seconds: due - now) }
            state.nextID += 1
            return .wait(id: state.nextID, seconds: due - now)
        }
    }

    private func wait(
        _ key: LimitKey.Value, _ id: UInt64, latest: TimeInterval, _ clock: any PulseClock,
        _ cancellation: Cancellation?
    ) async throws {
        try await withCancellation(cancellation) {
            try await withCheckedThrowingContinuation { (continuation: Waiter) in
                let now = clock.uptime
                let outcome: Result<Void, any Error>? = state.withLock { state in
                    // A cancellation before the continuation was there found nothing to resume.
                    if Task.isCancelled || cancellation?.isCancelled == true { return .failure(CancellationError()) }
                    return state.entries.withValue(for: key, default: Entry(bucket: RateBucket(rate))) { entry in
                        // Between the two locks tokens may have come, or a pause.
                        guard let due = entry.bucket.enter(now: now) else { return .success(()) }
                        guard due <= latest else { return .failure(PulseError.rateLimited(retryAfter: due - now)) }
                        entry.bucket.join(continuation, id: id, latest: latest)
                        arm(&entry, key, clock, now: now)
                        return nil
                    }
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            self.leave(key, id)
        }
    }

    private func leave(_ key: LimitKey.Value, _ id: UInt64) {
        let (waiter, timer) = state.withLock { state -> (Waiter?, Task<Void, Never>?) in
            state.entries.withValue(for: key) { entry in (entry.bucket.leave(id: id), disarm(&entry)) } ?? (nil, nil)
        }
        timer?.cancel()
        waiter?.resume(throwing: CancellationError())
    }

    // MARK: What the server says

    /// Holds all calls under a key for so many seconds from now. A call that can no longer go in time fails at once.
    func pause(_ key: LimitKey.Value, for seconds: TimeInterval, _ clock: any PulseClock) {
        let now = clock.uptime
        let (late, timer) = state.withLock { state in
            state.entries.withValue(for: key, default: Entry(bucket: RateBucket(rate))) { entry in
                (entry.bucket.pause(until: now + seconds, now: now), disarm(&entry))
            }
        }
        timer?.cancel()
        for (waiter, due) in late {
            waiter.resume(throwing: PulseError.rateLimited(retryAfter: due - now))
        }
    }

    // MARK: The timer

    /// Sets a timer for when the first in line may go. One that is too early finds nobody due and is set again, which
    /// is cheaper than replacing it at each pause.
    private func arm(_ entry: inout Entry, _ key: LimitKey.Value, _ clock: any PulseClock, now: TimeInterval) {
        guard entry.timer == nil, let due = entry.bucket.due(now: now) else { return }
        entry.generation += 1
        entry.wake = due
        // Urgent whoever is first in line: others may follow.
        entry.timer = Task(priority: .userInitiated) { [weak self, generation = entry.generation] in
            try? await clock.sleep(due - clock.uptime, for: .rateLimit)
            self?.wakeUp(key, generation, clock)
        }
    }

    /// The timer that is to be cancelled since nobody waits any more.
    private func disarm(_ entry: inout Entry) -> Task<Void, Never>? {
        guard !entry.bucket.hasWaiters else { return nil }
        defer { entry.timer = nil }
        // A wake-up that has begun finds another generation.
        entry.generation += 1
        return entry.timer
    }

    private func wakeUp(_ key: LimitKey.Value, _ generation: UInt64, _ clock: any PulseClock) {
        let uptime = clock.uptime
        let admitted = state.withLock { state -> [Waiter] in
            state.entries.withValue(for: key) { entry in
                guard entry.generation == generation else { return [] }
                // What the timer waited for is due, even if the clock is off by a rounding error.
                let now = max(uptime, entry.wake)
                let admitted = entry.bucket.admit(now: now)
                entry.timer = nil
                arm(&entry, key, clock, now: now)
                return admitted
            } ?? []
        }
        admitted.forEach { $0.resume() }
    }
}
