// SPDX-License-Identifier: MIT

import CoreMetrics
import PulseKit

/// Single measurements for swift-metrics.
struct SwiftMetricsOutput: MetricsOutputSink.Output {
    func increment(_ counter: String, by count: Int64, labels: [(String, String)]) {
        CoreMetrics.Counter(label: counter, dimensions: labels).increment(by: count)
    }

    func record(_ timer: String, seconds: TimeInterval, labels: [(String, String)]) {
        CoreMetrics.Timer(label: timer, dimensions: labels).recordSeconds(seconds)
    }
}
