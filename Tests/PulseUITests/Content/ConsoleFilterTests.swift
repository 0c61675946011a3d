// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import TestSupport
import Testing

@testable import PulseUI

@Suite(.throttled)
struct ConsoleFilterTests {
    private static let calls: [PulseRecording.Call] = [
        .sample("/users", latency: 0.1),
        .sample("/users", method: .post, status: 404, latency: 0.2),
        .sample("/orders", host: "shop.example.com", failure: .init(kind: .timeout, message: "timed out"), latency: 3),
        .sample("/orders", failure: .init(kind: .http, statusCode: 503, message: "unavailable"), latency: 1),
        .sample("/slow", failure: .init(kind: .cancelled, message: "cancelled"), latency: 2),
        .sample("/running", status: nil, latency: nil),
    ]

    /// The indices of the calls that pass.
    private func passing(_ change: (inout ConsoleFilter) -> Void) -> [Int] {
        var filter = ConsoleFilter()
        change(&filter)
        let ids = Set(filter.calls(of: PulseRecording(calls: Self.calls)).map(\.id))
        return Self.calls.indices.filter { ids.contains(Self.calls[$0].id) }
    }

    @Test func everyCallPassesAnEmptyFilter() {
        #expect(passing { _ in } == [0, 1, 2, 3, 4, 5])
        #expect(passing { $0.text = " \n" } == [0, 1, 2, 3, 4, 5])
    }

    @Test func eachPartSelectsCalls() {
        #expect(passing { $0.method = .post } == [1])
        #expect(passing { $0.host = "shop.example.com" } == [2])
        #expect(passing { $0.outcome = .succeeded } == [0])
        #expect(passing { $0.outcome = .failed } == [1, 2, 3])
        #expect(passing { $0.outcome = .cancelled } == [4])
        #expect(passing { $0.outcome = .running } == [5])
    }

    @Test func slowerThanExcludesItsLimitAndCallsInProgress() {
        #expect(passing { $0.slowerThan = 1 } == [2, 4])
        #expect(passing { $0.slowerThan = 0 } == [0, 1, 2, 3, 4])
    }

    @Test func thresholdsHoldTheCurrentOne() {
        var filter = ConsoleFilter()
        #expect(filter.thresholds == [0.1, 0.5, 1, 5])
        filter.slowerThan = 2
        #expect(filter.thresholds == [0.1, 0.5, 1, 2, 5])
    }

    @Test func aCallMustPassEachPart() {
        let passing = passing {
            $0.outcome = .failed
            $0.host = "api.example.com"
            $0.text = "orders"
        }
        #expect(passing == [3])
    }

    @Test func textIsFoundInPathErrorAndStatusWhateverItsCase() {
        #expect(passing { $0.text = " ORDers " } == [2, 3])
        #expect(passing { $0.text = "Timed OUT" } == [2])
        #expect(passing { $0.text = "503" } == [3])
        #expect(passing { $0.text = "SHOP." } == [2])
        #expect(passing { $0.text = "post" } == [1])
        #expect(passing { $0.text = "route" } == [0, 1, 2, 3, 4, 5])
        #expect(passing { $0.text = "nowhere" } == [])
    }

    @Test(arguments: ["page=2", "x-trace", "ABC", "Etag", "w/1", "410", "reset by peer"])
    func textIsFoundInRequests(text: String) {
        let exchange = PulseRecording.Exchange.sample(
            url: "https://api.example.com/a?page=2", requestHeaders: ["X-Trace": "abc"],
            response: .init(statusCode: 410, headers: ["ETag": "W/1"]),
            failure: .init(kind: .transport, message: "reset by peer"))
        var filter = ConsoleFilter()
        filter.text = text
        #expect(filter.calls(of: PulseRecording(calls: [.sample(exchanges: [exchange]), .sample()])).count == 1)
    }

    @Test func bodiesAreSearchedOnRequestOnly() {
        let sent = PulseRecording.Exchange.sample(requestBody: PulseRecording.Body(.text("{\"name\": \"Ada\"}")))
        let received = PulseRecording.Exchange.sample(
            response: .init(statusCode: 200, body: PulseRecording.Body(.text("Grüße an ADA"))))
        let recording = PulseRecording(calls: [.sample(exchanges: [sent]), .sample(exchanges: [received]), .sample()])
        var filter = ConsoleFilter()
        filter.text = "ada"
        #expect(filter.calls(of: recording).isEmpty)
        filter.searchesBodies = true
        #expect(filter.calls(of: recording).map(\.id) == recording.calls.prefix(2).map(\.id))
        filter.text = "GRÜSSE"
        #expect(filter.calls(of: recording).isEmpty)
        filter.text = "GRÜßE"
        #expect(filter.calls(of: recording).map(\.id) == [recording.calls[1].id])
    }

    @Test func textIsFoundAtBothEndsAndInNoShorterText() throws {
        let search = try #require(TextSearch("ab"))
        #expect(search.matches("ab") && search.matches("xxAB") && search.matches("aabx"))
        #expect(!search.matches("") && !search.matches("a") && !search.matches("ba") && !search.matches("a b"))
        let bracket = try #require(TextSearch("["))
        #expect(!bracket.matches("{") && bracket.matches("a[0]"))
    }
}
