// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseObservability

@Suite(.tags(.threads), .throttled)
struct RecorderChangesTests {
    private static func call(_ path: String = "/a", id: UUID = UUID()) -> NetworkEvent.CallSummary {
        NetworkEvent.CallSummary(id: id, endpointPath: path, route: "GetA", method: .get, host: "api.example.com")
    }

    @Test func eachChangeWakesTheReadersAndSeveralCountAsOne() async {
        let (bus, recorder) = (PulseEventBus(), PulseRecorder())
        recorder.attach(to: bus)
        var (one, other) = (recorder.changes.makeAsyncIterator(), recorder.changes.makeAsyncIterator())
        let call = Self.call()
        bus.emit(.requestStarted(call))
        #expect(await one.next() != nil)
        for event: NetworkEvent in [
            .cacheMiss(call), .warning("w"),
            .requestCompleted(.failure(.init(kind: .timeout, message: "")), call, latency: 1),
        ] {
            bus.emit(event)
            #expect(await one.next() != nil)
        }
        recorder.removeAll()
        #expect(await one.next() != nil)
        #expect(await other.next() != nil)
        // What the second reader missed was one element.
        let waiting = Task { [other] in
            var other = other
            return await other.next()
        }
        waiting.cancel()
        #expect(await waiting.value == nil)
    }

    @Test func aRequestWakesTheReadersTwice() async throws {
        let stage = RecorderStage(isAttached: false) { PulseResponse(statusCode: 200, request: $0) }
        let counted = Locked(0)
        let changes = stage.recorder.changes
        let reading = Task {
            for await _ in changes where stage.calls.first?.latency != nil { return counted.withLock { $0 += 1 } }
        }
        _ = try await stage.client.rawRequest(Request<EmptyResponse>(.get, "/a"))
        await reading.value
        #expect(counted.withLock { $0 } == 1)
        await stage.client.shutdown()
    }

    @Test func theStreamEndsWithTheRecorderAndHoldsItNot() async {
        var recorder: PulseRecorder? = PulseRecorder()
        weak let kept = recorder
        var reader = recorder?.changes.makeAsyncIterator()
        recorder = nil
        #expect(kept == nil)
        #expect(await reader?.next() == nil)
    }

    @Test func removedCallsDoNotComeBack() {
        let (bus, recorder) = (PulseEventBus(), PulseRecorder(clock: TestClock()))
        recorder.attach(to: bus)
        let (running, ended) = (Self.call("/running"), Self.call("/ended"))
        bus.emit(.requestStarted(running))
        bus.emit(.requestStarted(ended))
        bus.emit(.requestCompleted(.failure(.init(kind: .timeout, message: "")), ended, latency: 1))
        for _ in 0..<2 {
            recorder.removeAll()
            for call in [running, ended] { bus.emit(.requestStarted(call)) }
            #expect(recorder.recording().calls.isEmpty)
        }
        bus.emit(.requestStarted(Self.call("/new")))
        #expect(recorder.recording().calls.map(\.endpointPath) == ["/new"])
        #expect(recorder.recording().droppedCallCount == 0)
    }

    @Test func aRecordingSaysSinceWhenItIsComplete() async {
        let clock = TestClock()
        let (start, recorder) = (clock.now, PulseRecorder(clock: clock))
        await clock.advance(by: 10)
        #expect(recorder.recording().since == start)
        recorder.removeAll()
        #expect(recorder.recording().since == start.addingTimeInterval(10))
    }

    @Test func theSharedRecorderIsAttachedToTheSharedBus() {
        #expect(PulseRecorder.shared === PulseRecorder.shared)
        let call = Self.call("/shared")
        PulseEventBus.shared.emit(.requestStarted(call))
        #expect(PulseRecorder.shared.recording().calls.contains { $0.id == call.id })
    }

    @Test func curlCommandsStandUnderTheirCallOnceEach() {
        var call = PulseRecording.Call.sample(
            url: "https://api.example.com/a\nrm -rf", response: .init(statusCode: 503))
        call.exchanges.append(
            PulseRecording.Exchange(id: 2, attempt: 2, request: .init(method: "GET", url: "https://api.example.com/b")))
        call.exchanges.append(
            PulseRecording.Exchange(id: 3, attempt: 3, request: .init(method: "GET", url: "https://api.example.com/b")))
        let served = PulseRecording.Call(
            id: UUID(), endpointPath: "/c\nrm -rf", route: "C", method: .get, host: "h",
            startedAt: Date(timeIntervalSince1970: 0))
        let lines = PulseRecording(calls: [call, served]).curl().split(
            separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count { $0.hasPrefix("curl") } == lines.count { $0.contains("https://") })
        #expect(lines.count { $0.contains("/b") } == 1)
        #expect(lines.first == "# GET api.example.com/a: 503, 0 bytes")
        #expect(lines.suffix(3) == ["# GET h/c\\nrm -rf: under way", "# No request is recorded.", ""])
        #expect(!lines.contains { $0.hasPrefix("rm") })
    }
}
