// SPDX-License-Identifier: MIT

extension MetricsSnapshot {
    /// The counts of a route's calls, of a host's, or of all. The members of ``overall`` are accessible directly:
    /// `series.p99Latency`.
    @dynamicMemberLookup
    public struct Series: Sendable {
        /// The counts since the collector's start, or its last reset.
        public internal(set) var overall: Calls
        /// The counts of the last 60 to 70 seconds: six whole slices of ten seconds, and the current one.
        public internal(set) var lastMinute: Calls
        /// The counts of the last 300 to 310 seconds.
        public internal(set) var lastFiveMinutes: Calls
        /// Calls that have started and not ended.
        public internal(set) var inFlight: Int

        /// A count or figure of ``overall``.
        public subscript<Value>(dynamicMember member: KeyPath<Calls, Value>) -> Value {
            overall[keyPath: member]
        }

        static let zero = Series(overall: Calls(), lastMinute: Calls(), lastFiveMinutes: Calls(), inFlight: 0)

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
