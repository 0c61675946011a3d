// SPDX-License-Identifier: MIT

public import PulseCore

/// The settings of a breaker: when a circuit opens, for how long, and which calls share one.
public struct CircuitBreakerPolicy: Sendable {
    /// What opens a circuit.
    public enum Trip: Sendable, Hashable {
        /// That many failures with no success between them; less than 1 counts as 1. One good probe closes the circuit
        /// again.
        case consecutiveFailures(Int)
        /// Too large a share of failed or slow calls among the latest. Two good probes of three close the circuit
        /// again.
        case rate(RateWindow)
    }

    /// The latest calls, and what share of them may fail or be slow.
    public struct RateWindow: Sendable, Hashable {
        /// How many of the latest calls count: from 1 to 10,000, 20 by default.
        public var calls: Int
        /// Seconds after which a call counts no more; 30 by default.
        public var duration: TimeInterval
        /// Fewer calls than that open nothing; 10 by default, never more than ``calls``.
        public var minimumCalls: Int
        /// The share of failures that opens the circuit, from 0 to 1; 0.5 by default.
        public var failureRate: Double
        /// Seconds after which a call counts as slow, from when its last request left: waiting for a token or a permit
        /// on this side is not the host's time. Nil, the default, counts none.
        public var slowCallDuration: TimeInterval?
        /// The share of slow calls that opens the circuit, from 0 to 1; 0.5 by default.
        public var slowCallRate: Double

        /// A window in which, by default, half of at least 10 among the latest 20 calls of the last 30 seconds must
        /// fail.
        public init(
            calls: Int = 20, duration: TimeInterval = 30, minimumCalls: Int = 10, failureRate: Double = 0.5,
            slowCallDuration: TimeInterval? = nil, slowCallRate: Double = 0.5
        ) {
            self.calls = calls
            self.duration = duration
            self.minimumCalls = minimumCalls
            self.failureRate = failureRate
            self.slowCallDuration = slowCallDuration
            self.slowCallRate = slowCallRate
        }
    }

    /// Which calls share a circuit.
    public enum Key: Sendable {
        /// Calls to one origin share a circuit; its name is `https://api.example.com`.
        case origin
        /// Calls of one route share a circuit: see ``PulseCore/RequestOptions/route``.
        case route
        /// Calls for which the closure gives the same name share a circuit; with nil a call passes uncounted. Called
        /// concurrently, on any thread.
        case custom(@Sendable (URLRequest, PluginContext) -> String?)
    }

    /// What opens a circuit: the default ``RateWindow``, unless set.
    public var trip: Trip
    /// Seconds for which an open circuit refuses every call, 30 by default; longer if the failure that opened it came
    /// with a `Retry-After`, of which an hour counts at most. A probe that takes longer than this is written off.
    public var cooldownDuration: TimeInterval
    /// Whether the cooldown doubles each time the probes fail, up to 5 minutes. False by default.
    public var backsOff: Bool
    /// Which calls share a circuit: those to one origin, unless set.
    public var key: Key

    /// A policy, by default with a rate: at least half of at least 10 among the latest 20 calls of the last 30 seconds.
    public init(
        trip: Trip = .rate(RateWindow()), cooldownDuration: TimeInterval = 30, backsOff: Bool = false,
        key: Key = .origin
    ) {
        self.trip = trip
        self.cooldownDuration = cooldownDuration
        self.backsOff = backsOff
        self.key = key
    }
}
