// SPDX-License-Identifier: MIT

public import PulseCore

/// When a circuit opens, for how long, and which calls share one.
public struct CircuitBreakerPolicy: Sendable {
    /// What opens a circuit.
    public enum Trip: Sendable, Hashable {
        /// That many failures with no success between them; less than 1 counts as 1. One good probe closes it again.
        case consecutiveFailures(Int)
        /// Too large a share of the latest calls. Of three probes two close it again.
        case rate(RateWindow)
    }

    /// The latest calls, and what share of them may fail or be slow.
    public struct RateWindow: Sendable, Hashable {
        /// How many of the latest calls count: from 1 to 10,000.
        public var calls: Int
        /// Seconds after which a call counts no more.
        public var duration: TimeInterval
        /// Fewer calls than that open nothing; never more than ``calls``.
        public var minimumCalls: Int
        /// The share of failures that opens the circuit, from 0 to 1.
        public var failureRate: Double
        /// Seconds from which on a call is slow, counted from when its last request left: waiting for a token or a permit
        /// of this side's is not the host's time. Nil for none is.
        public var slowCallDuration: TimeInterval?
        /// The share of slow calls that opens the circuit, from 0 to 1.
        public var slowCallRate: Double

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
        /// Those to one origin; its name is `https://api.example.com`.
        case origin
        /// Those of one route: see ``PulseCore/RequestOptions/route``.
        case route
        /// Those for which the closure gives the same name; with nil a call passes uncounted. Called concurrently.
        case custom(@Sendable (URLRequest, PluginContext) -> String?)
    }

    public var trip: Trip
    /// Seconds for which an open circuit refuses every call; longer if the failure that opened it came with a
    /// `Retry-After`, of which an hour counts at most. A probe that takes longer than this is written off.
    public var cooldownDuration: TimeInterval
    /// Whether the cooldown doubles each time the probes fail, up to 5 minutes.
    public var backsOff: Bool
    public var key: Key

    /// By default a rate: at least half of at least 10 among the latest 20 calls of the last 30 seconds.
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
