// SPDX-License-Identifier: MIT

import PulseCore

/// The running recoveries and their waiters, as a value: at most one recovery at a time under a name.
struct RecoveryState<Waiter: Sendable>: Sendable {
    enum Action: Sendable, Equatable {
        /// A recovery has succeeded since the request was sent.
        case proceed
        /// No run is in progress: start one with this number.
        case start(run: UInt64)
        /// The run with this number is in progress.
        case wait(run: UInt64)
    }

    private struct Run: Sendable {
        let number: UInt64
        var waiters = WaitQueue<Waiter>()
    }

    private var runs: [String: Run] = [:]
    /// The ``time`` of the last success under each name.
    private var successes: LRUCache<String, UInt64>
    /// A logical clock that orders sends and successes.
    private(set) var time: UInt64 = 0

    init(maxNames: Int = 256) {
        successes = LRUCache(capacity: maxNames)
    }

    var runCount: Int { runs.count }

    func waiterCount(_ name: String) -> Int { runs[name]?.waiters.count ?? 0 }

    /// The action for a call whose request was sent at this ``time``.
    mutating func request(_ name: String, sentAt: UInt64) -> Action {
        if let success = successes.peek(name), success > sentAt { return .proceed }
        if let run = runs[name] { return .wait(run: run.number) }
        time += 1
        runs[name] = Run(number: time)
        return .start(run: time)
    }

    /// Adds a waiter to the current run; false if there is none.
    mutating func join(_ name: String, _ waiter: Waiter, id: UInt64) -> Bool {
        runs[name]?.waiters.append(waiter, id: id) != nil
    }

    /// Removes a waiter; nil if there is no such waiter.
    mutating func leave(_ name: String, id: UInt64) -> Waiter? {
        runs[name]?.waiters.remove(id: id)
    }

    /// Removes all waiters of a run that continues without them.
    mutating func leaveAll(_ name: String, run: UInt64) -> [Waiter] {
        guard runs[name]?.number == run else { return [] }
        return runs[name]?.waiters.removeAll() ?? []
    }

    /// Ends a run and returns its waiters; none for a run that has already ended.
    mutating func end(_ name: String, run: UInt64, isSuccess: Bool) -> [Waiter] {
        guard runs[name]?.number == run, var ended = runs.removeValue(forKey: name) else { return [] }
        if isSuccess {
            time += 1
            successes.withValue(for: name, default: time) { [time] in $0 = time }
        }
        return ended.waiters.removeAll()
    }
}
