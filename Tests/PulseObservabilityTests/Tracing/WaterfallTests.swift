// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct WaterfallTests {
    private static func trace(
        _ body: (CallTracer, TestClock, UUID) async -> Void,
        ending result: Result<NetworkEvent.ResponseSummary, PulseError.Summary>
    ) async -> CallTrace? {
        let (clock, buffer, id) = (TestClock(), CallTracer.Buffer(), UUID())
        let tracer = CallTracer(output: buffer, clock: clock)
        tracer.emit(.requestStarted(.sample(id: id)))
        await body(tracer, clock, id)
        tracer.emit(.requestCompleted(result, .sample(id: id), latency: 1))
        return buffer.takeAll().first
    }

    @Test func aWaterfallShowsAttemptsPhasesAndMarks() async {
        var timings = PulseResponse.Timings()
        (timings.requestSent, timings.firstByte, timings.lastByte) = (0, 0.5, 1)
        let trace = await Self.trace(
            { tracer, clock, id in
                let error = PulseError.Summary(kind: .timeout, message: "timed out")
                tracer.emit(.attemptStarted(.sample(id: id)))
                await clock.advance(by: 2)
                tracer.emit(.requestRetrying(.sample(id: id, retryDelay: 1), error, attempt: 2))
                await clock.advance(by: 1)
                tracer.emit(.attemptStarted(.sample(id: id, attempt: 2)))
                await clock.advance(by: 1)
                tracer.emit(.responseReceived(.sample(id: id, attempt: 2), status: 200, byteCount: 1))
            }, ending: .ok(bytes: 1, timings: timings))
        let expected = """
            GET api.example.com/users/42: 200, 1 byte            4.00 s  |====================|
              attempt 1: timed out                               2.00 s  |==========          |
              requestRetrying: attempt 2 in 1000 ms: timed out  +2.00 s  |          ^         |
              attempt 2: 200, 1 byte                             1.00 s  |               =====|
                waiting                                          500 ms  |               ===  |
                receiving                                        500 ms  |                 ===|
            """
        #expect(trace?.waterfall(width: 20) == expected)
    }

    @Test(arguments: [Int.min, -1, 0, 1, 39, 100_000, Int.max])
    func aWaterfallCanHaveAnyWidth(width: Int) async {
        let trace = await Self.trace({ _, clock, _ in await clock.advance(by: 1) }, ending: .ok())
        let lines = trace?.waterfall(width: width).split(separator: "\n") ?? []
        #expect(lines.count == 1)
        #expect(lines.allSatisfy { $0.utf8.count < 600 })
    }

    @Test func aCallWithoutADurationCanBeDrawn() async {
        let trace = await Self.trace(
            { tracer, _, id in
                tracer.emit(.attemptStarted(.sample(id: id)))
                tracer.emit(.cacheHit(.sample(id: id)))
            }, ending: .error(.cancelled, "cancelled"))
        #expect(trace?.waterfall().contains("cancelled") == true)
        #expect(trace?.waterfall().contains("0.00 µs") == true)
    }

    @Test func foreignTextCannotForgeALineOrShowASecret() async {
        let text = "one\nGET bank.example: 200 \u{1B}[2J token=hunter2 \u{202E}"
        let trace = await Self.trace(
            { tracer, _, id in
                tracer.emit(.attemptStarted(.sample(id: id)))
                tracer.emit(.authRefreshFailed(.sample(id: id), PulseError.Summary(kind: .custom, message: text)))
            }, ending: .error(.custom, text))
        let waterfall = trace?.waterfall() ?? ""
        #expect(waterfall.split(separator: "\n").count == 3)
        #expect(!waterfall.contains("hunter2") && !waterfall.contains("\u{1B}") && !waterfall.contains("\u{202E}"))
    }
}
