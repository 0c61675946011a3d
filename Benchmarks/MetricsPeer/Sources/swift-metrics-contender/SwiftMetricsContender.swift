// SPDX-License-Identifier: MIT

import CoreMetrics
import PulseKit

/// Prints the cost of one call's events in a collector, and in swift-metrics with a recorder like that of a Prometheus
/// exporter. `--short` only checks that it runs.
@main
struct SwiftMetricsContender {
    static func main() async {
        let rounds = CommandLine.arguments.contains("--short") ? 50 : 3_000
        MetricsSystem.bootstrap(PrometheusRecorder())
        let (counted, handedOn) = (PulseEventBus(), PulseEventBus())
        let collector = PulseMetricsCollector()
        collector.attach(to: counted)
        handedOn.addSink(MetricsOutputSink(output: SwiftMetricsOutput()))
        let events = events
        var best = [Double.infinity, .infinity]
        // They alternate, so that a busy moment affects both alike.
        for _ in 0..<rounds {
            for (index, bus) in [counted, handedOn].enumerated() {
                let start = SystemClock().uptime
                for _ in 0..<200 { events.forEach(bus.emit) }
                best[index] = min(best[index], (SystemClock().uptime - start) * 1e9 / 200)
            }
        }
        print("ns for the events of a call")
        print("  PulseMetricsCollector            \(Int(best[0]))")
        print("  swift-metrics, Prometheus-style  \(Int(best[1]))")
        print("p99 by the collector: \(await collector.snapshot().p99Latency) s")
    }

    private static var events: [NetworkEvent] {
        let call = NetworkEvent.CallSummary(
            id: UUID(), endpointPath: "/users/42", route: "GetUser", method: .get, host: "api.example.com")
        var timings = PulseResponse.Timings()
        (timings.requestSent, timings.firstByte, timings.lastByte) = (0.0002, 0.011, 0.012)
        let response = NetworkEvent.ResponseSummary(statusCode: 200, byteCount: 47, origin: .network, timings: timings)
        return [
            .requestStarted(call), .attemptStarted(call), .responseReceived(call, status: 200, byteCount: 47),
            .requestCompleted(.success(response), call, latency: 0.012),
        ]
    }
}

/// Single measurements for swift-metrics.
private struct SwiftMetricsOutput: MetricsOutputSink.Output {
    func increment(_ counter: String, by count: Int64, labels: [(String, String)]) {
        CoreMetrics.Counter(label: counter, dimensions: labels).increment(by: count)
    }

    func record(_ timer: String, seconds: TimeInterval, labels: [(String, String)]) {
        CoreMetrics.Timer(label: timer, dimensions: labels).recordSeconds(seconds)
    }
}
