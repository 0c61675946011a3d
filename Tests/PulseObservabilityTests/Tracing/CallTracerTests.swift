// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct CallTracerTests {
    private let clock = TestClock(uptime: 500)
    private let buffer = CallTracer.Buffer()
    private let error = PulseError.Summary(kind: .timeout, message: "timed out")

    private func tracer(maxOpenCalls: Int = 10) -> CallTracer {
        CallTracer(output: buffer, maxOpenCalls: maxOpenCalls, clock: clock)
    }

    @Test func aTraceHasTheAttemptsWithTheirTimes() async {
        let (tracer, id, start) = (tracer(), UUID(), clock.now)
        tracer.emit(.requestStarted(.sample(id: id)))
        await clock.advance(by: 0.5)
        tracer.emit(.attemptStarted(.sample(id: id)))
        await clock.advance(by: 1)
        tracer.emit(.requestRetrying(.sample(id: id, attempt: 1, retryDelay: 0.25), error, attempt: 2))
        await clock.advance(by: 0.25)
        tracer.emit(.attemptStarted(.sample(id: id, attempt: 2)))
        await clock.advance(by: 0.125)
        tracer.emit(.responseReceived(.sample(id: id, attempt: 2), status: 200, byteCount: 47))
        await clock.advance(by: 0.125)
        var timings = PulseResponse.Timings()
        (timings.queued, timings.firstByte) = (0.025, 0.125)
        tracer.emit(.requestCompleted(.ok(timings: timings), .sample(id: id), latency: 99))

        let traces = buffer.takeAll()
        #expect(traces.count == 1)
        guard let trace = traces.first else { return }
        #expect(trace.id == id && trace.route == "GetUser" && trace.host == "api.example.com")
        #expect(trace.start == start && trace.duration == 2)
        #expect(trace.attempts.map(\.start) == [0.5, 1.75] && trace.attempts.map(\.duration) == [1, 0.125])
        #expect(trace.attempts.map(\.number) == [1, 2] && trace.attempts.map(\.statusCode) == [nil, 200])
        #expect(trace.attempts.map(\.error?.kind) == [.timeout, nil])
        #expect(trace.attempts[0].phases.isEmpty && trace.attempts[1].phases.map(\.phase) == [.queued, .waiting])
        #expect(trace.attempts[1].phases.map(\.duration) == [0.025, 0.1])
        #expect(trace.marks.map(\.kind) == [.requestRetrying] && trace.marks.map(\.time) == [1.5])
        #expect(trace.marks.first?.text == "attempt 2 in 250 ms: timed out")
        #expect(buffer.takeAll().isEmpty)
    }

    @Test(arguments: [("GetUser", "GET GetUser"), ("GET /users/{id}", "GET /users/{id}"), ("GETTER", "GET GETTER")])
    func aSpanIsNamedByItsMethodOnce(route: String, name: String) {
        let (tracer, call) = (tracer(), NetworkEvent.CallSummary.sample(route))
        tracer.emit(.requestStarted(call))
        tracer.emit(.requestCompleted(.failure(error), call, latency: 3))
        #expect(buffer.takeAll().first?.spanName == name)
    }

    @Test func anAttemptThatFailsWithItsCallHasTheError() async {
        let (tracer, call) = (tracer(), NetworkEvent.CallSummary.sample())
        tracer.emit(.requestStarted(call))
        tracer.emit(.attemptStarted(call))
        await clock.advance(by: 3)
        tracer.emit(.requestCompleted(.failure(error), call, latency: 3))
        let attempts = buffer.takeAll().first?.attempts
        #expect(attempts?.map(\.duration) == [3] && attempts?.first?.error == error)
    }

    @Test func theHedgeWithTheResponseHasTheStatus() {
        let (tracer, id) = (tracer(), UUID())
        let spans = ["00000000000000a1", "00000000000000a2"]
        tracer.emit(.requestStarted(.sample(id: id)))
        for span in spans { tracer.emit(.attemptStarted(.sample(id: id, spanID: span))) }
        tracer.emit(.responseReceived(.sample(id: id, spanID: spans[1]), status: 200, byteCount: 1))
        tracer.emit(.requestCompleted(.ok(), .sample(id: id), latency: 1))
        let attempts = buffer.takeAll().first?.attempts
        #expect(attempts?.map(\.spanID) == spans)
        #expect(attempts?.map(\.statusCode) == [nil, 200])
        #expect(attempts?.map(\.error) == [nil, nil])
    }

    @Test func validIdentifiersOfTheTracingPluginAreUsed() {
        let tracer = tracer()
        let (trace, parent, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "00f067aa0ba902b7")
        for (traceID, parentID, spanID) in [(trace, parent, span), ("0", "", "ABCDEF0123456789")] {
            let call = NetworkEvent.CallSummary.sample(traceID: traceID, parentSpanID: parentID, spanID: spanID)
            tracer.emitCall(call)
        }
        tracer.emitCall(.sample(traceID: String(repeating: "0", count: 32)))
        let traces = buffer.takeAll()
        #expect(traces.count == 3)
        guard traces.count == 3 else { return }
        #expect(traces[0].traceID == trace && traces[0].parentSpanID == parent)
        #expect(traces[0].attempts[0].spanID == span)
        for made in traces[1...] {
            #expect(made.traceID.count == 32 && made.traceID != String(repeating: "0", count: 32))
            #expect(made.parentSpanID == nil)
            #expect(made.spanID.count == 16 && made.attempts[0].spanID.count == 16)
        }
        let ids = traces.flatMap { [$0.spanID, $0.attempts[0].spanID] }
        #expect(Set(ids).count == ids.count)
        #expect(ids.allSatisfy { $0.allSatisfy { "0123456789abcdef".contains($0) } })
    }

    @Test func derivedIdentifiersDependOnlyOnTheCall() {
        let tracer = tracer()
        let id = UUID()
        for call in [id, id, UUID()] { tracer.emitCall(.sample(id: call)) }
        tracer.emitCall(.sample(id: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))))
        let ids = buffer.takeAll().map(\.traceID)
        #expect(ids[0] == ids[1] && Set(ids).count == 3)
    }

    @Test func openCallsAreBounded() {
        let tracer = tracer(maxOpenCalls: 2)
        let calls = (0..<5).map { _ in NetworkEvent.CallSummary.sample() }
        for call in calls { tracer.emit(.requestStarted(call)) }
        for call in calls { tracer.emit(.requestCompleted(.ok(), call, latency: 1)) }
        #expect(buffer.takeAll().map(\.id) == calls.suffix(2).map(\.id))
        #expect(tracer.untracedCallCount == 3)
    }

    /// A tracer that is detached for some time misses the ends of calls.
    @Test func inactiveCallsAreEvictedBeforeActiveOnes() {
        let tracer = tracer(maxOpenCalls: 2)
        let busy = NetworkEvent.CallSummary.sample()
        for _ in 0..<2 { tracer.emit(.requestStarted(.sample())) }
        tracer.emit(.requestStarted(busy))
        for _ in 0..<100 {
            tracer.emit(.requestStarted(.sample()))
            tracer.emit(.attemptStarted(busy))
        }
        tracer.emit(.requestCompleted(.ok(), busy, latency: 1))
        #expect(buffer.takeAll().map(\.id) == [busy.id])
        tracer.emitCall(.sample())
        #expect(buffer.takeAll().count == 1)
    }

    @Test func aSocketsStateIsAMark() {
        let (tracer, call) = (tracer(), NetworkEvent.CallSummary.sample())
        tracer.emit(.requestStarted(call))
        tracer.emit(.socketStateChanged(call, .open(subprotocol: "chat token=hunter2")))
        tracer.emit(.socketStateChanged(call, .closed(.noConnection)))
        tracer.emit(.requestCompleted(.ok(), call, latency: 1))
        let marks = buffer.takeAll().first?.marks ?? []
        #expect(marks.map(\.kind) == [.socketStateChanged, .socketStateChanged])
        #expect(marks.first?.text.hasPrefix("open, subprotocol chat") == true)
        #expect(marks.first?.text.contains("hunter2") == false)
        #expect(marks.last?.text == "closed: \(PulseError.Summary(.noConnection))")
    }

    @Test func attemptsAndMarksOfATraceAreBounded() {
        let (tracer, call) = (tracer(), NetworkEvent.CallSummary.sample())
        tracer.emit(.requestStarted(call))
        for _ in 0..<1000 {
            tracer.emit(.attemptStarted(call))
            tracer.emit(.cacheHit(call))
            tracer.emit(.responseReceived(call, status: 200, byteCount: 1))
            tracer.emit(.transferProgress(call, completed: 1, total: nil))
        }
        tracer.emit(.requestCompleted(.ok(), call, latency: 1))
        let trace = buffer.takeAll().first
        #expect(trace?.attempts.count == 50 && trace?.marks.count == 50 && trace?.omittedCount == 1900)
    }

    @Test func aCallWhoseStartWasMissedHasNoTrace() {
        tracer().emit(.requestCompleted(.ok(), .sample(), latency: 1))
        tracer().emit(.attemptStarted(.sample()))
        tracer().emit(.warning("w"))
        #expect(buffer.takeAll().isEmpty)
    }

    @Test(arguments: [TimeInterval.nan, .infinity, -.infinity, -1000, 1e300])
    func aBrokenClockCausesNoNegativeTimes(uptime: TimeInterval) {
        let clock = BrokenClock()
        let tracer = CallTracer(output: buffer, clock: clock)
        let call = NetworkEvent.CallSummary.sample()
        tracer.emit(.requestStarted(call))
        clock.set(uptime)
        tracer.emit(.attemptStarted(call))
        tracer.emit(.cacheHit(call))
        clock.set(50)
        tracer.emit(.requestCompleted(.ok(), call, latency: .nan))
        let trace = buffer.takeAll().first
        #expect(trace?.duration == 0 && trace?.attempts.first.map { $0.duration >= 0 && $0.start >= 0 } == true)
        #expect(trace?.waterfall().isEmpty == false)
    }

    @Test func aBufferKeepsTheNewestTracesAndCountsTheDroppedOnes() {
        let buffer = CallTracer.Buffer(capacity: 3)
        let tracer = CallTracer(output: buffer, clock: clock)
        let calls = (0..<8).map { _ in NetworkEvent.CallSummary.sample() }
        for call in calls { tracer.emitCall(call) }
        #expect(buffer.takeAll().map(\.id) == calls.suffix(3).map(\.id))
        #expect(buffer.droppedCount == 5)
        tracer.emitCall(calls[0])
        #expect(buffer.takeAll().map(\.id) == [calls[0].id])
        #expect(CallTracer.Buffer(capacity: -1).takeAll().isEmpty)
    }
}
