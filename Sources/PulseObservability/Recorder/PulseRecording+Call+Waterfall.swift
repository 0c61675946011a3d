// SPDX-License-Identifier: MIT

private import PulseCore

extension PulseRecording.Call {
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
        chart.text(width: width)
    }

    /// The call's time as bars on one timeline, to draw.
    ///
    /// The timeline is long enough for the call, its requests and its waits. Events of a socket, which may occur hours
    /// after its handshake, are drawn at the end of the timeline.
    package var chart: WaterfallChart {
        let requestEnds = exchanges.map { $0.offset.finite + $0.length }
        let markEnds = marks.filter { !$0.isOfSocket }.map { $0.offset.finite + ($0.wait ?? 0).finite }
        var chart = WaterfallChart(duration: (requestEnds + markEnds).reduce(latency?.finite ?? 0, max))
        chart.add(
            .call, EventText.title(method, host, endpointPath), EventText.ending(outcome), from: 0,
            for: latency?.finite ?? chart.duration)
        let requests: [WaterfallChart.Part] = exchanges.map { exchange in
            let (start, phases) = (exchange.offset.finite, exchange.response?.timings == nil ? [] : exchange.phases)
            return (
                start,
                { $0.add(.request, exchange.title, exchange.ending, from: start, for: exchange.length, phases: phases) }
            )
        }
        let events: [WaterfallChart.Part] = marks.map { mark in
            let (start, wait) = (mark.offset.finite, mark.isOfSocket ? 0 : (mark.wait ?? 0).finite)
            return (start, { $0.add(.mark, mark.kind.rawValue, mark.detail?.onOneLine ?? "", from: start, for: wait) })
        }
        chart.add(requests + events)
        if omittedExchangeCount > 0 { chart.omission = "\(LogText.count(omittedExchangeCount, "request")) more" }
        return chart
    }
}

extension PulseRecording.Call.Mark {
    /// Whether the mark is about the socket that the call opened. Such a mark follows the end of the call.
    package var isOfSocket: Bool { kind == .socketStateChanged || kind == .socketDisconnected }
}

extension PulseRecording.Exchange {
    fileprivate var length: TimeInterval {
        let measured = phases.last.map { $0.start + $0.duration } ?? 0
        return max((duration ?? 0).finite, measured)
    }

    /// The attempt and the redirect.
    package var title: String {
        "attempt \(attempt)" + (hop > 0 ? ", redirect \(hop)" : "")
    }

    /// The result of the exchange on one line: its error, its status or its state.
    package var ending: String {
        if let failure { return EventText.shown(failure.message) }
        return response.map { "\($0.statusCode)" } ?? (duration == nil ? "under way" : "no response")
    }
}
