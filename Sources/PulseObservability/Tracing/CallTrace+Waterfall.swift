// SPDX-License-Identifier: MIT

import PulseCore

extension CallTrace {
    /// The call as lines of text, each with a bar on a timeline: the whole call, its attempts, the phases of the last
    /// one, and the events in between.
    ///
    /// ```text
    /// GET api.example.com/users/42: 200, 1 byte            4.00 s  |====================|
    ///   attempt 1: timed out                               2.00 s  |==========          |
    ///   requestRetrying: attempt 2 in 1000 ms: timed out  +2.00 s  |          ^         |
    ///   attempt 2: 200, 1 byte                             1.00 s  |               =====|
    ///     waiting                                          500 ms  |               ===  |
    ///     receiving                                        500 ms  |                 ===|
    /// ```
    ///
    /// - Parameter width: the width of the bars, in characters; 40 by default, from 10 to 400.
    public func waterfall(width: Int = 40) -> String {
        var chart = WaterfallChart(duration: duration)
        chart.add(
            .call, EventText.title(method, host, endpointPath), EventText.ending(result), from: 0, for: duration)
        let requests: [WaterfallChart.Part] = attempts.map { attempt in
            (
                attempt.start,
                {
                    $0.add(
                        .request, "attempt \(attempt.number)", attempt.outcome, from: attempt.start,
                        for: attempt.duration, phases: attempt.phases)
                }
            )
        }
        let events: [WaterfallChart.Part] = marks.map { mark in
            (mark.time, { $0.add(.mark, mark.kind.rawValue, mark.text, from: mark.time, for: 0) })
        }
        chart.add(requests + events)
        if omittedCount > 0 { chart.omission = "\(omittedCount) more" }
        return chart.text(width: width)
    }
}

extension CallTrace.Attempt {
    fileprivate var outcome: String {
        if let statusCode { return "\(statusCode), \(LogText.count(byteCount, "byte"))" }
        return error.map { EventText.shown($0.message) } ?? "abandoned"
    }
}
