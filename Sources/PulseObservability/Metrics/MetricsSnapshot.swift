// SPDX-License-Identifier: MIT

public import PulseCore

/// What a collector has counted up to a moment: a consistent cut, in which every call is counted in ``total``, in one of
/// ``routes`` and in one of ``hosts``.
public struct MetricsSnapshot: Sendable {
    /// By the collector's wall clock.
    public let takenAt: Date
    /// Since when it counts: its start, or its last reset; never later than ``takenAt``.
    public let countingSince: Date
    /// All calls.
    public let total: SeriesMetrics
    /// By ``CallSummary/route``. Names are cut at 120 bytes and have secrets masked; those beyond the collector's bound
    /// are under `other`.
    public let routes: [String: SeriesMetrics]
    /// By the host that a call began with.
    public let hosts: [String: SeriesMetrics]
    public let objectives: [ObjectiveMetrics]
    /// By the breaker's key, an origin as a rule.
    public let circuits: [String: CircuitMetrics]
    /// Every event, by its kind.
    public let eventCounts: [NetworkEvent.Kind: Int]
    /// Entries of the offline queue that were sent and accepted.
    public let offlineDelivered: Int
    /// Entries that left the queue otherwise.
    public let offlineFailed: Int
    /// As last heard; nil if nothing was.
    public let connectivity: ConnectivityStatus?

    /// The part of calls that succeeded, of those that succeeded or failed; 1 if there was none.
    public var successRate: Double { total.successRate }
    /// Seconds, as all of these, over all calls that succeeded or failed; 0 if there was none.
    public var p50Latency: TimeInterval { total.p50Latency }
    public var p90Latency: TimeInterval { total.p90Latency }
    public var p95Latency: TimeInterval { total.p95Latency }
    public var p99Latency: TimeInterval { total.p99Latency }
    /// The part of answers that came from the cache's store; 0 if no call asked it.
    public var cacheHitRatio: Double { total.cacheHitRatio }
    /// Calls that have begun and not ended.
    public var inFlight: Int { total.inFlight }
}

/// The calls of a route, of a host, or all. The members of ``overall`` are reached directly: `series.p99Latency`.
@dynamicMemberLookup
public struct SeriesMetrics: Sendable {
    /// Since the collector's start, or its last reset.
    public internal(set) var overall: CallMetrics
    /// The last 60 to 70 seconds: whole slices of ten, and the one that has begun.
    public internal(set) var lastMinute: CallMetrics
    /// The last 300 to 310 seconds.
    public internal(set) var lastFiveMinutes: CallMetrics
    /// Calls that have begun and not ended.
    public internal(set) var inFlight: Int

    public subscript<Value>(dynamicMember member: KeyPath<CallMetrics, Value>) -> Value {
        overall[keyPath: member]
    }

    static let zero = SeriesMetrics(
        overall: CallMetrics(), lastMinute: CallMetrics(), lastFiveMinutes: CallMetrics(), inFlight: 0)

    /// Nothing was counted, and nothing is under way.
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

/// How an objective is met.
public struct ObjectiveMetrics: Sendable, Hashable {
    public let objective: ServiceLevelObjective
    public let overall: ObjectiveCounts
    public let lastMinute: ObjectiveCounts
    public let lastFiveMinutes: ObjectiveCounts

    /// Whether the share of good calls is what was promised.
    public var isMet: Bool { overall.ratio >= objective.target }

    /// The part of what may be bad that is left, over all that counted: 1 is all, 0 none, less is overdrawn.
    public var budgetLeft: Double {
        1 - overall.burnRate(target: objective.target)
    }
}

/// A breaker's circuit, as its events tell.
public struct CircuitMetrics: Sendable, Hashable {
    public enum State: String, Sendable, Hashable, CaseIterable {
        case closed
        case halfOpen = "half_open"
        case open
    }

    public internal(set) var state: State
    /// How often it opened.
    public internal(set) var openings: Int

    public init(state: State = .closed, openings: Int = 0) {
        self.state = state
        self.openings = openings
    }
}
