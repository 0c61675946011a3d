// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import TestSupport
import Testing

@testable import PulseTesting

@Suite(.throttled)
struct CassetteIndexTests {
    private static func request(
        _ method: String, _ target: String, _ body: String? = nil, type: String = "application/json"
    ) throws -> TransportRequest {
        var request = URLRequest(url: try #require(URL(string: "https://api.example.com\(target)")))
        request.httpMethod = method
        guard let body else { return TransportRequest(urlRequest: request) }
        request.setValue(type, forHTTPHeaderField: "Content-Type")
        request.httpBody = Data(body.utf8)
        return TransportRequest(urlRequest: request, body: .bytes(Data(body.utf8)))
    }

    /// A recording of the requests, each with its number as the response.
    private static func record(_ requests: [TransportRequest]) async throws -> Cassette {
        let count = Locked(0)
        let recorder = CassetteRecorder(
            around: MockTransport { request in
                let number = count.withLock { count in
                    defer { count += 1 }
                    return count
                }
                return PulseResponse(statusCode: 200, data: Data("\(number)".utf8), request: request)
            }, clock: TestClock())
        for request in requests { _ = try await recorder.send(request) }
        return try Cassette(har: recorder.cassette.har)
    }

    /// Requests that differ in each part, with masks in each.
    private static func variants() throws -> [TransportRequest] {
        let mask = Redaction.mask
        let bodies = [
            nil, "x", "y", mask, "x \(mask)", #"{"a":1}"#, #"{ "a": 1.0 }"#, #"{"a":"\#(mask)"}"#, #"{"a":[2]}"#,
            #"{"password":"x"}"#, #"{"password":"y","a":1}"#,
        ]
        var requests: [TransportRequest] = []
        for target in ["/a", "/b?q=1", "/b?q=2&q=1", "/b?q=\(mask)", "/b?token=x&q=1", "/\(mask)", "/b?q=1&q=2"] {
            for method in ["GET", "POST"] {
                for body in bodies { requests.append(try request(method, target, body)) }
            }
        }
        for boundary in ["one", "two"] {
            requests.append(
                try request(
                    "POST", "/a", "--\(boundary)\r\n\r\n1\r\n--\(boundary)--\r\n",
                    type: "multipart/form-data; boundary=\(boundary)"))
        }
        return requests
    }

    @Test(arguments: [.all, [], .query, .body, [.query, .body], .host] as [Cassette.Matching])
    func findsWhatAComparisonWithAllFinds(matching: Cassette.Matching) async throws {
        let requests = try Self.variants()
        let capture = ExchangeCapture.cassette(secretHeaders: [])
        let tracks = try await Self.record(requests).playableEntries.map { CassetteTrack($0, capture.redaction) }
        let index = CassetteIndex(tracks, matching)
        #expect(index.groups.flatMap { $0 }.sorted() == Array(tracks.indices))
        // Some are known as secret to the request only.
        for names in [[], ["a"]] as [Set<String>] {
            let capture = ExchangeCapture.cassette(secretHeaders: names)
            for request in requests {
                let asked = CassetteRequest(request.urlRequest, request.body, capture)
                let found = index.groups(matching: asked).flatMap { index.groups[$0] }.sorted()
                #expect(found == tracks.indices.filter { tracks[$0].mismatch(asked, matching) == nil })
            }
        }
    }

    #if DEBUG
    enum Load: CaseIterable { case paths, pages, pagesWithSecrets, texts, operations, repeats }

    private static func request(_ number: Int, of load: Load) throws -> TransportRequest {
        switch load {
        case .paths: try request("/items/\(number)")
        case .pages: try request("/items?page=\(number)")
        case .pagesWithSecrets: try request("/items?page=\(number)&token=hunter\(number)")
        case .texts: try request("POST", "/items", "text \(number)", type: "text/plain")
        case .operations: try request("POST", "/graphql", #"{"query":"{ a }","variables":{"id":\#(number)}}"#)
        case .repeats: try request("/items")
        }
    }

    private static func request(_ target: String) throws -> TransportRequest { try request("GET", target) }

    @Test(arguments: Load.allCases, [Cassette.Order.byMatch, .asRecorded])
    func aPlayedRequestIsComparedOnce(load: Load, order: Cassette.Order) async throws {
        let requests = try (0..<100).map { try Self.request($0, of: load) }
        let player = CassettePlayer(try await Self.record(requests), order: order)
        let steps = try StepCount.taken {
            for (number, request) in requests.enumerated() {
                let response = try player.track(for: request).play(request.urlRequest)
                #expect(response.data == Data("\(number)".utf8))
            }
        }
        // Masks in a body take a few steps of their own.
        #expect((requests.count..<30 * requests.count).contains(steps))
        #expect(player.unplayedCount == 0)
    }

    /// A text of masks, which a body with many secrets becomes.
    @Test func manyMasksAreMatchedInLinearTime() {
        func steps(_ count: Int) -> Int {
            let recorded = String(repeating: "a \(Redaction.mask) b", count: count)
            let text = String(repeating: "a xyz b", count: count)
            return StepCount.taken { #expect(text.isLike(recorded)) }
        }
        let base = steps(500)
        #expect(steps(1_000) < 9 * base / 4)
        // Each byte counts, so no other search is left.
        #expect(base > 500 * 4)
    }
    #endif
}
