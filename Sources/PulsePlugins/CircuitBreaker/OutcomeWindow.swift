// SPDX-License-Identifier: MIT

import PulseCore

/// The latest outcomes of a circuit in a ring buffer, with their totals.
struct OutcomeWindow: Sendable {
    private struct Outcome {
        let time: TimeInterval
        let isFailure: Bool
        let isSlow: Bool
    }

    private let policy: CircuitBreakerPlugin.Policy.RateWindow
    private let capacity: Int
    private var outcomes: [Outcome] = []
    /// The index of the oldest outcome, and the number of outcomes.
    private var first = 0
    private var count = 0
    private var failures = 0
    private var slowCalls = 0

    init(_ policy: CircuitBreakerPlugin.Policy.RateWindow) {
        self.policy = policy
        capacity = max(1, min(policy.calls, 10_000))
    }

    /// Whether too many calls have failed or were slow.
    var trips: Bool {
        guard count >= max(1, min(policy.minimumCalls, capacity)) else { return false }
        return Double(failures) / Double(count) >= policy.failureRate
            || policy.slowCallDuration != nil && Double(slowCalls) / Double(count) >= policy.slowCallRate
    }

    mutating func add(isFailure: Bool, isSlow: Bool, at now: TimeInterval) {
        while count > 0, count == capacity || now - outcomes[first].time >= policy.duration { dropFirst() }
        let outcome = Outcome(time: now, isFailure: isFailure, isSlow: isSlow)
        if count == outcomes.count { grow(by: outcome) }
        outcomes[(first + count) % outcomes.count] = outcome
        count += 1
        if isFailure { failures += 1 }
        if isSlow { slowCalls += 1 }
    }

    /// Doubles the slots, up to the capacity: most circuits see few calls.
    private mutating func grow(by filler: Outcome) {
        let slots = min(capacity, max(8, 2 * count))
        outcomes = (0..<count).map { outcomes[(first + $0) % count] }
        outcomes += repeatElement(filler, count: slots - count)
        first = 0
    }

    private mutating func dropFirst() {
        let dropped = outcomes[first]
        first = (first + 1) % outcomes.count
        count -= 1
        if dropped.isFailure { failures -= 1 }
        if dropped.isSlow { slowCalls -= 1 }
    }
}
