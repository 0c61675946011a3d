// SPDX-License-Identifier: MIT

import PulseCore

/// The latest response times of one route, and how many copies may still be sent. A value.
struct RouteLatencies: Sendable {
    private static let calls = 20
    private static let capacity = 128
    private static let shortestDelay: TimeInterval = 0.05
    private static let savedCopies = 10.0

    /// In seconds; a ring buffer once it is full.
    private var samples: [Float] = []
    private var oldest = 0
    private var samplesSinceUpdate = 0
    private var percentile: TimeInterval?
    /// The share of the calls that may be copied.
    private let extraLoad: Double
    /// The copies that the calls so far allow and that are not sent yet.
    private var credit = 0.0

    /// - Parameter extraLoad: from 0.001 to 1.
    init(extraLoad: Double) {
        self.extraLoad = extraLoad
    }

    /// Counts a call that may be hedged.
    mutating func countCall() {
        credit = min(credit + extraLoad, Self.savedCopies)
    }

    // A sum of twenty times 0.05 may be a little less than 1.
    /// Whether the budget allows another copy.
    var mayCopy: Bool { credit > 1 - 1e-9 }

    /// Takes a copy from the budget; false if there is none.
    mutating func takeCopy() -> Bool {
        guard mayCopy else { return false }
        credit -= 1
        return true
    }

    /// Records the response time of a call in seconds, whichever of its copies won.
    mutating func add(_ latency: TimeInterval) {
        guard latency >= 0, latency < .infinity else { return }
        if samples.count < Self.capacity {
            samples.append(Float(latency))
        } else {
            samples[oldest] = Float(latency)
            oldest = (oldest + 1) % Self.capacity
        }
        samplesSinceUpdate += 1
        // Computing the percentile for each call would cost more than the rest of the plugin.
        guard samples.count >= Self.calls, percentile == nil || samplesSinceUpdate >= 16 else { return }
        samplesSinceUpdate = 0
        let rank = (samples.count * 95 + 99) / 100
        percentile = TimeInterval(least(ofTheLargest: samples.count - rank + 1))
    }

    /// The smallest of the `count` largest samples, without sorting all.
    ///
    /// - Parameter count: from 1 to 7.
    private func least(ofTheLargest count: Int) -> Float {
        // In descending order; initially below any sample.
        withUnsafeTemporaryAllocation(of: Float.self, capacity: count) { largest in
            largest.initialize(repeating: -1)
            for sample in samples where sample > largest[count - 1] {
                var index = count - 1
                while index > 0, largest[index - 1] < sample {
                    largest[index] = largest[index - 1]
                    index -= 1
                }
                largest[index] = sample
            }
            return largest[count - 1]
        }
    }

    /// The 95th percentile of the response times in seconds, at least 50 ms; nil with fewer than 20 calls.
    var usualDelay: TimeInterval? {
        percentile.map { max($0, Self.shortestDelay) }
    }
}
