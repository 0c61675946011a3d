// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseObservability

@Suite(.throttled)
struct RecordedPhasesTests {
    private func exchange(duration: TimeInterval? = 1, _ timings: PulseResponse.Timings?) -> PulseRecording.Exchange {
        PulseRecording.Exchange(
            id: 1, request: .init(method: "GET", url: "u"), response: .init(statusCode: 200, timings: timings),
            duration: duration)
    }

    @Test func phasesFollowOneAnotherWithoutGaps() {
        var timings = PulseResponse.Timings()
        timings.queued = 0.125
        timings.nameResolved = 0.25
        timings.connected = 0.5
        timings.secured = 0.75
        timings.requestSent = 1
        timings.firstByte = 2
        timings.lastByte = 4
        let phases = exchange(timings).phases
        #expect(
            phases.map(\.phase) == [.queued, .nameResolution, .connecting, .securing, .sending, .waiting, .receiving])
        #expect(phases.map(\.duration) == [0.125, 0.125, 0.25, 0.25, 0.25, 1, 2])
        #expect(phases.map(\.start) == [0, 0.125, 0.25, 0.5, 0.75, 1, 2])
    }

    @Test func anUnmeasuredExchangeIsOneWait() {
        #expect(exchange(duration: 2, nil).phases == [PhaseTiming(phase: .waiting, start: 0, duration: 2)])
        #expect(exchange(duration: nil, nil).phases.isEmpty)
    }

    @Test func invalidOrDecreasingTimingsAreIgnored() {
        var timings = PulseResponse.Timings()
        timings.queued = .nan
        timings.connected = 1
        timings.secured = 0.5
        timings.firstByte = -.infinity
        timings.lastByte = .infinity
        let phases = exchange(timings).phases
        #expect(phases.map(\.phase) == [.connecting])
        #expect(phases.allSatisfy { $0.duration.isFinite })
    }

    @Test func anyTimingsCanBeDrawnAsAWaterfall() {
        let values: [TimeInterval] = [
            0, 1, -1, .nan, .infinity, -.infinity, .greatestFiniteMagnitude, .leastNonzeroMagnitude,
        ]
        for value in values {
            var call = PulseRecording.Call.sample(latency: value)
            call.exchanges.append(
                PulseRecording.Exchange(
                    id: 2, attempt: 2, offset: value, request: .init(method: "GET", url: "u"), duration: value))
            for width in [-1, 0, 60, .max] {
                let lines = call.waterfall(width: width).split(separator: "\n")
                #expect(lines.count == 3, "\(value), \(width)")
            }
        }
    }

    @Test func theWaterfallShowsRequestsAndMarksOnATimeline() {
        var call = PulseRecording.Call.sample(response: .init(statusCode: 503), latency: 1)
        call.latency = 4
        call.exchanges.append(
            PulseRecording.Exchange(
                id: 2, attempt: 2, hop: 1, offset: 2, request: .init(method: "GET", url: "u"),
                response: .init(statusCode: 200), duration: 2))
        call.marks.append(.init(kind: .retrying, offset: 1, detail: "try later"))
        #expect(
            call.waterfall(width: 20) == """
                GET api.example.com/a: 503, 0 bytes   4.00 s  |====================|
                  attempt 1: 503                      1.00 s  |=====               |
                  retrying: try later                +1.00 s  |     ^              |
                  attempt 2, redirect 1: 200          2.00 s  |          ==========|
                """)
    }
}
