// SPDX-License-Identifier: MIT

public import PulseCore

/// The counts of a collector at one moment. They are consistent: every call is counted in ``total``, in one of
/// ``routes`` and in one of ``hosts``.
public struct MetricsSnapshot: Sendable {
    /// When the snapshot was taken, by the collector's wall clock.
    public let takenAt: Date
    /// When counting began: at the collector's start or its last reset; never later than ``takenAt``.
    public let countingSince: Date
    /// The counts of all calls.
    public let total: SeriesMetrics
    /// The counts by ``NetworkEvent/CallSummary/route``. Names are truncated at 120 bytes and have secrets masked.
    /// Names beyond the collector's maximum are under `other`.
    public let routes: [String: SeriesMetrics]
    /// The counts by the initial host of a call.
    public let hosts: [String: SeriesMetrics]
    /// The counts of all sockets. Their handshakes are calls, and counted as such.
    public let sockets: SocketMetrics
    /// The counts of sockets by their host, as ``hosts`` has those of calls.
    public let socketHosts: [String: SocketMetrics]
    /// The results of each of the collector's objectives.
    public let objectives: [ObjectiveMetrics]
    /// The first 200 circuits by the breaker's key, which is usually an origin.
    public let circuits: [String: CircuitMetrics]
    /// The number of events by their kind.
    public let eventCounts: [NetworkEvent.Kind: Int]
    /// Entries of the offline queue that were sent and accepted.
    public let offlineDelivered: Int
    /// Entries that left the offline queue in another way: given up, dropped, or expired.
    public let offlineFailed: Int
    /// The connectivity as last reported; nil if it was never reported.
    public let connectivity: ConnectivityStatus?

    /// The share of successes among the calls that succeeded or failed, from 0 to 1; 1 if there were none.
    public var successRate: Double { total.successRate }
    /// The median duration of calls that succeeded or failed, in seconds; 0 if there was none.
    public var p50Latency: TimeInterval { total.p50Latency }
    /// The 90th percentile of these durations, in seconds; 0 if there was none.
    public var p90Latency: TimeInterval { total.p90Latency }
    /// The 95th percentile of these durations, in seconds; 0 if there was none.
    public var p95Latency: TimeInterval { total.p95Latency }
    /// The 99th percentile of these durations, in seconds; 0 if there was none.
    public var p99Latency: TimeInterval { total.p99Latency }
    /// The share of responses that came from the cache's store, from 0 to 1; 0 if no call used the cache.
    public var cacheHitRatio: Double { total.cacheHitRatio }
    /// Calls that have started and not ended.
    public var inFlight: Int { total.inFlight }
}

/// The counts of a route's calls, of a host's, or of all. The members of ``overall`` are accessible directly:
/// `series.p99Latency`.
@dynamicMemberLookup
public struct SeriesMetrics: Sendable {
    /// The counts since the collector's start, or its last reset.
    public internal(set) var overall: CallMetrics
    /// The counts of the last 60 to 70 seconds: six whole slices of ten seconds, and the current one.
    public internal(set) var lastMinute: CallMetrics
    /// The counts of the last 300 to 310 seconds.
    public internal(set) var lastFiveMinutes: CallMetrics
    /// Calls that have started and not ended.
    public internal(set) var inFlight: Int

    /// A count or figure of ``overall``.
    public subscript<Value>(dynamicMember member: KeyPath<CallMetrics, Value>) -> Value {
        overall[keyPath: member]
    }

    static let zero = SeriesMetrics(
        overall: CallMetrics(), lastMinute: CallMetrics(), lastFiveMinutes: CallMetrics(), inFlight: 0)

    /// Whether nothing was counted and no call is in flight.
    var isEmpty: Bool {
        inFlight == 0 && overall.isEmpty
    }

    mutating func merge(_ other: SeriesMetrics) {
        overall.merge(other.overall)
        lastMinute.merge(other.lastMinute)
        lastFiveMinutes.merge(other.lastFiveMinutes)
        inFlight += other.inFlight
    }
}

/// An objective and its results.
public struct ObjectiveMetrics: Sendable, Hashable {
    /// The objective that is counted.
    public let objective: ServiceLevelObjective
    /// The counts since the collector's start, or its last reset.
    public let overall: ObjectiveCounts
    /// The counts of the last 60 to 70 seconds.
    public let lastMinute: ObjectiveCounts
    /// The counts of the last 300 to 310 seconds.
    public let lastFiveMinutes: ObjectiveCounts

    /// Whether the share of good calls reaches the target.
    public var isMet: Bool { overall.ratio >= objective.target }

    /// The remaining share of the error budget, over all calls that counted: 1 is all, 0 none, less than 0 overdrawn.
    public var budgetLeft: Double {
        1 - overall.burnRate(target: objective.target)
    }
}

/// The state of a breaker's circuit, according to its events.
public struct CircuitMetrics: Sendable, Hashable {
    /// The states of a circuit.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// Calls pass.
        case closed
        /// A few calls pass as probes.
        case halfOpen = "half_open"
        /// Calls fail without being sent.
        case open
    }

    /// The last reported state.
    public internal(set) var state: State
    /// The number of times the circuit opened.
    public internal(set) var openings: Int

    /// Creates a circuit in that state; by default closed and never opened.
    package init(state: State = .closed, openings: Int = 0) {
        self.state = state
        self.openings = openings
    }
}
