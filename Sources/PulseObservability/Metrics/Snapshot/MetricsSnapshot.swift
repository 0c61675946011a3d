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
    public let total: Series
    /// The counts by ``NetworkEvent/CallSummary/route``. Names are truncated at 120 bytes and have secrets masked.
    /// Names beyond the collector's maximum are under `other`.
    public let routes: [String: Series]
    /// The counts by the initial host of a call.
    public let hosts: [String: Series]
    /// The counts of all sockets. Their handshakes are calls, and counted as such.
    public let sockets: Sockets
    /// The counts of sockets by host, like ``hosts`` for calls.
    public let socketHosts: [String: Sockets]
    /// The results of each of the collector's objectives.
    public let objectives: [Objective]
    /// The first 200 circuits by the breaker's key, which is usually an origin.
    public let circuits: [String: Circuit]
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
