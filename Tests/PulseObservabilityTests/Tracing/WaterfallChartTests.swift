// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseObservability

@Suite(.throttled)
struct WaterfallChartTests {
    private func bars(_ chart: WaterfallChart) -> [[Double]] { chart.lines.map { [$0.bar.start, $0.bar.end] } }

    @Test func barsAreFractionsOfTheWholeCall() {
        var timings = PulseResponse.Timings()
        (timings.requestSent, timings.firstByte, timings.lastByte) = (0, 1, 2)
        var call = PulseRecording.Call.sample(response: .init(statusCode: 503), latency: 1)
        call.latency = 4
        call.exchanges.append(
            PulseRecording.Exchange(
                id: 2, attempt: 2, hop: 1, offset: 2, request: .init(method: "GET", url: "u"),
                response: .init(statusCode: 200, timings: timings), duration: 2))
        call.marks = [
            .init(kind: .retrying, offset: 1, wait: 0.5, detail: "one\nline"), .init(kind: .cacheMiss, offset: 0),
        ]
        let chart = call.chart
        #expect(chart.duration == 4)
        #expect(chart.lines.map(\.kind) == [.call, .request, .mark, .mark, .request])
        #expect(
            chart.lines.map(\.title) == [
                "GET api.example.com/a", "attempt 1", "cacheMiss", "retrying", "attempt 2, redirect 1",
            ])
        #expect(chart.lines.map(\.detail) == ["503, 0 bytes", "503", "", "one\\nline", "200"])
        #expect(chart.lines.map(\.time) == [4, 1, 0, 1, 2])
        #expect(bars(chart) == [[0, 1], [0, 0.25], [0, 0], [0.25, 0.375], [0.5, 1]])
        #expect(chart.lines[1].phases.isEmpty)
        #expect(chart.lines[4].phases.map(\.phase) == [.waiting, .receiving])
        #expect(chart.lines[4].phases.map { [$0.bar.start, $0.bar.end] } == [[0.5, 0.75], [0.75, 1]])
        #expect(chart.lines.map(\.id) == [0, 1, 2, 3, 4])
    }

    @Test func theTimelineFitsRequestsAndWaitsButNoSocket() {
        var call = PulseRecording.Call.sample(latency: 1)
        call.marks = [
            .init(kind: .rateLimited, offset: 1, wait: 3),
            .init(kind: .socketDisconnected, offset: 5000, detail: "closed"),
            .init(kind: .socketStateChanged, offset: 1, wait: 900, detail: "reconnecting"),
        ]
        let chart = call.chart
        #expect(chart.duration == 4)
        #expect(chart.lines.map(\.title).suffix(3) == ["rateLimited", "socketStateChanged", "socketDisconnected"])
        #expect(bars(chart)[0] == [0, 0.25])
        #expect(bars(chart).suffix(3) == [[0.25, 1], [0.25, 0.25], [1, 1]])
    }

    @Test(arguments: [0, -1, TimeInterval.nan, .infinity, -.infinity, .greatestFiniteMagnitude])
    func anyTimesResultInFractions(value: TimeInterval) {
        var call = PulseRecording.Call.sample(latency: value)
        call.exchanges.append(
            PulseRecording.Exchange(id: 2, offset: value, request: .init(method: "GET", url: "u"), duration: value))
        call.marks = [.init(kind: .retrying, offset: value, wait: value)]
        #expect(bars(call.chart).allSatisfy { 0 <= $0[0] && $0[0] <= $0[1] && $0[1] <= 1 })
        #expect(call.chart.duration.isFinite)
    }
}
