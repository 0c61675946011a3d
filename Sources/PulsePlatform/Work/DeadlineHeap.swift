// SPDX-License-Identifier: MIT

import PulseCore

/// Runs a closure at each deadline, with one sleeping task for all: for the calls of a client, and for the requests
/// that wait for a connection slot of a transport.
///
/// A binary heap, ordered by deadline. The sleeper exists while alarms are pending. An earlier deadline replaces the
/// sleeper. A removed alarm leaves it running: one needless wakeup is cheaper than a task for each call.
///
/// Alarms expire one at a time, the earliest first; two running sleepers would not keep this order. The closures and
/// the clock never run under the lock, since both are a caller's code.
package final class DeadlineHeap: Sendable {
    package final class Alarm: Sendable {
        let deadline: TimeInterval
        let expire: @Sendable () -> Void
        /// Its index in the heap, nil if removed; guarded by the heap's lock.
        fileprivate let index = Locked<Int?>(nil)

        fileprivate init(deadline: TimeInterval, expire: @escaping @Sendable () -> Void) {
            self.deadline = deadline
            self.expire = expire
        }
    }

    private struct State {
        var alarms: [Alarm] = []
        var sleeper: Task<Void, Never>?
        /// The uptime at which the sleeper wakes.
        var wake = TimeInterval.infinity
        /// Whether a task runs due alarms. It checks the heap again before it ends, so no sleeper is needed meanwhile.
        var isExpiring = false
        var generation: UInt64 = 0
    }

    private let clock: any PulseClock
    private let purpose: SleepPurpose
    private let state = Locked(State())

    /// - Parameter purpose: the purpose of the sleeps, for a test's clock.
    package init(clock: any PulseClock, for purpose: SleepPurpose = .deadline) {
        (self.clock, self.purpose) = (clock, purpose)
    }

    deinit {
        state.withLock { $0.sleeper }?.cancel()
    }

    /// Calls `expire` once, at that uptime of the clock or soon after, unless the alarm is removed before. A deadline
    /// in the past expires too, but never within this call.
    package func add(_ deadline: TimeInterval, expire: @escaping @Sendable () -> Void) -> Alarm {
        let alarm = Alarm(deadline: deadline, expire: expire)
        let replaced = state.withLock { state -> Task<Void, Never>? in
            state.alarms.append(alarm)
            alarm.index.withLock { [count = state.alarms.count] in $0 = count - 1 }
            Self.siftUp(&state.alarms, state.alarms.count - 1)
            return wakeInTime(&state)
        }
        replaced?.cancel()
        return alarm
    }

    package func remove(_ alarm: Alarm) {
        state.withLock { state in
            guard let index = alarm.index.withLock({ $0 }) else { return }
            Self.remove(at: index, from: &state.alarms)
        }
    }

    /// For tests: the number of pending alarms.
    package var count: Int { state.withLock { $0.alarms.count } }

    /// Ends the sleeper and removes all alarms; none of them expires.
    package func shutdown() {
        // The alarms are freed outside the lock, since their closures retain a caller's objects.
        let (sleeper, _) = state.withLock { state in
            state.alarms.forEach { $0.index.withLock { $0 = nil } }
            state.generation += 1
            defer {
                state.alarms = []
                state.sleeper = nil
            }
            return (state.sleeper, state.alarms)
        }
        sleeper?.cancel()
    }

    /// Starts a sleeper for the first deadline, unless the current one wakes in time. Returns the replaced sleeper.
    private func wakeInTime(_ state: inout State) -> Task<Void, Never>? {
        guard !state.isExpiring, let first = state.alarms.first?.deadline else { return nil }
        guard state.sleeper == nil || first < state.wake else { return nil }
        let replaced = state.sleeper
        state.generation += 1
        state.wake = first
        // A fixed, high priority, and detached, since the sleeper serves the deadlines of all calls: it must not keep
        // the task-local values of the first one.
        state.sleeper = Task.detached(priority: .userInitiated) {
            [weak self, clock, purpose, generation = state.generation] in
            try? await clock.sleep(first - clock.uptime, for: purpose)
            self?.wakeUp(generation)
        }
        return replaced
    }

    private func wakeUp(_ generation: UInt64) {
        let wake = state.withLock { state -> TimeInterval? in
            guard generation == state.generation else { return nil }
            state.sleeper = nil
            state.isExpiring = true
            return state.wake
        }
        guard let wake else { return }
        // The alarm that the sleeper waited for is due, even if the clock is off by a rounding error.
        var now = max(clock.uptime, wake)
        while let alarm = next(dueBy: now) {
            alarm.expire()
            now = max(now, clock.uptime)
        }
    }

    /// Removes and returns the first alarm if it is due by then. Otherwise ends the run of due alarms.
    private func next(dueBy now: TimeInterval) -> Alarm? {
        state.withLock { state in
            if let first = state.alarms.first, first.deadline <= now {
                Self.remove(at: 0, from: &state.alarms)
                return first
            }
            state.isExpiring = false
            _ = wakeInTime(&state)
            return nil
        }
    }

    // MARK: The heap

    private static func remove(at index: Int, from alarms: inout [Alarm]) {
        alarms[index].index.withLock { $0 = nil }
        let last = alarms.removeLast()
        guard index < alarms.count else { return }
        place(last, at: index, in: &alarms)
        siftUp(&alarms, index)
        siftDown(&alarms, index)
    }

    private static func place(_ alarm: Alarm, at index: Int, in alarms: inout [Alarm]) {
        alarms[index] = alarm
        alarm.index.withLock { $0 = index }
    }

    private static func siftUp(_ alarms: inout [Alarm], _ start: Int) {
        var index = start
        while index > 0, alarms[index].deadline < alarms[(index - 1) / 2].deadline {
            swap(&alarms, index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private static func siftDown(_ alarms: inout [Alarm], _ start: Int) {
        var index = start
        while true {
            let children = [2 * index + 1, 2 * index + 2].filter { $0 < alarms.count }
            guard let least = children.min(by: { alarms[$0].deadline < alarms[$1].deadline }),
                alarms[least].deadline < alarms[index].deadline
            else { return }
            swap(&alarms, index, least)
            index = least
        }
    }

    private static func swap(_ alarms: inout [Alarm], _ first: Int, _ second: Int) {
        let alarm = alarms[first]
        place(alarms[second], at: first, in: &alarms)
        place(alarm, at: second, in: &alarms)
    }
}
