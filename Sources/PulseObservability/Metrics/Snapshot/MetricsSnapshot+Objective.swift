// SPDX-License-Identifier: MIT

extension MetricsSnapshot {
    /// An objective and its results.
    public struct Objective: Sendable, Hashable {
        /// The objective that is counted.
        public let objective: ServiceLevelObjective
        /// The counts since the collector's start, or its last reset.
        public let overall: Objective.Counts
        /// The counts of the last 60 to 70 seconds.
        public let lastMinute: Objective.Counts
        /// The counts of the last 300 to 310 seconds.
        public let lastFiveMinutes: Objective.Counts

        /// Whether the share of good calls reaches the target.
        public var isMet: Bool { overall.ratio >= objective.target }

        /// The remaining share of the error budget, over all calls that counted: 1 is all, 0 none, less than 0
        /// overdrawn.
        public var budgetLeft: Double {
            1 - overall.burnRate(target: objective.target)
        }
    }
}

extension MetricsSnapshot.Objective {
    /// The counts of an objective in a span of time.
    public struct Counts: Sendable, Hashable {
        /// Good calls.
        public internal(set) var good = 0
        /// Calls that count, including the good ones.
        public internal(set) var valid = 0

        /// Creates counts that are 0.
        package init() {}

        /// The share of good calls among those that count; 1 if none counted.
        public var ratio: Double { valid == 0 ? 1 : Double(good) / Double(valid) }

        /// How fast the calls use up the error budget: 1 is exactly as fast as allowed, 10 ten times that. 0 if all
        /// were good; infinite if some were bad and none is allowed to be.
        public func burnRate(target: Double) -> Double {
            guard valid > good else { return 0 }
            let allowed = 1 - target
            return allowed > 0 ? (1 - ratio) / allowed : .infinity
        }

        mutating func merge(_ other: Counts) {
            good += other.good
            valid += other.valid
        }
    }
}
