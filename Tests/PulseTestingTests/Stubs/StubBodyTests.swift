// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct StubBodyTests {
    private static func send(_ request: URLRequest, to stubs: Stub...) async throws -> PulseResponse {
        try await MockTransport(stubs: stubs).send(TransportRequest(urlRequest: request))
    }

    private static let body = Data(
        #"{"user": {"id": 7, "name": "s3cret", "roles": [{"of": "a", "on": 1}, {"of": "b"}]}, "empty": null, "n": 2.0}"#
            .utf8)

    // MARK: JSON

    private static let parts: [(JSONValue, Bool)] = [
        ([:], true), (["user": [:]], true), (["user": ["id": 7]], true), (["user": ["id": 7.0]], true),
        (["n": 2], true), (["empty": nil], true), (["user": ["roles": []]], true),
        (["user": ["roles": [["of": "b"], ["of": "a"]]]], true), (["user": ["roles": [["of": "a", "on": 1]]]], true),
        (["user": ["id": 8]], false), (["user": ["id": "7"]], false), (["user": ["none": 1]], false),
        (["user": 7], false), ([], false), (["user": ["roles": [["of": "c"]]]], false),
        (["user": ["roles": [["of": "b", "on": 1]]]], false), (["none": nil], false),
    ]

    @Test(arguments: parts)
    func matchesAContainedJSONValue(_ part: JSONValue, _ isThere: Bool) async {
        let request = URLRequest.mock(.post, "/", body: Self.body)
        let response = try? await Self.send(request, to: Stub(.post).body(jsonContaining: part).reply(.status(204)))
        #expect((response?.statusCode == 204) == isThere)
    }

    @Test func aJSONBodyIsComparedByItsValueAndNotByItsSpelling() async throws {
        let request = URLRequest.mock(.post, "/", body: Data(#" { "b" : [ 1.0 ], "a" : "\u0041" } "#.utf8))
        #expect(try await Self.send(request, to: Stub().body(json: ["a": "A", "b": [1]])).statusCode == 200)
        await #expect(throws: PulseError.self) {
            try await Self.send(request, to: Stub().body(json: ["a": "A"]))
        }
    }

    private static let missing: [(JSONValue, String)] = [
        (["user": ["name": "wanted"]], "the body has another value at user.name"),
        (["user": ["mail": "wanted"]], "the body has no user.mail"),
        (["user": ["roles": [["of": "a"], ["of": "wanted"]]]], "the body has no element in user.roles"),
        (["user": [["of": "wanted"]]], "the body has another value at user"),
    ]

    @Test(arguments: missing)
    func aMismatchNamesTheMissingKeyAndShowsNoValue(_ part: JSONValue, _ reason: String) async throws {
        let error = await #expect(throws: PulseError.self) {
            try await Self.send(.mock(.post, "/", body: Self.body), to: Stub().body(jsonContaining: part))
        }
        guard case .custom(let cause)? = error, let unmatched = cause as? UnmatchedRequest else {
            Issue.record("another error")
            return
        }
        #expect(unmatched.description.contains(reason))
        #expect(!unmatched.description.contains("s3cret") && !unmatched.description.contains("wanted\""))
    }

    @Test func aBodyThatIsNotJSONContainsNoJSONValue() async {
        for body in [nil, Data(), Data("<a/>".utf8)] {
            await #expect(throws: PulseError.self) {
                try await Self.send(.mock(.post, "/", body: body), to: Stub().body(jsonContaining: [:]))
            }
        }
    }

    // MARK: Echo

    @Test func anEchoIsTheUnchangedBody() async throws {
        let request = URLRequest.mock(.post, "/", headers: ["Content-Type": "text/csv"], body: Data("a,b".utf8))
        let response = try await Self.send(request, to: Stub().reply(.echo))
        #expect(response.statusCode == 200 && response.data == Data("a,b".utf8))
        #expect(response.headers.values(for: "Content-Type") == ["text/csv"])
        let empty = try await Self.send(.mock(), to: Stub().reply(.echo))
        #expect(empty.data.isEmpty && !empty.headers.contains("Content-Type"))
    }

    @Test func anEchoedRequestIncludesChangesByPlugins() async throws {
        let request = URLRequest.mock(
            .put, "/users/7?page=2", headers: ["X-Trace": "1"], body: Data("text".utf8))
        let echo = try await Self.send(request, to: Stub().reply(.echoRequest)).decode(Stub.Echo.self)
        #expect(echo.method == "PUT")
        #expect(echo.url == "https://api.example.com/users/7?page=2")
        #expect(echo.header("x-TRACE") == "1" && echo.header("X-None") == nil)
        #expect(echo.body == "text")
        let bare = try await Self.send(.mock(body: Data([0xFF])), to: Stub().reply(.echoRequest)).decode(Stub.Echo.self)
        #expect(bare.body == nil)
    }

    // MARK: Bandwidth

    @Test func bandwidthDelaysABufferedBody() async throws {
        let clock = TestClock(autoAdvances: true)
        let reply = Stub.Reply.data(Data(repeating: 1, count: 1000)).bandwidth(100, on: clock)
        let response = try await Self.send(.mock(), to: Stub().reply(reply))
        #expect(response.data == Data(repeating: 1, count: 1000))
        #expect(abs(clock.uptime - 10) < 1e-9)
    }

    @Test func bandwidthDelaysEachChunkOfAStreamedBody() async throws {
        let clock = TestClock()
        let reply = Stub.Reply.data(Data(repeating: 1, count: 100)).bandwidth(100, on: clock)
        let transport = MockTransport(stubs: [Stub().reply(reply)])
        let response = try await transport.send(TransportRequest(urlRequest: .mock(), delivery: .streamed))
        let stream = try #require(response.bytes)
        let reading = Task {
            var sizes: [Int] = []
            for try await chunk in stream { sizes.append(chunk.count) }
            return sizes
        }
        for _ in 0..<10 {
            await clock.sleepers(atLeast: 1)
            await clock.advance(by: 0.1)
        }
        #expect(try await reading.value == Array(repeating: 10, count: 10))
        #expect(clock.sleeps.count == 10)
    }

    @Test func anAbandonedStreamEndsItsSource() async throws {
        let ended = Locked(0)
        let clock = TestClock(autoAdvances: true)
        let reply = Stub.Reply.closure { request, _ in
            var response = PulseResponse(statusCode: 200, request: request)
            response.body = .stream(ByteStream(next: { Data([1]) }, cancel: { ended.withLock { $0 += 1 } }))
            return response
        }
        let transport = MockTransport(stubs: [Stub().reply(reply.bandwidth(1, on: clock))])
        for isCancelled in [true, false] {
            let response = try await transport.send(TransportRequest(urlRequest: .mock(), delivery: .streamed))
            let stream = try #require(response.bytes)
            for try await _ in stream {
                if isCancelled { stream.cancel() }
                break
            }
        }
        #expect(ended.withLock { $0 } == 2)
    }

    @Test(arguments: [0, -1, .nan, .infinity] as [Double])
    func anInvalidBandwidthIsNoLimit(_ bandwidth: Double) async throws {
        let clock = TestClock()
        let reply = Stub.Reply.text("body").bandwidth(bandwidth, on: clock)
        #expect(try await Self.send(.mock(), to: Stub().reply(reply)).data == Data("body".utf8))
        #expect(clock.sleeps.isEmpty)
    }

    @Test func aBandwidthOfOneByteADayIsValid() async throws {
        let clock = TestClock(autoAdvances: true)
        let reply = Stub.Reply.data(Data([1, 2])).bandwidth(1.0 / 86400, on: clock)
        #expect(try await Self.send(.mock(), to: Stub().reply(reply)).data == Data([1, 2]))
        #expect(abs(clock.uptime - 2 * 86400) < 1e-6)
    }
}
