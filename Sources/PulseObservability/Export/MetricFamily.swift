// SPDX-License-Identifier: MIT

import PulseCore

/// One thing that is counted, with its value under each set of labels: what every exporter writes, in a form of its own.
public struct MetricFamily: Sendable {
    public enum Kind: String, Sendable, Hashable {
        /// Grows until a reset.
        case counter
        case gauge
        case histogram
        /// How many and the sum of all.
        case summary
    }

    public enum Unit: Sendable, Hashable {
        case none, seconds, bytes
    }

    public enum Value: Sendable {
        case integer(Int64)
        case number(Double)
        case histogram(LatencyHistogram)
        case total(count: Int, sum: Double)
    }

    public struct Sample: Sendable {
        /// In a fixed order, each name once.
        public let labels: [(name: String, value: String)]
        public let value: Value
    }

    /// Words joined by dots, without unit: `request.duration`.
    public let name: String
    public let help: String
    public let kind: Kind
    public let unit: Unit
    public let samples: [Sample]
}
