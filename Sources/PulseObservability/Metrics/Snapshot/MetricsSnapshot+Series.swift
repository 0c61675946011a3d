// SPDX-License-Identifier: MIT

extension MetricsSnapshot {
    /// The counts of a route's calls, of a host's, or of all. The members of ``overall`` are accessible directly:
    /// `series.p99Latency`.
    @dynamicMemberLookup
    public struct Series: Sendable {
        /// The counts since the collector's start, or its last reset.
        public internal(set) var overall: MetricsSnapshot.Calls
        /// The counts of the last 60 to 70 seconds: six whole slices of ten seconds, and the current one.
        public internal(set) var lastMinute: MetricsSnapshot.Calls
        /// The counts of the last 300 to 310 seconds.
        public internal(set) var lastFiveMinutes: MetricsSnapshot.Calls
        /// Calls that have started and not ended.
        public internal(set) var inFlight: Int

        /// A count or figure of ``overall``.
        public subscript<Value>(dynamicMember member: KeyPath<MetricsSnapshot.Calls, Value>) -> Value {
            overall[keyPath: member]
        }

        static let zero = Series(
            overall: MetricsSnapshot.Calls(), lastMinute: MetricsSnapshot.Calls(),
            lastFiveMinutes: MetricsSnapshot.Calls(), inFlight: 0)

        /// Whether nothing was counted and no call is in flight.
        var isEmpty: Bool {
            inFlight == 0 && overall.isEmpty
        }

        mutating func merge(_ other: Series) {
            overall.merge(other.overall)
            lastMinute.merge(other.lastMinute)
            lastFiveMinutes.merge(other.lastFiveMinutes)
            inFlight += other.inFlight
        }
    }
}
