// SPDX-License-Identifier: MIT

import PulseCore

/// A clock that stands still until a test advances it.
///
/// ```swift
/// let clock = TestClock()
/// let call = Task { try await client.request(GetUsers()) }     // the first attempt fails
/// await clock.sleepers(atLeast: 1)                             // the retry loop waits
/// await clock.advance(by: 0.25)                                // and retries, without real time
/// #expect(clock.sleeps == [0.25])
/// ```
///
/// Each wait has a purpose, see `SleepPurpose`. The properties and functions about waits omit those that only limit
/// other work, such as call deadlines, unless a purpose is given: `sleepers(atLeast: 1, for: .deadline)`.
///
/// Safe from any thread; ``advance(by:)`` is for one task at a time.
public final class TestClock: PulseClock {
    /// A requested wait.
    public struct Sleep: Sendable, Hashable {
        /// The duration in seconds.
        public let seconds: TimeInterval
        /// The purpose.
        public let purpose: SleepPurpose
    }

    private struct Sleeper {
        let due: TimeInterval
        let purpose: SleepPurpose
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct Watcher {
        let count: Int
        let purpose: SleepPurpose?
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var wallAtStart: Date
        var uptime: TimeInterval
        var autoAdvances: Bool
        var sleeps: [Sleep] = []
        var sleepers: [Int: Sleeper] = [:]
        var watchers: [Int: Watcher] = [:]
        var nextID = 0
        /// The number of changes by sleepers, to detect when they have settled.
        var changes = 0
        /// Sleepers that were woken and are not running yet.
        var wakening = 0

        mutating func takeID() -> Int {
            nextID += 1
            return nextID
        }

        mutating func takeSatisfiedWatchers() -> [CheckedContinuation<Void, Never>] {
            let satisfied = watchers.filter { $0.value.count <= count(of: $0.value.purpose) }
            satisfied.keys.forEach { watchers[$0] = nil }
            return satisfied.values.map(\.continuation)
        }

        /// The number of sleepers for a purpose; for nil, of all that are not limits.
        func count(of purpose: SleepPurpose?) -> Int {
            sleepers.values.count { purpose.includes($0.purpose) }
        }

        /// Removes the sleeper that is due first, no later than `limit`; the earliest registered among equals.
        mutating func takeNextSleeper(dueBy limit: TimeInterval) -> Sleeper? {
            let next = sleepers.min { ($0.value.due, $0.key) < ($1.value.due, $1.key) }
            // A sum of steps differs from the total by some bits.
            guard let next, next.value.due <= limit + 1e-9 * max(1, limit.magnitude) else { return nil }
            sleepers[next.key] = nil
            wakening += 1
            return next.value
        }
    }

    private let state: Locked<State>

    /// Creates a clock that stands still at the given time.
    ///
    /// - Parameter now: the wall clock at the start; 1 January 2026, 00:00 UTC by default.
    /// - Parameter uptime: the monotonic clock at the start, in seconds; 0 by default.
    /// - Parameter autoAdvances: see ``autoAdvances``; false by default.
    public init(
        now: Date = Date(timeIntervalSince1970: 1_767_225_600), uptime: TimeInterval = 0, autoAdvances: Bool = false
    ) {
        state = Locked(
            State(wallAtStart: now.addingTimeInterval(-uptime), uptime: uptime, autoAdvances: autoAdvances))
    }

    public var now: Date {
        state.withLock { $0.wallAtStart.addingTimeInterval($0.uptime) }
    }

    public var uptime: TimeInterval {
        state.withLock { $0.uptime }
    }

    /// True: a test advances the clock.
    public var isVirtual: Bool { true }

    /// Every requested wait, in seconds and in order, including cancelled and current ones. Deadlines and other limits
    /// are omitted.
    public var sleeps: [TimeInterval] { times(of: nil) }

    /// The waits for a purpose, as in ``sleeps``.
    public func sleeps(for purpose: SleepPurpose) -> [TimeInterval] { times(of: purpose) }

    /// Every requested wait, deadlines and other limits included, in order and with its purpose.
    public var allSleeps: [Sleep] { state.withLock { $0.sleeps } }

    /// The number of tasks that sleep now. Deadlines and other limits are omitted.
    public var sleeperCount: Int { state.withLock { $0.count(of: nil) } }

    /// The number of tasks that sleep now for a purpose.
    public func sleeperCount(for purpose: SleepPurpose) -> Int { state.withLock { $0.count(of: purpose) } }

    private func times(of purpose: SleepPurpose?) -> [TimeInterval] {
        allSleeps.filter { purpose.includes($0.purpose) }.map(\.seconds)
    }

    /// Whether a sleep advances time by its duration and returns at once: for code with consecutive waits. Earlier
    /// sleepers that are due wake up. Deadlines and other limits, which run alongside other work, do not advance time:
    /// they expire when the waits of that work reach them. An infinite sleep still sleeps.
    public var autoAdvances: Bool {
        get { state.withLock { $0.autoAdvances } }
        set { state.withLock { $0.autoAdvances = newValue } }
    }

    public func sleep(_ seconds: TimeInterval) async throws {
        try await sleep(seconds, for: .other)
    }

    public func sleep(_ seconds: TimeInterval, for purpose: SleepPurpose) async throws {
        try Task.checkCancellation()
        let (id, due, passed) = state.withLock { state -> (Int, TimeInterval?, [Sleeper]) in
            state.sleeps.append(Sleep(seconds: seconds, purpose: purpose))
            state.changes += 1
            let due = state.uptime + seconds
            guard seconds > 0 else { return (0, nil, []) }
            guard state.autoAdvances, !purpose.isLimit, due.isFinite else { return (state.takeID(), due, []) }
            state.uptime = due
            var passed: [Sleeper] = []
            while let sleeper = state.takeNextSleeper(dueBy: due) { passed.append(sleeper) }
            return (0, nil, passed)
        }
        passed.forEach { $0.continuation.resume() }
        guard let due else { return await Task.yield() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let woken = state.withLock { state -> [CheckedContinuation<Void, Never>]? in
                    // Cancelled before this line: the handler below found nothing to wake.
                    if Task.isCancelled { return nil }
                    state.sleepers[id] = Sleeper(due: due, purpose: purpose, continuation: continuation)
                    state.changes += 1
                    return state.takeSatisfiedWatchers()
                }
                guard let woken else { return continuation.resume(throwing: CancellationError()) }
                woken.forEach { $0.resume() }
            }
            state.withLock { state in
                state.wakening -= 1
                state.changes += 1
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                state.changes += 1
                return state.sleepers.removeValue(forKey: id)
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Advances both clocks, in seconds. Wakes the sleepers that become due, in order, each at exactly its time, and
    /// lets each run up to its next sleep before time advances further. Sleeps that begin meanwhile and end within this
    /// time are woken as well.
    ///
    /// The clock waits for the work of a woken task only if it runs on Swift's cooperative threads, without blocking
    /// for more than a few milliseconds. If it waits for a socket, a file or a lock, use ``sleepers(atLeast:)`` or wait
    /// for its result. A negative number or NaN has no effect.
    public func advance(by seconds: TimeInterval) async {
        await settle()
        let target = uptime + (seconds > 0 ? seconds : 0)
        while true {
            let sleeper = state.withLock { state in
                let next = state.takeNextSleeper(dueBy: target)
                // It is already due if it registered late, after time had advanced.
                if let next { state.uptime = max(state.uptime, next.due) }
                return next
            }
            guard let sleeper else { break }
            sleeper.continuation.resume()
            await settle()
        }
        state.withLock { $0.uptime = max($0.uptime, target) }
        await settle()
    }

    /// Suspends until `count` tasks sleep at the same time, or the calling task is cancelled. Deadlines and other
    /// limits are omitted.
    public func sleepers(atLeast count: Int) async {
        await sleepers(atLeast: count, purpose: nil)
    }

    /// Suspends until `count` tasks sleep for a purpose at the same time, or the calling task is cancelled.
    public func sleepers(atLeast count: Int, for purpose: SleepPurpose) async {
        await sleepers(atLeast: count, purpose: purpose)
    }

    private func sleepers(atLeast count: Int, purpose: SleepPurpose?) async {
        let id = state.withLock { $0.takeID() }
        await state.suspend(if: { $0.count(of: purpose) < count }) {
            $0.watchers[id] = Watcher(count: count, purpose: purpose, continuation: $1)
        } onCancel: {
            $0.watchers.removeValue(forKey: id)?.continuation
        }
    }

    /// Sets the wall clock, forward or back, like a user or a time server. ``uptime`` and sleepers do not change.
    public func setWallClock(to date: Date) {
        state.withLock { $0.wallAtStart = date.addingTimeInterval(-$0.uptime) }
    }

    /// Shifts only the wall clock, in seconds; a negative number shifts it back.
    public func shiftWallClock(by seconds: TimeInterval) {
        state.withLock { $0.wallAtStart = $0.wallAtStart.addingTimeInterval(seconds) }
    }

    /// Waits until woken tasks run, then lets tasks run until none has slept or woken for a while. Each round yields to
    /// all runnable tasks, so that tasks of low priority, which a busy machine rarely runs, run too.
    private func settle() async {
        var seen = changes
        var patience = 20
        repeat {
            seen = changes
            for priority in Self.rounds where !Task.isCancelled {
                await Task.detached(priority: priority) { await Task.yield() }.value
            }
            // The thread of a woken task may still compute or be preempted by another process. Other tests that run in
            // parallel look the same: hence the bound.
            while patience > 0, changes == seen, ThreadStates.isAnotherRunnable, !Task.isCancelled {
                patience -= 1
                try? await Task.sleep(nanoseconds: 1_000_000)
            }
        } while (changes != seen || isWakening) && !Task.isCancelled
    }

    private static let rounds =
        [TaskPriority](repeating: .userInitiated, count: 20).flatMap { [$0, .medium, .medium] } + [
            .background, .background,
        ]

    private var changes: Int { state.withLock { $0.changes } }

    private var isWakening: Bool { state.withLock { $0.wakening > 0 } }
}

extension SleepPurpose? {
    /// Whether a wait has the requested purpose; nil includes all waits that are not limits.
    fileprivate func includes(_ purpose: SleepPurpose) -> Bool {
        map { $0 == purpose } ?? !purpose.isLimit
    }
}
