// SPDX-License-Identifier: MIT

import PulseCore

/// One metric with its value for each set of labels: the common form that every exporter reads.
package struct MetricFamily: Sendable {
    /// How the values of a metric behave over time.
    package enum Kind: String, Sendable, Hashable {
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
    package enum Unit: Sendable, Hashable {
        /// None for plain counts; otherwise seconds or bytes.
        case none, seconds, bytes
    }

    /// The value of a sample.
    package enum Value: Sendable {
        /// A count, or a gauge of whole numbers.
        case integer(Int64)
        /// A gauge of any number.
        case number(Double)
        /// A distribution, in seconds.
        case histogram(MetricsSnapshot.Histogram)
        /// The number of measurements and their sum, in the metric's unit.
        case total(count: Int, sum: Double)
    }

    /// A value for one set of labels.
    package struct Sample: Sendable {
        /// The labels in a fixed order, each name once.
        package let labels: [(name: String, value: String)]
        /// The value for these labels.
        package let value: Value
    }

    /// The name: words joined by dots, without a unit, such as `request.duration`.
    package let name: String
    /// What the metric counts, in one sentence.
    package let help: String
    /// How its values behave over time.
    package let kind: Kind
    /// The unit of its values.
    package let unit: Unit
    /// Its values, in a fixed order, each with different labels.
    package let samples: [Sample]
}
