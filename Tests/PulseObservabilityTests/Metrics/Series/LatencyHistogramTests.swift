// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import TestSupport
import Testing

@Suite(.throttled)
struct LatencyHistogramTests {
    private static func histogram(_ seconds: [TimeInterval]) -> MetricsSnapshot.Histogram {
        seconds.reduce(into: MetricsSnapshot.Histogram()) { $0.record($1) }
    }

    @Test @HeavyWork func anEmptyHistogramReturnsZeros() {
        let empty = MetricsSnapshot.Histogram()
        #expect(empty.count == 0 && empty.sum == 0 && empty.mean == 0 && empty.minimum == 0 && empty.maximum == 0)
        #expect([-1, 0, 0.5, 1, 2, .nan, .infinity].allSatisfy { empty.quantile($0) == 0 })
        #expect(empty.count(atMost: 1) == 0)
    }

    @Test(arguments: [1e-6, 3e-6, 0.000_999, 0.012, 0.5, 1, 59.9, 3599, 3600])
    @HeavyWork func aSingleValueIsEveryQuantile(seconds: TimeInterval) {
        let histogram = Self.histogram([seconds])
        #expect([0, 0.5, 0.99, 1].allSatisfy { histogram.quantile($0) == seconds })
        #expect(histogram.minimum == seconds && histogram.maximum == seconds && histogram.mean == seconds)
    }

    /// Values over the whole range, and next to every power of two.
    @Test @HeavyWork func everyValueIsAccurateToWithinOnePercent() {
        var values: [TimeInterval] = []
        var value = MetricsSnapshot.Histogram.shortest
        while value <= MetricsSnapshot.Histogram.longest {
            values.append(value)
            value *= 1.013
        }
        for power in 0..<32 {
            let edge = Double(1 << power) * 1e-6
            values += [edge.nextDown, edge, edge.nextUp].filter { $0 >= 1e-6 }
        }
        for value in values {
            // Two other values, so that this one is not the minimum or maximum, which are exact.
            let histogram = Self.histogram([
                MetricsSnapshot.Histogram.shortest, value, MetricsSnapshot.Histogram.longest,
            ])
            #expect(abs(histogram.quantile(0.5) / value - 1) < 0.01, "\(value)")
        }
    }

    @Test(arguments: [
        TimeInterval.nan, .signalingNaN, .infinity, -.infinity, -1, 0, -0.0, 1e300, .leastNonzeroMagnitude, 7200,
    ])
    @HeavyWork func noDurationIsLostOrTraps(seconds: TimeInterval) {
        var histogram = Self.histogram([0.5])
        histogram.record(seconds)
        #expect(histogram.count == 2)
        #expect(histogram.count(atMost: .infinity) == 2)
        #expect(histogram.sum.isFinite && histogram.minimum >= 0 && histogram.maximum.isFinite)
        #expect(histogram.quantile(0.5).isFinite && histogram.quantile(1).isFinite)
        #expect(histogram.quantile(0) <= histogram.quantile(1))
    }

    @Test @HeavyWork func aDurationBeyondTheRangeIsReportedAsTheExactMaximum() {
        let histogram = Self.histogram([1, 7200])
        #expect(histogram.quantile(1) == 7200 && histogram.maximum == 7200 && histogram.sum == 7201)
    }

    @Test @HeavyWork func quantilesUseTheNearestRank() {
        let histogram = Self.histogram([0.001, 0.01, 0.1, 1])
        for (part, value) in [
            (0.25, 0.001), (0.250_001, 0.01), (0.5, 0.01), (0.75, 0.1), (0.76, 1), (2, 1), (-1, 0.001),
        ] {
            #expect(abs(histogram.quantile(part) / value - 1) < 0.01, "\(part)")
        }
        #expect(histogram.quantile(.nan) == histogram.quantile(0))
    }

    @Test @HeavyWork func mergingEqualsRecordingAllInOneHistogram() {
        let random = SplitMix()
        let values = (0..<2000).map { _ in random.exponential(0.02) }
        let all = Self.histogram(values)
        var merged = MetricsSnapshot.Histogram()
        for chunk in stride(from: 0, to: 2000, by: 100) {
            merged.merge(Self.histogram(Array(values[chunk..<chunk + 100])))
        }
        merged.merge(MetricsSnapshot.Histogram())
        #expect(merged.count == all.count && merged.minimum == all.minimum && merged.maximum == all.maximum)
        #expect(abs(merged.sum - all.sum) < 1e-9)
        for part in stride(from: 0.0, through: 1, by: 0.01) {
            #expect(merged.quantile(part) == all.quantile(part))
        }
        for bound in [0.001, 0.01, 0.1] {
            #expect(merged.count(atMost: bound) == all.count(atMost: bound))
        }
    }

    @Test @HeavyWork func countsUpToABoundNeverFallWithTheBound() {
        let random = SplitMix()
        let histogram = Self.histogram((0..<1000).map { _ in random.exponential(0.1) })
        var last = 0
        for bound in stride(from: -0.1, through: 2, by: 0.001) {
            let count = histogram.count(atMost: bound)
            #expect(count >= last)
            last = count
        }
        #expect(histogram.count(atMost: .infinity) == 1000 && histogram.count(atMost: .nan) == 0)
    }

    /// A scraper takes a counter that falls for a restart.
    @Test @HeavyWork func countsUpToABoundNeverFallAsMoreIsRecorded() {
        let bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
        let random = SplitMix()
        var histogram = MetricsSnapshot.Histogram()
        var last = bounds.map { _ in 0 }
        // First close below a bound, where the middle of the bucket lies above it; then any value.
        let close = bounds.map { $0 * 0.9999 } + [0.4, 3600, 7200, .infinity]
        for seconds in close + (0..<500).map({ _ in random.exponential(0.5) }) {
            histogram.record(seconds)
            let counts = bounds.map { histogram.count(atMost: $0) }
            #expect(zip(last, counts).allSatisfy { $0 <= $1 })
            last = counts
        }
    }

    @Test @HeavyWork func copiesAreIndependent() {
        let one = Self.histogram([1])
        var two = one
        two.record(2)
        #expect(one.count == 1 && one.maximum == 1 && two.count == 2)
    }
}
