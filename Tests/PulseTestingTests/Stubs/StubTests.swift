// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct StubTests {
    private struct User: Codable, Equatable {
        var id: Int
    }

    private static func send(_ request: URLRequest, to stubs: Stub...) async throws -> PulseResponse {
        try await MockTransport(stubs: stubs).send(TransportRequest(urlRequest: request))
    }

    private static func status(_ request: URLRequest, _ stub: Stub) async -> Int? {
        try? await send(request, to: stub.reply(.status(204))).statusCode
    }

    // MARK: Matching

    @Test(arguments: [
        (Stub(), true), (Stub(.get), true), (Stub(.post), false),
        (Stub(nil, "/users/{id}"), true), (Stub(.get, "/users/7"), true), (Stub(.get, "/users"), false),
        (Stub(.get, "/{rest...}"), true), (Stub(.get, "/users/7?page=2"), true), (Stub(.get, "/users/7?page=3"), false),
        (Stub(.get, "/users/7?empty=&page"), true), (Stub(.get, "/users/7?%ZZ=%"), false),
        (Stub(.get, "https://api.example.com/users/7"), true), (Stub(.get, "https://other.example/users/7"), false),
        (Stub(.get, "http://api.example.com/users/7"), false),
        (Stub(.get, "https://API.example.com:443/users/7"), true),
        (Stub(.get, "https://{tenant}.example.com/users/7"), false), (Stub(.get, "://api.example.com/users/7"), false),
        (Stub(.get, "/users/7?page=https://a.test/users/7"), false),
        (Stub(.get, "/x?to=https://a.test/users/7"), false),
        (Stub().query("page"), true), (Stub().query("page", "2"), true), (Stub().query("page", "3"), false),
        (Stub().query("empty", ""), true), (Stub().query("none"), false),
        (Stub().header("accept"), true), (Stub().header("ACCEPT", "text/plain"), true),
        (Stub().header("Accept", "text/html"), false), (Stub().header("X-None"), false),
        (Stub().host("API.EXAMPLE.COM"), true), (Stub().host("example.com"), false),
        (Stub().body(Data(#"{"b":[1],"a":2}"#.utf8)), true), (Stub().body(Data()), false),
        (Stub().body(json: ["a": 2, "b": [1]]), true), (Stub().body(json: ["a": 2]), false),
        (Stub().matching { $0.timeoutInterval > 0 }, true), (Stub().matching { _ in false }, false),
        (Stub(.get, "/users/{id}").query("page", "2").header("Accept").host("api.example.com"), true),
        (Stub(.get, "/users/{id}").query("page", "2").header("X-None"), false),
    ])
    func matchesRequestsThatSatisfyAllConditions(_ stub: Stub, matches: Bool) async {
        let request = URLRequest.mock(
            .get, "/users/7?page=2&empty=", headers: ["Accept": "text/plain"], body: Data(#"{"b":[1],"a":2}"#.utf8))
        #expect(await Self.status(request, stub) == (matches ? 204 : nil))
    }

    @Test func theFirstMatchingStubReplies() async throws {
        let first = Stub(.get, "/users/{id}").reply(.text("first"))
        let second = Stub(.get, "/users/7").reply(.text("second"))
        let response = try await Self.send(.mock(.get, "/users/7"), to: first, second)
        #expect(response.data == Data("first".utf8))
        #expect(first.count == 1 && second.count == 0)
    }

    @Test func anUnmatchedRequestFailsWithTheReasonOfEachStub() async throws {
        let stubs = [
            Stub(.post, "/users").reply(.status(201)),
            Stub(.get, "/users/{id}"),
            Stub(.get, "/teams").query("page", "9"),
            Stub(.get, "/teams").header("X-Team", "wanted"),
            Stub(.get, "/teams").matching("the moon is not full") { _ in false },
        ]
        let request = URLRequest.mock(.get, "/teams?page=present&token=s3cret", headers: ["X-Team": "theirs"])
        do {
            _ = try await MockTransport(stubs: stubs).send(TransportRequest(urlRequest: request))
            Issue.record("no error")
        } catch let error as PulseError {
            #expect(error.kind == .custom)
            #expect(!error.isRetryable)
            guard case .custom(let cause) = error, let unmatched = cause as? UnmatchedRequest else {
                Issue.record("\(error)")
                return
            }
            let text = unmatched.description
            #expect(text.hasPrefix("no stub for GET https://api.example.com/teams?page=present"))
            #expect(text.contains("1. POST /users: the method is GET"))
            #expect(text.contains("2. GET /users/{id}: the path is another"))
            #expect(text.contains("3. GET /teams: the query's page has another value"))
            #expect(text.contains("4. GET /teams: the header X-Team has another value"))
            #expect(text.contains("5. GET /teams: the moon is not full"))
            for secret in ["s3cret", "wanted", "theirs"] {
                #expect(!text.contains(secret))
            }
            #expect(stubs.allSatisfy { $0.count == 0 })
        }
    }

    @Test func showsNoSecretThatItsClientKnows() async throws {
        let client = ClientStage.client(
            .root.with(\.secretHeaders, value: ["badge"]), retry: .default, over: MockTransport(stubs: []))
        let result = await client.result(of: Request<String>(.get, "/a").query("badge", "hunter2"))
        guard case .failure(.custom(let unmatched as UnmatchedRequest)) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(
            unmatched.description
                == "no stub for GET https://api.example.com/a?badge=\(Redaction.mask): there are none")
        await client.shutdown()
    }

    @Test func anErrorReportsThatThereAreNoStubs() async {
        await #expect { try await Self.send(.mock(.delete, "/x")) } throws: {
            "\($0)".contains("no stub for DELETE https://api.example.com/x: there are none")
        }
    }

    // MARK: Replies

    @Test func usesItsRepliesInTurnAndRepeatsTheLast() async throws {
        let stub = Stub(.get, "/").reply(.status(503), .failure(URLError(.timedOut))).reply(.json(User(id: 7)))
        let transport = MockTransport(stubs: [stub])
        let request = TransportRequest(urlRequest: .mock())
        #expect(try await transport.send(request).statusCode == 503)
        await #expect(throws: URLError.self) { try await transport.send(request) }
        for _ in 0..<2 {
            let response = try await transport.send(request)
            #expect(try response.decode(User.self) == User(id: 7))
            #expect(response.headers["Content-Type"] == "application/json")
        }
        #expect(stub.count == 4)
    }

    @Test func stopsMatchingAfterItsLastReply() async throws {
        let once = Stub(.get, "/").reply(.status(201)).whenExhausted(.stopsMatching)
        let transport = MockTransport(stubs: [once, Stub(.get, "/").reply(.status(202)).whenExhausted(.stopsMatching)])
        let request = TransportRequest(urlRequest: .mock())
        #expect(try await transport.send(request).statusCode == 201)
        #expect(try await transport.send(request).statusCode == 202)
        await #expect { try await transport.send(request) } throws: { "\($0)".contains("given all its replies") }
        #expect(once.count == 1)
    }

    @Test func eachDerivedStubHasItsOwnCount() async throws {
        let base = Stub(.get, "/").reply(.status(201), .status(202))
        let derived = base.header("A")
        _ = try await Self.send(.mock(headers: ["A": "b"]), to: derived)
        #expect(derived.count == 1 && base.count == 0)
        #expect(try await Self.send(.mock(), to: base).statusCode == 201)
    }

    @Test func aStubWithoutRepliesReturnsAnEmptyResponse() async throws {
        let response = try await Self.send(.mock(), to: Stub())
        #expect(response.statusCode == 200 && response.data.isEmpty && response.origin == .mock)
    }

    @Test func passesPathValuesToTheClosure() async throws {
        let stub = Stub(.get, "/users/{id}/{rest...}").reply(
            .closure { request, parameters in
                PulseResponse(statusCode: 200, data: Data("\(parameters)".utf8), request: request)
            })
        let response = try await Self.send(.mock(.get, "/users/a%20b/c/d"), to: stub)
        let text = String(decoding: response.data, as: UTF8.self)
        #expect(text.contains(#""id": "a b""#) && text.contains(#""rest": "c/d""#))
    }

    @Test func delaysAReplyByAClock() async throws {
        let clock = TestClock()
        let call = Task { try await Self.send(.mock(), to: Stub().reply(.status(204).delayed(by: 3, on: clock))) }
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: 3)
        #expect(try await call.value.statusCode == 204)
        #expect(clock.sleeps == [3])
    }

    @Test func repliesWithJSONOfLiteralsAndVariables() async throws {
        let (id, name): (Int, String) = (7, "Ada")
        let replies: [Stub.Reply] = [
            .json(["a": 1, "b": "c"]), .json(["a": 1, "b": ["c": 1, "d": "e"]]), .json(["id": id, "name": name]),
            .json(["a": "b"]), .json([id], status: 201),
        ]
        var texts: [String] = []
        for reply in replies {
            let response = try await Self.send(.mock(), to: Stub().reply(reply))
            #expect(response.headers["Content-Type"] == "application/json")
            texts.append("\(response.statusCode) \(String(decoding: response.data, as: UTF8.self))")
        }
        #expect(
            texts == [
                #"200 {"a":1,"b":"c"}"#, #"200 {"a":1,"b":{"c":1,"d":"e"}}"#, #"200 {"id":7,"name":"Ada"}"#,
                #"200 {"a":"b"}"#, "201 [7]",
            ])
    }

    @Test func aValueThatIsNotJSONFailsWithTheReason() async {
        await #expect { try await Self.send(.mock(), to: Stub().reply(.json([Double.nan]))) } throws: {
            ($0 as? PulseError)?.kind == .encodingFailed
        }
    }

    @Test func keepsAContentTypeThatIsGiven() async throws {
        let reply = Stub.Reply.text("<a/>", status: 201, headers: ["content-type": "text/xml"])
        let response = try await Self.send(.mock(), to: Stub().reply(reply))
        #expect(response.headers.values(for: "Content-Type") == ["text/xml"])
        #expect(response.statusCode == 201)
    }
}
