// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulseTesting
import TestSupport
import Testing

@Suite(.tags(.threads, .addresses), .throttled)
struct PulseRecorderStressTests {
    @Test func everyRecordingOfConcurrentCallsIsConsistent() async throws {
        let recorder = PulseRecorder(options: .init(maxCalls: 50, byteBudget: 200_000, maxEvents: 20))
        let bus = PulseEventBus()
        recorder.attach(to: bus)
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<8 {
                group.addTask {
                    for number in 0..<100 { await Self.call(recorder, bus, "\(writer)/\(number)") }
                }
            }
            for _ in 0..<2 {
                group.addTask {
                    for _ in 0..<100 { Self.check(recorder.recording()) }
                }
            }
        }
        let recording = recorder.recording()
        Self.check(recording)
        #expect(recording.recordedCallCount == 800)
        #expect(recording.recordedEventCount == 800)
        #expect(recording.calls.allSatisfy { $0.latency != nil && $0.exchanges.count == 1 })
        #expect(!recording.har().isEmpty)
    }

    private static func call(_ recorder: PulseRecorder, _ bus: PulseEventBus, _ path: String) async {
        let request = URLRequest.mock(.put, "/\(path)", body: Data(repeating: 0x61, count: 2000))
        _ = try? await recorder.run(request, in: .mock(for: request, events: bus)) { request in
            PulseResponse(statusCode: 200, data: Data("ok".utf8), request: request)
        }
        bus.emit(.warning(path))
    }

    private static func check(_ recording: PulseRecording) {
        #expect(recording.calls.count <= 50)
        #expect(recording.events.count <= 20)
        #expect(recording.recordedCallCount == recording.calls.count + recording.droppedCallCount)
        #expect(Set(recording.calls.map(\.id)).count == recording.calls.count)
        for exchange in recording.calls.flatMap(\.exchanges) {
            // A response and its duration are recorded together.
            #expect((exchange.response == nil) == (exchange.duration == nil))
        }
    }
}
