// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import TestSupport
import Testing

@testable import PulseUI

@Suite(.throttled)
struct ConsoleDetailsTests {
    private func lines(_ fields: [ConsoleField]) -> [String] { fields.map { "\($0.name): \($0.value)" } }

    @Test func detailsShowFactsMarksAndRequests() throws {
        var timings = PulseResponse.Timings()
        (timings.networkProtocol, timings.remoteAddress, timings.isConnectionReused) = ("h2", "10.0.0.1", true)
        let first = PulseRecording.Exchange.sample(
            requestHeaders: ["Accept": "a"], response: nil, failure: .init(kind: .timeout, message: "timed out"))
        let second = PulseRecording.Exchange.sample(
            id: 2, attempt: 2, hop: 1, requestBody: PulseRecording.Body(.text("[1]"), byteCount: 3),
            response: .init(
                statusCode: 200, headers: ["Set-A": "1", "Set-B": "2"],
                body: PulseRecording.Body(.text("{\"a\":1,\"b\":"), byteCount: 70_000, isTruncated: true),
                timings: timings))
        let call = PulseRecording.Call.sample(
            bytes: 70_000, exchanges: [first, second],
            marks: [
                .init(kind: .retrying, offset: 0.1, wait: 0.5, detail: "timed out"), .init(kind: .cacheMiss, offset: 0),
            ])
        let details = ConsoleDetails(call, in: try #require(TimeZone(secondsFromGMT: 0)))
        #expect(
            lines(details.facts) == [
                "Method: GET", "Host: api.example.com", "Path: /a", "Route: Route", "Started: 2026-01-01 00:00:00",
                "Duration: 250 ms", "Status: 200", "Size: 70.0 kB", "Source: network", "Call: \(call.id.uuidString)",
            ])
        #expect(lines(details.marks) == ["retrying: +100 ms, waits 500 ms: timed out", "cacheMiss: +0.00 µs"])
        #expect(details.requests.map(\.title) == ["GET timed out, attempt 1", "GET 200, attempt 2, redirect 1"])
        #expect(lines(details.requests[0].requestHeaders) == ["Accept: a"])
        #expect(
            lines(details.requests[0].facts) == [
                "Started after: 0.00 µs", "Duration: 100 ms", "Error: timeout: timed out",
            ])
        #expect(
            lines(details.requests[1].facts) == [
                "Started after: 0.00 µs", "Duration: 100 ms", "Source: network", "Protocol: h2", "Address: 10.0.0.1",
                "Connection: reused",
            ])
        #expect(lines(details.requests[1].responseHeaders) == ["Set-A: 1", "Set-B: 2"])
        #expect(details.requests[0].requestBody == nil && details.requests[0].responseBody == nil)
        #expect(details.requests[1].requestBody?.text == "[\n  1\n]")
        #expect(details.requests[1].requestBody?.note == "3 bytes")
        #expect(details.requests[1].responseBody?.text == "{\n  \"a\": 1,\n  \"b\": ")
        #expect(details.requests[1].responseBody?.note == "cut, of 70000 bytes")
        #expect(details.requests[1].curl.hasPrefix("curl"))
        #expect(details.chart == call.chart)
        #expect(details.note == nil)
        #expect(
            details.chart.lines.map { "\($0.timeText) \($0.text)" }.prefix(3) == [
                "250 ms GET api.example.com/a: 200, 70000 bytes", "100 ms attempt 1: timed out",
                "100 ms attempt 2, redirect 1: 200",
            ])
    }

    @Test func aLineIsDrawnByItsPhasesOrAsOnePart() {
        var timings = PulseResponse.Timings()
        (timings.requestSent, timings.firstByte, timings.lastByte) = (0, 0.05, 0.1)
        let measured = PulseRecording.Exchange.sample(response: .init(statusCode: 200, timings: timings))
        let lines = PulseRecording.Call.sample(exchanges: [measured, .sample(id: 2)]).chart.lines
        #expect(lines[1].segments.map(\.phase) == [.waiting, .receiving])
        #expect(lines[1].segments.map(\.id) == [0, 1])
        #expect(lines[2].segments.map(\.phase) == [nil] && lines[2].segments[0].bar == lines[2].bar)
    }

    @Test func aMissingBodyHasAReason() throws {
        let body = try #require(ConsoleBody(PulseRecording.Body(.omitted(.encoded), byteCount: 5)))
        #expect(body.text == nil && !body.hasText && body.note == "5 bytes, not kept: compressed")
        let text = try #require(ConsoleBody(PulseRecording.Body(.text("a: b"), byteCount: 4)))
        #expect(text.text == "a: b" && text.hasText)
    }

    @Test func aCallWithoutRequestsSaysWhy() {
        #expect(ConsoleDetails(.sample()).note?.contains(".recorder(.shared)") == true)
        #expect(ConsoleDetails(.sample(origin: .cache)).note == "No request is recorded.")
        var call = PulseRecording.Call.sample(exchanges: [.sample()])
        #expect(ConsoleDetails(call).note == nil)
        call = .sample(status: nil, latency: nil)
        #expect(ConsoleDetails(call).facts.contains { $0.name == "Duration" && $0.value == "running" })
    }
}
