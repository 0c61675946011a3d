// SPDX-License-Identifier: MIT

/// The counts of one route and host.
struct MetricsSeries: Sendable {
    var calls = TimeSlices<MetricsSnapshot.Calls>()
    var inFlight = 0

    mutating func update(at tick: Int, _ body: (inout MetricsSnapshot.Calls) -> Void) {
        calls.update(at: tick, body)
    }

    func summary(at tick: Int) -> MetricsSnapshot.Series {
        let sums = calls.sums(at: tick)
        return MetricsSnapshot.Series(
            overall: sums.overall, lastMinute: sums.lastMinute, lastFiveMinutes: sums.lastFiveMinutes,
            inFlight: inFlight)
    }
}
