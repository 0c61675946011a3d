// SPDX-License-Identifier: MIT

private import PulseCore

extension RecordedCall {
    /// A chart of the call's time, in the format of ``CallTrace/waterfall(width:)``: the whole call, each of its
    /// requests with the phases that the transport measured, and the events in between.
    ///
    /// ```text
    /// GET api.example.com/stock: 200, 12 bytes  214 ms  |====================|
    ///   attempt 1: 503                         64.0 ms  |======              |
    ///   retrying: service unavailable         +64.0 ms  |     ^              |
    ///   attempt 2: 200                         100 ms  |          ==========|
    /// ```
    ///
    /// - Parameter width: the width of the bars, in characters; 40 by default, from 10 to 400.
    public func waterfall(width: Int = 40) -> String {
        let ends = exchanges.map { $0.offset.finite + $0.length }
        let total = max(latency?.finite ?? 0, ends.max() ?? 0)
        var drawing = WaterfallDrawing(duration: total, width: width)
        drawing.add(EventText.title(method, host, endpointPath, outcome), from: 0, for: total)
        drawing.add(
            exchanges.map { exchange in
                let start = exchange.offset.finite
                return (
                    start,
                    {
                        $0.add("  attempt \(exchange.attempt)\(exchange.ending)", from: start, for: exchange.length)
                        if exchange.response?.timings != nil { $0.add(exchange.phases, from: start) }
                    }
                )
            }
                + marks.map { mark in
                    (mark.offset, { $0.add(mark.kind.rawValue, mark.detail?.onOneLine ?? "", at: mark.offset.finite) })
                })
        if omittedExchangeCount > 0 { drawing.add("  \(LogText.count(omittedExchangeCount, "request")) more") }
        return drawing.text
    }
}

extension RecordedExchange {
    fileprivate var length: TimeInterval {
        let measured = phases.last.map { $0.start + $0.duration } ?? 0
        return max((duration ?? 0).finite, measured)
    }

    fileprivate var ending: String {
        let redirect = hop > 0 ? ", redirect \(hop): " : ": "
        if let failure { return redirect + EventText.shown(failure.message) }
        return redirect + (response.map { "\($0.statusCode)" } ?? (duration == nil ? "under way" : "no response"))
    }
}
