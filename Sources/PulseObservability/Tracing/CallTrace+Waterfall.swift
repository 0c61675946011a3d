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
        var drawing = WaterfallDrawing(duration: duration, width: width)
        drawing.add(EventText.title(method, host, endpointPath, result), from: 0, for: duration)
        drawing.add(
            attempts.map { attempt in
                (
                    attempt.start,
                    {
                        let text = "  attempt \(attempt.number): \(attempt.outcome)"
                        $0.add(text, from: attempt.start, for: attempt.duration)
                        $0.add(attempt.phases, from: attempt.start)
                    }
                )
            } + marks.map { mark in (mark.time, { $0.add(mark.kind.rawValue, mark.text, at: mark.time) }) })
        if omittedCount > 0 { drawing.add("  \(omittedCount) more") }
        return drawing.text
    }
}

extension CallTrace.Attempt {
    fileprivate var outcome: String {
        if let statusCode { return "\(statusCode), \(LogText.count(byteCount, "byte"))" }
        return error.map { EventText.shown($0.message) } ?? "abandoned"
    }
}
