// SPDX-License-Identifier: MIT

import PulseCore

/// One metric with its value for each set of labels: the common form that every exporter reads.
public struct MetricFamily: Sendable {
    /// How the values of a metric behave over time.
    public enum Kind: String, Sendable, Hashable {
        /// A count that grows until a reset.
        case counter
        /// A value that may rise and fall.
        case gauge
        /// A distribution of durations.
        case histogram
        /// The number of measurements and their sum.
        case summary
    }

    /// The unit of the values.
    public enum Unit: Sendable, Hashable {
        /// None for plain counts; otherwise seconds or bytes.
        case none, seconds, bytes
    }

    /// The value of a sample.
    public enum Value: Sendable {
        /// A count, or a gauge of whole numbers.
        case integer(Int64)
        /// A gauge of any number.
        case number(Double)
        /// A distribution, in seconds.
        case histogram(LatencyHistogram)
        /// The number of measurements and their sum, in the metric's unit.
        case total(count: Int, sum: Double)
    }

    /// A value for one set of labels.
    public struct Sample: Sendable {
        /// The labels in a fixed order, each name once.
        public let labels: [(name: String, value: String)]
        /// The value for these labels.
        public let value: Value
    }

    /// The name: words joined by dots, without a unit, such as `request.duration`.
    public let name: String
    /// What the metric counts, in one sentence.
    public let help: String
    /// How its values behave over time.
    public let kind: Kind
    /// The unit of its values.
    public let unit: Unit
    /// Its values, in a fixed order, each with different labels.
    public let samples: [Sample]
}
