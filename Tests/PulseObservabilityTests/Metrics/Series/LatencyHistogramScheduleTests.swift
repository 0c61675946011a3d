// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulseTesting
import TestSupport
import Testing

/// Ten times `PULSE_STEPS` samples of each distribution: 20,000 by default, a million in release.
@Suite(.tags(.schedule), .throttled)
struct LatencyHistogramScheduleTests {
    private static let samples =
        10 * (ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 2_000)

    enum Distribution: String, CaseIterable, Sendable {
        case constant, uniform, normal, exponential, logNormal, pareto, bimodal, steps, microseconds, wholeRange

        func value(_ random: SplitMix) -> TimeInterval {
            switch self {
            case .constant: 0.037
            case .uniform: 0.001 + random.unit() * 2
            case .normal: max(1e-6, 0.2 + 0.03 * random.normal())
            case .exponential: 1e-6 + random.exponential(0.05)
            case .logNormal: exp(-4 + 1.3 * random.normal())
            case .pareto: min(3600, 0.002 / pow(1 - random.unit(), 1 / 1.1))
            case .bimodal: random.unit() < 0.9 ? 0.005 + 0.001 * random.unit() : 30 + random.unit()
            case .steps: [0.001, 0.01, 0.25, 5][Int(random.unit() * 4)]
            case .microseconds: 1e-6 * (1 + (random.unit() * 90).rounded())
            case .wholeRange: 1e-6 * pow(3.6e9, random.unit())
            }
        }
    }

    @Test(arguments: Distribution.allCases)
    @HeavyWork func quantilesMatchSortedValuesToWithinOnePercent(distribution: Distribution) {
        let random = SplitMix(seed: 20_26)
        var histogram = MetricsSnapshot.Histogram()
        var values: [TimeInterval] = []
        values.reserveCapacity(Self.samples)
        for _ in 0..<Self.samples {
            let value = min(
                max(distribution.value(random), MetricsSnapshot.Histogram.shortest), MetricsSnapshot.Histogram.longest)
            values.append(value)
            histogram.record(value)
        }
        values.sort()
        for part in [0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 1] {
            let rank = max(1, Int((part * Double(values.count)).rounded(.up)))
            let (exact, found) = (values[rank - 1], histogram.quantile(part))
            #expect(abs(found / exact - 1) < 0.01, "\(distribution), seed 2026, \(part): \(found) for \(exact)")
        }
        #expect(abs(histogram.mean / (values.reduce(0, +) / Double(values.count)) - 1) < 1e-6)
    }
}
