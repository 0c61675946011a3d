// SPDX-License-Identifier: MIT

import PulseCore

/// Runs a closure at the deadline of each call, with one sleeping task for all calls of a client.
///
/// A binary heap by deadline. The sleeper lives while there is something to wait for; it is replaced when an earlier
/// deadline comes, and outlives a later one that goes, since waking once for nothing is cheaper than a task for each
/// call. One alarm strikes at a time, the earliest first: two sleepers at work would strike in either order. Neither a
/// strike nor the clock runs under the lock, since both are foreign code.
final class DeadlineHeap: Sendable {
    final class Alarm: Sendable {
        let deadline: TimeInterval
        let strike: @Sendable () -> Void
        /// Its place in the heap, nil outside; guarded by the heap's lock.
        fileprivate let index = Locked<Int?>(nil)

        fileprivate init(deadline: TimeInterval, strike: @escaping @Sendable () -> Void) {
            self.deadline = deadline
            self.strike = strike
        }
    }

    private struct State {
        var alarms: [Alarm] = []
        var sleeper: Task<Void, Never>?
        /// When the sleeper wakes.
        var wake = TimeInterval.infinity
        /// Whether a task is striking. It looks at the alarms again before it ends, so that no sleeper is needed.
        var isStriking = false
        var generation: UInt64 = 0
    }

    private let clock: any PulseClock
    private let state = Locked(State())

    init(clock: any PulseClock) {
        self.clock = clock
    }

    deinit {
        state.withLock { $0.sleeper }?.cancel()
    }

    /// Calls `strike` once, at that uptime of the clock or soon after, unless it is removed before. A deadline that has
    /// passed strikes too, and never within this call.
    func add(_ deadline: TimeInterval, strike: @escaping @Sendable () -> Void) -> Alarm {
        let alarm = Alarm(deadline: deadline, strike: strike)
        let replaced = state.withLock { state -> Task<Void, Never>? in
            state.alarms.append(alarm)
            alarm.index.withLock { [count = state.alarms.count] in $0 = count - 1 }
            Self.siftUp(&state.alarms, state.alarms.count - 1)
            return wakeInTime(&state)
        }
        replaced?.cancel()
        return alarm
    }

    func remove(_ alarm: Alarm) {
        state.withLock { state in
            guard let index = alarm.index.withLock({ $0 }) else { return }
            Self.remove(at: index, from: &state.alarms)
        }
    }

    /// Ends the sleeper; nothing strikes any more.
    func shutdown() {
        // The alarms are freed outside the lock, since their closures hold foreign objects.
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

    /// Makes a sleeper that wakes at the first deadline, unless there is one; gives the sleeper that it replaces.
    private func wakeInTime(_ state: inout State) -> Task<Void, Never>? {
        guard !state.isStriking, let first = state.alarms.first?.deadline else { return nil }
        guard state.sleeper == nil || first < state.wake else { return nil }
        let replaced = state.sleeper
        state.generation += 1
        state.wake = first
        // Urgent whoever set the first deadline: it is that of others, too.
        state.sleeper = Task(priority: .userInitiated) { [weak self, clock, generation = state.generation] in
            try? await clock.sleep(first - clock.uptime, for: .deadline)
            self?.wakeUp(generation)
        }
        return replaced
    }

    private func wakeUp(_ generation: UInt64) {
        let wake = state.withLock { state -> TimeInterval? in
            guard generation == state.generation else { return nil }
            state.sleeper = nil
            state.isStriking = true
            return state.wake
        }
        guard let wake else { return }
        // What the sleeper waited for is due, even if the clock is off by a rounding error.
        var now = max(clock.uptime, wake)
        while let alarm = next(dueBy: now) {
            alarm.strike()
            now = max(now, clock.uptime)
        }
    }

    /// Takes the first alarm out of the heap if it is due by then; without one the striking is over.
    private func next(dueBy now: TimeInterval) -> Alarm? {
        state.withLock { state in
            if let first = state.alarms.first, first.deadline <= now {
                Self.remove(at: 0, from: &state.alarms)
                return first
            }
            state.isStriking = false
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
