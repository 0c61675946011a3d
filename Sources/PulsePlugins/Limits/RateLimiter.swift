// SPDX-License-Identifier: MIT

import PulseCore

/// The buckets and waiting calls of a ``RateLimitPlugin``: performs what ``RateBucket`` decides.
///
/// One task sleeps for each bucket with waiters, not for each waiter; it ends with its last waiter.
final class RateLimiter: Sendable {
    private typealias Waiter = CheckedContinuation<Void, any Error>

    private struct Entry {
        var bucket: RateBucket<Waiter>
        var timer: Task<Void, Never>?
        /// When the timer fires.
        var wake = TimeInterval.infinity
        /// Distinguishes the current timer from a replaced one.
        var generation: UInt64 = 0
    }

    private struct State {
        var entries: LRUCache<RateLimitPlugin.Key.Value, Entry>
        var nextID: UInt64 = 0
    }

    private enum Arrival {
        case through
        case wait(id: UInt64, seconds: TimeInterval)
        case tooLong(seconds: TimeInterval)
    }

    /// A wait for a token that is not available yet.
    struct PendingWait {
        fileprivate let id: UInt64
        /// When the wait began, in the clock's uptime.
        fileprivate let start: TimeInterval
        /// The latest useful time for a token, in the clock's uptime.
        fileprivate let latest: TimeInterval
    }

    private let rate: Rate
    private let maxWait: TimeInterval
    private let state: Locked<State>

    /// - Parameter maxKeys: the maximum number of buckets; those with waiters are kept beyond it.
    init(_ rate: Rate, maxWait: TimeInterval, maxKeys: Int = 4096) {
        self.rate = rate
        self.maxWait = maxWait
        state = Locked(
            State(entries: LRUCache(capacity: maxKeys) { !$0.bucket.hasWaiters && $0.timer == nil }))
    }

    /// The number of buckets.
    var bucketCount: Int { state.withLock { $0.entries.count } }

    func waiterCount(_ key: RateLimitPlugin.Key.Value) -> Int {
        state.withLock { $0.entries.peek(key)?.bucket.waiterCount ?? 0 }
    }

    // MARK: Taking a token

    /// Takes a token and returns nil if one is available; otherwise returns a wait for ``wait(_:_:for:)``. Throws
    /// ``PulseError/rateLimited(retryAfter:)`` if no token can be available in time.
    func admit(_ key: RateLimitPlugin.Key.Value, for context: PluginContext) throws -> PendingWait? {
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

    /// Waits for a token. Throws ``PulseError/rateLimited(retryAfter:)`` as soon as no token can be available in time,
    /// and `CancellationError`.
    func wait(_ key: RateLimitPlugin.Key.Value, _ pending: PendingWait, for context: PluginContext) async throws {
        do {
            try await wait(key, pending.id, latest: pending.latest, context.clock)
        } catch let error as PulseError {
            // Calls with later deadlines may have joined the shared work since.
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
        min(start + maxWait, context.deadline.map(\.nextDown) ?? .infinity)
    }

    private func arrive(_ key: RateLimitPlugin.Key.Value, now: TimeInterval, latest: TimeInterval) -> Arrival {
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
        _ key: RateLimitPlugin.Key.Value, _ id: UInt64, latest: TimeInterval, _ clock: any PulseClock
    ) async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: Waiter) in
                let now = clock.uptime
                let outcome: Result<Void, any Error>? = state.withLock { state in
                    // A cancellation before the continuation existed found nothing to resume.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    return state.entries.withValue(for: key, default: Entry(bucket: RateBucket(rate))) { entry in
                        // Between the two locks, tokens may have become available, or a pause may have begun.
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

    private func leave(_ key: RateLimitPlugin.Key.Value, _ id: UInt64) {
        let (waiter, timer) = state.withLock { state -> (Waiter?, Task<Void, Never>?) in
            state.entries.withValue(for: key) { entry in (entry.bucket.leave(id: id), disarm(&entry)) } ?? (nil, nil)
        }
        timer?.cancel()
        waiter?.resume(throwing: CancellationError())
    }

    // MARK: Server pauses

    /// Delays all calls under a key for a number of seconds from now. A call that can no longer proceed in time fails
    /// at once.
    func pause(_ key: RateLimitPlugin.Key.Value, for seconds: TimeInterval, _ clock: any PulseClock) {
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

    /// Starts a timer for the first waiter. A timer that fires too early admits no waiter and is set again, which is
    /// cheaper than replacing it at each pause.
    private func arm(_ entry: inout Entry, _ key: RateLimitPlugin.Key.Value, _ clock: any PulseClock, now: TimeInterval)
    {
        guard entry.timer == nil, let due = entry.bucket.due(now: now) else { return }
        entry.generation += 1
        entry.wake = due
        // High priority, regardless of the first call's, since others may follow.
        entry.timer = Task(priority: .userInitiated) { [weak self, generation = entry.generation] in
            try? await clock.sleep(due - clock.uptime, for: .rateLimit)
            self?.wakeUp(key, generation, clock)
        }
    }

    /// The timer to cancel, if there are no waiters left.
    private func disarm(_ entry: inout Entry) -> Task<Void, Never>? {
        guard !entry.bucket.hasWaiters else { return nil }
        defer { entry.timer = nil }
        // A timer that is firing already finds another generation.
        entry.generation += 1
        return entry.timer
    }

    private func wakeUp(_ key: RateLimitPlugin.Key.Value, _ generation: UInt64, _ clock: any PulseClock) {
        let uptime = clock.uptime
        let admitted = state.withLock { state -> [Waiter] in
            state.entries.withValue(for: key) { entry in
                guard entry.generation == generation else { return [] }
                // The timer's waiter is due, even if the clock has a rounding error.
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
