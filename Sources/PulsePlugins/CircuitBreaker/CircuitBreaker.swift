// SPDX-License-Identifier: MIT

import PulseCore

/// One circuit: which calls may pass, by what became of those before. A value, whose transitions are in
/// `CircuitBreaker+StateMachine.swift`; times come in, in the clock's uptime.
struct CircuitBreaker: Sendable {
    enum State: Sendable, Equatable {
        /// Every call passes, and counts.
        case closed
        /// No call passes until then.
        case open(until: TimeInterval)
        /// A few probes pass, whose outcomes decide.
        case halfOpen
        /// No call passes until somebody resets the circuit.
        case isolated
    }

    /// What an admitted call brings back with its verdict. It counts only while the circuit is in the state that gave
    /// it.
    struct Permit: Sendable, Equatable {
        fileprivate(set) var epoch: UInt64
        fileprivate(set) var generation: UInt64
        /// The probe's number; nil unless the circuit was half-open.
        fileprivate(set) var probe: UInt64?
    }

    enum Admission: Sendable, Equatable {
        case admitted(Permit)
        /// The next call may pass in that many seconds, at the earliest.
        case refused(retryAfter: TimeInterval)
    }

    /// What an admitted call says of the host.
    enum Verdict: Sendable, Equatable {
        case success(isSlow: Bool)
        case failure(retryAfter: TimeInterval?)
        /// Cancelled, offline, never sent, or a failure of other work: it gives back its permit and counts nowhere.
        case ignored
    }

    enum Change: Sendable, Equatable {
        case opened, halfOpened, closed
    }

    struct Probe: Sendable {
        let number: UInt64
        let start: TimeInterval
    }

    let policy: CircuitBreakerPolicy
    /// Tells this circuit from an earlier one under the same key that was dropped.
    let epoch: UInt64

    var state = State.closed
    /// The number of the state: one more with each change.
    var generation: UInt64 = 0

    /// While closed: failures since the last success, and the latest outcomes.
    var failures = 0
    var window: OutcomeWindow?

    /// While half-open: the probes that have no verdict yet, and the verdicts.
    var probes: [Probe] = []
    var goodProbes = 0
    var badProbes = 0
    var lastProbe: UInt64 = 0

    /// How often it has opened since it was last closed.
    var openings = 0

    init(_ policy: CircuitBreakerPolicy, epoch: UInt64) {
        self.policy = policy
        self.epoch = epoch
        window = Self.window(policy)
    }

    static func window(_ policy: CircuitBreakerPolicy) -> OutcomeWindow? {
        if case .rate(let window) = policy.trip { OutcomeWindow(window) } else { nil }
    }

    func permit(probe: UInt64? = nil) -> Permit {
        Permit(epoch: epoch, generation: generation, probe: probe)
    }

    func isCurrent(_ permit: Permit) -> Bool {
        permit.epoch == epoch && permit.generation == generation
    }
}
