// SPDX-License-Identifier: MIT

import PulseCore

/// Which recoveries run and who waits for each, as a value: at most one at a time under a name.
struct RecoveryState<Waiter: Sendable>: Sendable {
    enum Action: Sendable, Equatable {
        /// A recovery has succeeded since the request was sent.
        case proceed
        /// No run is under way: start one of that number.
        case start(run: UInt64)
        /// A run is under way, of that number.
        case wait(run: UInt64)
    }

    private struct Run: Sendable {
        let number: UInt64
        var waiters = WaitQueue<Waiter>()
    }

    private var runs: [String: Run] = [:]
    /// When the last success under a name came, in ``time``.
    private var successes: LRUCache<String, UInt64>
    /// Counts what happens: a clock that orders sends and successes.
    private(set) var time: UInt64 = 0

    init(maximumNames: Int = 256) {
        successes = LRUCache(capacity: maximumNames)
    }

    var runCount: Int { runs.count }

    func waiterCount(_ name: String) -> Int { runs[name]?.waiters.count ?? 0 }

    /// What a call does whose request was sent at that ``time``.
    mutating func request(_ name: String, sentAt: UInt64) -> Action {
        if let success = successes.peek(name), success > sentAt { return .proceed }
        if let run = runs[name] { return .wait(run: run.number) }
        time += 1
        runs[name] = Run(number: time)
        return .start(run: time)
    }

    /// Waits for the run under way; false if there is none.
    mutating func join(_ name: String, _ waiter: Waiter, id: UInt64) -> Bool {
        runs[name]?.waiters.append(waiter, id: id) != nil
    }

    /// Leaves; nil if nobody of that number waits.
    mutating func leave(_ name: String, id: UInt64) -> Waiter? {
        runs[name]?.waiters.remove(id: id)
    }

    /// Those who waited for a run that goes on without them.
    mutating func leaveAll(_ name: String, run: UInt64) -> [Waiter] {
        guard runs[name]?.number == run else { return [] }
        return runs[name]?.waiters.removeAll() ?? []
    }

    /// Ends a run, whose waiters it returns; none for a run that has ended before.
    mutating func end(_ name: String, run: UInt64, isSuccess: Bool) -> [Waiter] {
        guard runs[name]?.number == run, var ended = runs.removeValue(forKey: name) else { return [] }
        if isSuccess {
            time += 1
            successes.withValue(for: name, default: time) { [time] in $0 = time }
        }
        return ended.waiters.removeAll()
    }
}
