// SPDX-License-Identifier: MIT

/// The counts of one route and host.
struct MetricsSeries: Sendable {
    var calls = TimeSlices<CallMetrics>()
    var inFlight = 0

    mutating func update(at tick: Int, _ body: (inout CallMetrics) -> Void) {
        calls.update(at: tick, body)
    }

    func summary(at tick: Int) -> SeriesMetrics {
        let sums = calls.sums(at: tick)
        return SeriesMetrics(
            overall: sums.overall, lastMinute: sums.lastMinute, lastFiveMinutes: sums.lastFiveMinutes,
            inFlight: inFlight)
    }
}
