// SPDX-License-Identifier: MIT

public import PulseCore

extension CircuitBreakerPlugin {
    /// The settings of a breaker: when a circuit opens, for how long, and which calls share a circuit.
    public struct Policy: Sendable {
        /// What opens a circuit.
        public enum Trip: Sendable, Hashable {
            /// The given number of failures with no success between them; less than 1 counts as 1. One successful probe
            /// closes the circuit.
            case consecutiveFailures(Int)
            /// Too high a rate of failed or slow calls among the latest. Two successful probes of three close the
            /// circuit.
            case rate(RateWindow)
        }

        /// A window of the latest calls, with the rates of failed and slow calls that open the circuit.
        public struct RateWindow: Sendable, Hashable {
            /// How many of the latest calls count: from 1 to 10,000, 20 by default.
            public var calls: Int
            /// Seconds for which a call counts; 30 by default.
            public var duration: TimeInterval
            /// Minimum number of calls before the circuit can open; 10 by default, at most ``calls``.
            public var minimumCalls: Int
            /// The failure rate that opens the circuit, from 0 to 1; 0.5 by default.
            public var failureRate: Double
            /// Seconds after which a call counts as slow, measured from its last send: waiting on the client for a
            /// token or a permit is not the host's time. Nil, the default, counts no slow calls.
            public var slowCallDuration: TimeInterval?
            /// The rate of slow calls that opens the circuit, from 0 to 1; 0.5 by default.
            public var slowCallRate: Double

            /// Creates a window. By default, the circuit opens when at least half of the latest 20 calls in 30 seconds
            /// fail, with at least 10 calls.
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
            /// Calls to one origin share a circuit; its name is `https://api.example.com`. An unreachable host is
            /// detected once for all routes. A single failing route blocks the others only if no call to them succeeds
            /// in between; with ``Trip/rate(_:)``, if its failures alone reach the failure rate of all calls.
            case origin
            /// Calls of one route share a circuit: see ``PulseCore/RequestOptions/route``. For a gateway whose routes
            /// lead to different servers.
            case route
            /// Calls for which the closure returns the same name share a circuit; a call with nil passes uncounted.
            /// Called concurrently, on any thread.
            case custom(@Sendable (URLRequest, PluginContext) -> String?)
        }

        /// What opens a circuit; by default, a ``RateWindow`` with its defaults.
        public var trip: Trip
        /// Seconds for which an open circuit rejects every call, 30 by default. A `Retry-After` of the failure that
        /// opened it can make this longer, up to an hour. A probe that takes longer than the cooldown is dropped.
        public var cooldownDuration: TimeInterval
        /// Whether the cooldown doubles each time the probes fail, up to 5 minutes. False by default.
        public var backsOff: Bool
        /// Which calls share a circuit; by default, those to one origin.
        public var key: Key

        /// Creates a policy. By default, a circuit opens when at least half of the latest 20 calls in 30 seconds fail,
        /// with at least 10 calls.
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
}
