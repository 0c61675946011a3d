// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled)
struct SessionMetricsTests {
    private func date(_ seconds: TimeInterval) -> Date { Date(timeIntervalSinceReferenceDate: 1000 + seconds) }

    private var secured: SessionMetrics {
        SessionMetrics(
            fetchStart: date(0), nameLookupEnd: date(1), connectEnd: date(4), secureStart: date(2), secureEnd: date(3),
            requestStart: date(5), requestEnd: date(6), responseStart: date(7), responseEnd: date(8), isReused: false,
            networkProtocol: "h2", remoteAddress: "::1", bytesReceived: 10, bytesDecoded: 100)
    }

    @Test func eachPhaseIsMeasuredFromTheStart() {
        let timings = PulseResponse.Timings(secured)
        #expect(timings.queued == nil)
        #expect(timings.nameResolved == 1)
        #expect(timings.connected == 2)
        #expect(timings.secured == 3)
        #expect(timings.requestSent == 6)
        #expect(timings.firstByte == 7)
        #expect(timings.lastByte == 8)
        #expect(timings.isConnectionReused == false)
        #expect(timings.networkProtocol == "h2")
        #expect(timings.remoteAddress == "::1")
        #expect(timings.bytesReceived == 10)
        #expect(timings.bytesDecoded == 100)
    }

    @Test func cleartextIsConnectedAtTheEndOfConnecting() {
        var metrics = secured
        (metrics.secureStart, metrics.secureEnd) = (nil, nil)
        let timings = PulseResponse.Timings(metrics)
        #expect(timings.connected == 4)
        #expect(timings.secured == nil)
    }

    /// TCP and TLS are one handshake there.
    @Test func anHTTP3ConnectionIsConnectedAtTheEndOfConnecting() {
        var metrics = secured
        metrics.networkProtocol = "h3"
        #expect(PulseResponse.Timings(metrics).connected == 4)
    }

    @Test func aReusedConnectionHasNoPhasesOfItsOwn() {
        var metrics = secured
        metrics.isReused = true
        let timings = PulseResponse.Timings(metrics)
        #expect(timings.isConnectionReused == true)
        #expect(timings.nameResolved == nil && timings.connected == nil && timings.secured == nil)
        #expect(timings.firstByte == 7)
    }

    @Test func whatIsNotMeasuredIsNil() {
        let timings = PulseResponse.Timings(SessionMetrics(requestEnd: date(1), responseStart: date(2)))
        #expect(timings.requestSent == nil && timings.firstByte == nil && timings.lastByte == nil)
        #expect(timings.networkProtocol == nil && timings.bytesReceived == nil)
        // A clock that was set back in between.
        #expect(PulseResponse.Timings(SessionMetrics(fetchStart: date(3), responseStart: date(2))).firstByte == 0)
    }
}
