// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import TestSupport
import Testing

@testable import PulseUI

@Suite(.throttled)
struct ConsoleContentTests {
    private func summary(_ call: PulseRecording.Call) -> String {
        ConsoleContent(PulseRecording(calls: [call])).rows.map(\.summary).joined()
    }

    @Test func aRowShowsOutcomeDurationSizeAndAttempts() {
        #expect(summary(.sample(bytes: 12)) == "200, 250 ms, 12 bytes")
        let timeout = PulseError.Summary(kind: .timeout, message: "timed out")
        #expect(summary(.sample(failure: timeout, latency: 2)) == "timed out, 2.00 s")
        let unavailable = PulseError.Summary(kind: .http, statusCode: 503, message: "unavailable")
        #expect(
            summary(
                .sample(
                    failure: unavailable, latency: 2,
                    exchanges: [
                        .sample(attempt: 1),
                        .sample(
                            id: 2, attempt: 2, response: .init(statusCode: 503, body: .init(.text("x"), byteCount: 1))),
                    ])) == "503, 2.00 s, 1 byte, 2 attempts")
        #expect(summary(.sample(status: nil, latency: nil)) == "running")
        #expect(summary(.sample(latency: 0.001, bytes: 1500, origin: .cache)) == "200, cache, 1.00 ms, 1.50 kB")
    }

    @Test func attemptsAreCountedWithAndWithoutRecordedRequests() {
        let retrying = PulseRecording.Call.Mark(kind: .retrying, offset: 0)
        let samples: [(PulseRecording.Call, Int)] = [
            (.sample(), 1), (.sample(origin: .cache), 0), (.sample(status: nil, latency: nil), 0),
            (.sample(marks: [retrying, retrying]), 3), (.sample(exchanges: [.sample(attempt: 4)]), 4),
            (.sample(exchanges: [.sample(attempt: 2)], marks: [retrying]), 2),
            (.sample(failure: .init(kind: .noConnection, message: "offline")), 0),
        ]
        for (call, attempts) in samples { #expect(ConsoleContent(.init(calls: [call])).rows[0].attempts == attempts) }
    }

    @Test func theSizeIsThatOfTheStreamOrOfTheStoredResponse() {
        let streamed = PulseRecording.Exchange.sample(
            response: .init(statusCode: 200, body: .init(.omitted(.stream), byteCount: 700)))
        let unchanged = PulseRecording.Exchange.sample(response: .init(statusCode: 304))
        let rows = ConsoleContent(
            .init(calls: [
                .sample(bytes: 0, exchanges: [streamed]),
                .sample(bytes: 900, origin: .revalidated, exchanges: [unchanged]),
            ])
        ).rows
        #expect(rows.map(\.byteCount) == [900, 700])
    }

    @Test func rowsAreNewestFirstAndPathsAreNeverEmpty() {
        let rows = ConsoleContent(.init(calls: [.sample("/1"), .sample("2"), .sample("")])).rows
        #expect(rows.map(\.path) == ["/", "/2", "/1"])
    }

    @Test func totalsCountTheShownCalls() {
        let calls: [PulseRecording.Call] = [
            .sample(latency: 0.3, bytes: 1000), .sample(latency: 0.1, bytes: 500), .sample(status: nil, latency: nil),
            .sample(failure: .init(kind: .timeout, message: "timed out"), latency: 9),
            .sample(failure: .init(kind: .cancelled, message: "cancelled"), latency: 0.2),
        ]
        let recording = PulseRecording(calls: calls)
        #expect(
            ConsoleContent(recording).totals.summary
                == "5 calls, 1 running, 1 failed, 1.50 kB, median 200 ms")
        var filter = ConsoleFilter()
        filter.outcome = .succeeded
        #expect(ConsoleContent(recording, filter: filter).totals.summary == "2 of 5 calls, 1.50 kB, median 100 ms")
        filter.text = "nowhere"
        #expect(ConsoleContent(recording, filter: filter).totals.summary == "0 of 5 calls")
        #expect(ConsoleContent(.init(calls: [.sample()])).totals.summary == "1 call, median 250 ms")
    }

    @Test func choicesAreSortedAndHoldTheFilters() {
        let calls: [PulseRecording.Call] = [.sample(method: .post, host: "b"), .sample(host: "a"), .sample(host: "b")]
        var filter = ConsoleFilter()
        filter.host = "aa"
        filter.method = .delete
        let content = ConsoleContent(.init(calls: calls), filter: filter)
        #expect(content.hosts == ["a", "aa", "b"])
        #expect(content.methods == [.delete, .get, .post])
    }

    @Test func noticesSayWhatIsMissing() throws {
        let zone = try #require(TimeZone(secondsFromGMT: 3600))
        let since = Date(timeIntervalSince1970: 1_767_225_600)
        let recording = PulseRecording(calls: [.sample()], recordedCallCount: 3, since: since)
        #expect(
            ConsoleContent(recording).notices.map { $0.text(in: zone) } == [
                "Headers and bodies need the recorder as the client's last plugin, such as .recorder(.shared). "
                    + "They are missing for api.example.com.",
                "2 older calls made room for later ones.", "Calls before 2026-01-01 01:00:00 are not recorded.",
            ])
        #expect(ConsoleContent(.init(calls: [.sample(exchanges: [.sample()])])).notices.isEmpty)
    }

    @Test func headersAreMissingOnlyWhereAServerRespondedToNoRecordedRequest() {
        let unreachable = PulseError.Summary(kind: .noConnection, message: "offline")
        let samples: [([PulseRecording.Call], Bool)] = [
            ([.sample(failure: .init(kind: .http, statusCode: 500, message: "error"))], true),
            ([.sample(failure: unreachable)], false),
            ([.sample(origin: .cache), .sample(origin: .stale), .sample(origin: .coalesced)], false),
            ([.sample(status: nil, latency: nil)], false), ([.sample(), .sample(exchanges: [.sample()])], false),
            ([.sample(host: "b"), .sample(exchanges: [.sample()])], true),
        ]
        for (index, (calls, isMissing)) in samples.enumerated() {
            #expect(ConsoleContent(.init(calls: calls)).notices.isEmpty != isMissing, "\(index)")
        }
    }

    @Test(arguments: [
        (0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1.00 kB"), (12_345, "12.3 kB"), (999_499, "999 kB"),
        (999_500, "1.00 MB"), (-5, "0 bytes"), (Int64.max, "9.22 EB"), (Int64.min, "0 bytes"),
    ])
    func aSizeHasThreeDigits(count: Int64, text: String) {
        #expect(ConsoleText.size(count) == text)
    }

    @Test(
        arguments: [
            (0, "0.00 µs"), (0.000_064, "64.0 µs"), (0.214, "214 ms"), (0.009_999_9, "10.0 ms"), (0.099_97, "100 ms"),
            (1.5, "1.50 s"), (3600, "3600 s"),
            (.nan, "0.00 µs"),
            (-1, "0.00 µs"), (.infinity, "1000000000000 s"),
        ] as [(TimeInterval, String)])
    func aDurationHasThreeDigits(seconds: TimeInterval, text: String) {
        #expect(ConsoleText.duration(seconds) == text)
    }

    @Test(arguments: [TimeInterval.nan, .infinity, -.infinity, 1e300])
    func anyTimeHasAText(seconds: TimeInterval) throws {
        let zone = try #require(TimeZone(secondsFromGMT: 0))
        #expect(!ConsoleText.time(Date(timeIntervalSince1970: seconds), in: zone).isEmpty)
    }
}
