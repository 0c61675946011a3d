// SPDX-License-Identifier: MIT

import PulseCore

/// One circuit: decides from the results of earlier calls which calls may pass. A value, with its transitions in
/// `CircuitBreaker+StateMachine.swift`. Times are the clock's uptime, passed in by the caller.
struct CircuitBreaker: Sendable {
    enum State: Sendable, Equatable {
        /// Every call passes and is counted.
        case closed
        /// No call passes until this time.
        case open(until: TimeInterval)
        /// A few probes pass, and their outcomes decide.
        case halfOpen
        /// No call passes until the circuit is reset.
        case isolated
    }

    /// Identifies an admitted call when its verdict is settled. It is valid only while the circuit is in the state that
    /// issued it.
    struct Permit: Sendable, Equatable {
        fileprivate(set) var epoch: UInt64
        fileprivate(set) var generation: UInt64
        /// The probe's number; nil unless the circuit was half-open.
        fileprivate(set) var probe: UInt64?
    }

    enum Admission: Sendable, Equatable {
        case admitted(Permit)
        /// The next call may pass after this many seconds, at the earliest.
        case refused(retryAfter: TimeInterval)
    }

    /// The result of an admitted call, as far as it concerns the host.
    enum Verdict: Sendable, Equatable {
        case success(isSlow: Bool)
        case failure(retryAfter: TimeInterval?)
        /// Cancelled, offline, never sent, or a failure of other work: the permit is returned and nothing is counted.
        case ignored
    }

    enum Change: Sendable, Equatable {
        case opened, halfOpened, closed
    }

    struct Probe: Sendable {
        let number: UInt64
        let start: TimeInterval
    }

    let policy: CircuitBreakerPlugin.Policy
    /// Distinguishes this circuit from a dropped one with the same key.
    let epoch: UInt64

    var state = State.closed
    /// The number of the current state, incremented with each change.
    var generation: UInt64 = 0

    /// While closed: the failures since the last success, and the latest outcomes.
    var failures = 0
    var window: OutcomeWindow?

    /// While half-open: the unsettled probes, and the verdicts.
    var probes: [Probe] = []
    var goodProbes = 0
    var badProbes = 0
    var lastProbe: UInt64 = 0

    /// How often the circuit has opened since it was last closed.
    var openings = 0

    init(_ policy: CircuitBreakerPlugin.Policy, epoch: UInt64) {
        self.policy = policy
        self.epoch = epoch
        window = Self.window(policy)
    }

    static func window(_ policy: CircuitBreakerPlugin.Policy) -> OutcomeWindow? {
        if case .rate(let window) = policy.trip { OutcomeWindow(window) } else { nil }
    }

    func permit(probe: UInt64? = nil) -> Permit {
        Permit(epoch: epoch, generation: generation, probe: probe)
    }

    func isCurrent(_ permit: Permit) -> Bool {
        permit.epoch == epoch && permit.generation == generation
    }
}
