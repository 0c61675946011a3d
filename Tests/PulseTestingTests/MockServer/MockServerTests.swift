// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct MockServerTests {
    @Test func recordsARequestAsReceived() async throws {
        try await MockServer.run { server in
            server.on(.post, "/users/{id}/notes") { request in
                .text("hello \(request.parameters["id"] ?? "-")", status: 201)
            }
            let client = try WireClient.connect(to: server.port)
            let text =
                "POST /users/a%20b/notes?q=1&q=%C3%A9+x HTTP/1.1\r\nhost: x\r\nX-One: a\r\nx-one:  b \r\n"
                + "Content-Length: 4\r\n\r\nbody"
            let response = try await client.exchange(text)
            #expect(response.head.hasPrefix("HTTP/1.1 201 Created\r\n"))
            #expect(response.body == "hello a b")

            let request = try #require(server.requests.first)
            #expect(server.requests.count == 1)
            #expect(request.method == .post)
            #expect(request.target == "/users/a%20b/notes?q=1&q=%C3%A9+x")
            #expect(request.path == "/users/a%20b/notes")
            #expect(request.query == "q=1&q=%C3%A9+x")
            #expect(request.queryItems.map(\.value) == ["1", "é+x"])
            #expect(request.headers.map(\.name) == ["host", "X-One", "x-one", "Content-Length"])
            #expect(request.headers.values(for: "X-ONE") == ["a", "b"])
            #expect(request.text == "body")
            #expect(request.byteCount == text.utf8.count)
            #expect(request.isComplete)
            #expect(request.connection == 0 && request.indexOnConnection == 0)
        }
    }

    /// A HEAD has the fields of the GET, no body, no range, and uses up no planned failure.
    @Test func aHeadRequestIsServedWithoutABody() async throws {
        try await MockServer.run { server in
            server.serve(MockServer.File(Data("film".utf8), etag: "\"1\"").dropping(after: 1), at: "/film")
            server.onEvents("/feed") { _, feed in try await feed.send(ServerSentEvent(data: "a")) }
            let client = try WireClient.connect(to: server.port)
            let head = try await client.exchange("HEAD /film HTTP/1.1\r\nHost: x\r\nRange: bytes=1-2\r\n\r\n")
            #expect(head.status == 200 && head.header("Content-Length") == ["4"] && head.header("ETag") == ["\"1\""])
            let feed = try await client.exchange("HEAD /feed HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(feed.status == 200 && feed.header("Content-Type") == ["text/event-stream"])
            #expect(try await client.receiveToEnd() == ("", .finished))
            let other = try WireClient.connect(to: server.port)
            let dropped = try? await other.exchange(get("/film"))
            #expect(dropped?.body != "film")
        }
    }

    @Test func anUploadHasNoMoreBytesThanItWasCreatedWith() async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            let client = try WireClient.connect(to: server.port)
            func send(_ line: String, _ fields: String, _ body: String = "") async throws -> Int {
                try await client.exchange(
                    "\(line) HTTP/1.1\r\nHost: x\r\nTus-Resumable: 1.0.0\r\n\(fields)"
                        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
                ).status
            }
            func patch(_ offset: Int, _ body: String) async throws -> Int {
                let type = "Content-Type: application/offset+octet-stream\r\n"
                return try await send("PATCH /up/1", type + "Upload-Offset: \(offset)\r\n", body)
            }
            #expect(try await send("POST /up", "Upload-Length: 3\r\n") == 201)
            #expect(try await patch(0, "abcd") == 413)
            #expect(try await patch(0, "ab") == 204)
            #expect(try await patch(2, "cd") == 413)
            #expect(uploads.uploads.map(\.data) == [Data("ab".utf8)])
            #expect(try await patch(2, "c") == 204)
        }
    }

    @Test func decodesAChunkedBodyAndKeepsItsTrailers() async throws {
        try await MockServer.run { server in
            server.on(.put, "/") { .text($0.text) }
            let client = try WireClient.connect(to: server.port)
            let response = try await client.exchange(
                "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "3;name=value\r\nabc\r\nA\r\n0123456789\r\n0\r\nX-Sum: 7\r\n\r\n")
            #expect(response.body == "abc0123456789")
            #expect(server.requests.first?.trailers["x-sum"] == "7")
            #expect(server.requests.first?.bodyByteCount == 13)
        }
    }

    @Test func keepsAConnectionAliveAndCountsItsRequests() async throws {
        try await MockServer.run { server in
            server.on(.get, "/a") { .text("\($0.connection) \($0.indexOnConnection)") }
            let first = try WireClient.connect(to: server.port)
            let second = try WireClient.connect(to: server.port)
            #expect(try await first.exchange(get("/a")).body == "0 0")
            #expect(try await first.exchange(get("/a")).body == "0 1")
            #expect(try await second.exchange(get("/a")).body == "1 0")
            #expect(server.connectionCount == 2)
            #expect(server.openConnectionCount == 2)
        }
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: x\r\nConnection: Keep-Alive, Close\r\n\r\n", true),
        ("GET / HTTP/1.0\r\n\r\n", true),
        ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", false),
    ])
    func endsTheConnectionWhenTheClientAsksForIt(_ request: String, closes: Bool) async throws {
        try await MockServer.run { server in
            server.on(.get, "/") { _ in .text("ok") }
            let client = try WireClient.connect(to: server.port)
            #expect(try await client.exchange(request).header("Connection") == (closes ? ["close"] : []))
            if closes {
                #expect(try await client.receiveToEnd() == ("", .finished))
            } else {
                #expect(try await client.exchange(get("/")).status == 200)
            }
        }
    }

    /// RFC 9110, section 15.2, and RFC 9112, section 6.1.
    @Test func sendsNothingUnsupportedToAClientOfHTTP10() async throws {
        try await MockServer.run { server in
            server.on(.get, "/") { _ in
                var response = MockServer.Response(body: .repeating(Data("ab".utf8), times: 2))
                response.informational = [.init(status: 103)]
                return response
            }
            server.on(.get, "/stream") { _ in
                let (stream, source) = AsyncStream<Data>.makeStream()
                source.yield(Data("abc".utf8))
                source.finish()
                return MockServer.Response(body: .stream(stream))
            }
            let client = try WireClient.connect(to: server.port)
            let reply = try await client.exchange("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            #expect(reply == .init(head: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", body: "abab"))
            try await client.send("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            let text = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc"
            #expect(try await client.receiveToEnd() == (text, .finished))
        }
    }

    @Test func respondsToPipelinedRequestsInOrder() async throws {
        try await MockServer.run { server in
            server.on(.get, "/{name}") { .text($0.parameters["name"] ?? "") }
            let client = try WireClient.connect(to: server.port)
            try await client.send(get("/one") + get("/two") + get("/three"))
            for name in ["one", "two", "three"] {
                #expect(try await client.receiveResponse().body == name)
            }
        }
    }

    @Test func playsAScriptAndRepeatsItsLastResponse() async throws {
        try await MockServer.run { server in
            server.on(.get, "/", script: [.status(503), .status(429), .text("ok")])
            server.on(.get, "/empty", script: [])
            let client = try WireClient.connect(to: server.port)
            var statuses: [Int] = []
            for _ in 0..<4 { statuses.append(try await client.exchange(get("/")).status) }
            #expect(statuses == [503, 429, 200, 200])
            #expect(try await client.exchange(get("/empty")).status == 500)
        }
    }

    @Test func aRequestWithoutARouteGetsThe404WithTheRoutes() async throws {
        try await MockServer.run { server in
            server.on(.get, "/users/{id}") { _ in .text("") }
            let client = try WireClient.connect(to: server.port)
            let response = try await client.exchange(get("/nowhere?token=s3cret"))
            #expect(response.status == 404)
            #expect(response.body.contains("GET /nowhere\n"))
            #expect(response.body.contains("GET /users/{id}"))
            server.fallback { .text($0.path, status: 418) }
            #expect(try await client.exchange(get("/teapot")).body == "/teapot")
        }
    }

    @Test func prefersTheRouteThatWasAddedLast() async throws {
        try await MockServer.run { server in
            server.on(.get, "/users/{id}") { _ in .text("any") }
            server.on(.get, "/users/me") { _ in .text("me") }
            let client = try WireClient.connect(to: server.port)
            #expect(try await client.exchange(get("/users/me")).body == "me")
            #expect(try await client.exchange(get("/users/1")).body == "any")
            server.on(.get, "/users/{id}") { _ in .text("replaced") }
            #expect(try await client.exchange(get("/users/1")).body == "replaced")
        }
    }

    @Test func respondsToAnExpectationBeforeItReadsTheBody() async throws {
        try await MockServer.run { server in
            server.on(.post, "/") { .text($0.text) }
            let client = try WireClient.connect(to: server.port)
            try await client.send(
                "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
            #expect(try await client.receiveResponse(hasBody: false).head == "HTTP/1.1 100 Continue\r\n\r\n")
            #expect(try await client.exchange("hi").body == "hi")
        }
    }

    @Test func refusesAnExpectationWithoutReadingTheBody() async throws {
        try await MockServer.run { server in
            server.on(.post, "/", reading: .headOnly) { _ in .status(417) }
            let client = try WireClient.connect(to: server.port)
            let response = try await client.exchange(
                "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
            #expect(response.status == 417)
            #expect(response.header("Connection") == ["close"])
            #expect(server.requests.isEmpty)
            #expect(server.activity.incompleteRequests.count == 1)
        }
    }

    @Test func respondsWith500AndTheErrorOfAHandler() async throws {
        struct Broken: Error {}
        try await MockServer.run { server in
            server.on(.get, "/") { _ in throw Broken() }
            let client = try WireClient.connect(to: server.port)
            let response = try await client.exchange(get("/"))
            #expect(response.status == 500)
            #expect(response.body.contains("Broken"))
        }
    }

    @Test(
        arguments: [
            (.status(200, headers: ["X-A": "b\r\nX-Forged: 1"]), "header X-A"),
            (.status(200, headers: ["X-A: b\r\nX-Forged": "1"]), "not a token"),
            (.init(reason: "OK\r\nX-Forged: 1"), "reason phrase"),
            (.init(informational: [.init(status: 103, headers: ["X-B": "\n"])]), "header X-B"),
            (.text("a").framed(.chunked(trailers: ["X-C": "\0"])), "header X-C"),
        ] as [(MockServer.Response, String)])
    func respondsWith500InPlaceOfAnInvalidHeader(invalid: MockServer.Response, reason: String) async throws {
        try await MockServer.run { server in
            server.on(.get, "/") { _ in invalid }
            server.on(.get, "/raw") { _ in .raw([.text("HTTP/1.1 200 OK\r\nX-A: \0\r\nContent-Length: 0\r\n\r\n")]) }
            let client = try WireClient.connect(to: server.port)
            let response = try await client.exchange(get("/"))
            #expect(response.status == 500)
            #expect(response.body.contains("GET / returned") && response.body.contains(reason))
            #expect(!response.head.contains("X-Forged"))
            #expect(try await client.exchange(get("/raw")).head.contains("X-A: \0"))
        }
    }

    @Test func cancelsTheHandlerWhenTheClientLeaves() async throws {
        try await MockServer.run { server in
            let (ends, end) = AsyncStream<Bool>.makeStream()
            server.on(.get, "/") { _ in
                defer { end.finish() }
                for await _ in AsyncStream<Never>.makeStream().stream {}
                end.yield(Task.isCancelled)
                return .text("too late")
            }
            let client = try WireClient.connect(to: server.port)
            try await client.send(get("/"))
            try await server.requests(atLeast: 1)
            client.close()
            var wasCancelled: Bool?
            for await value in ends { wasCancelled = value }
            #expect(wasCancelled == true)
        }
    }

    @Test(arguments: [false, true])
    func provesThatTheClientClosedItsConnection(resetting: Bool) async throws {
        try await MockServer.run { server in
            server.on(.get, "/") { _ in .raw([.stall]) }
            let client = try WireClient.connect(to: server.port)
            try await client.send(get("/"))
            try await server.requests(atLeast: 1)
            #expect(server.activity.connectionsClosedByClient.isEmpty)
            client.close(resetting: resetting)
            let closed = try await server.connectionsClosedByClient()
            #expect(closed.map(\.ending) == [resetting ? .resetByClient : .closedByClient])
            try await server.wait { $0.openConnectionCount == 0 }
        }
    }

    @Test func endsAWaitWhenItsTaskIsCancelledOrTheServerShutsDown() async throws {
        let server = try await MockServer.start()
        let cancelled = Task { try await server.requests(atLeast: 1) }
        cancelled.cancel()
        await #expect(throws: PulseError.self) { try await cancelled.value }
        let waiting = Task { try await server.requests(atLeast: 1) }
        await server.shutdown()
        await #expect(throws: PulseError.self) { try await waiting.value }
    }

    @Test func recordsMalformedRequestsAndRespondsToThem() async throws {
        try await MockServer.run { server in
            let client = try WireClient.connect(to: server.port)
            try await client.send("NOT HTTP\r\n\r\n")
            let (text, end) = try await client.receiveToEnd()
            #expect(text.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
            #expect(end == .finished)
            #expect(server.activity.malformedRequests.map(\.status) == [400])

            let leaver = try WireClient.connect(to: server.port)
            try await leaver.send("GET / HTTP/1.1\r\nHos")
            leaver.close()
            let activity = try await server.wait { $0.malformedRequests.count == 2 }
            #expect(activity.malformedRequests.last?.status == 0)
        }
    }

    @Test func refusesAHeaderBlockAboveTheLimit() async throws {
        try await MockServer.run(MockServer.Configuration(maxHeadSize: 200)) { server in
            let client = try WireClient.connect(to: server.port)
            try await client.send(
                "GET / HTTP/1.1\r\nHost: x\r\nX: \(String(repeating: "a", count: 300))\r\n\r\n")
            #expect(try await client.receiveToEnd().text.hasPrefix("HTTP/1.1 431 "))
        }
    }

    @Test func recordsTheFirstBytesOfATooLongBody() async throws {
        try await MockServer.run(MockServer.Configuration(maxRecordedBodySize: 10)) { server in
            server.on(.post, "/") { .text("\($0.bodyByteCount)") }
            let client = try WireClient.connect(to: server.port)
            let body = String(repeating: "0123456789", count: 30_000)
            let response = try await client.exchange(
                "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.count)\r\n\r\n" + body)
            #expect(response.body == "300000")
            #expect(server.requests.first?.text == "0123456789")
        }
    }

    @Test func servesHeadByTheRouteForGet() async throws {
        try await MockServer.run { server in
            server.on(.get, "/") { _ in try .json(["b": 1, "a": 2]) }
            let client = try WireClient.connect(to: server.port)
            let response = try await client.exchange("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(response.header("Content-Length") == ["13"])
            #expect(response.header("Content-Type") == ["application/json"])
            #expect(try await client.exchange(get("/")).body == #"{"a":2,"b":1}"#)
            #expect(server.requests.map(\.method) == [.head, .get])
        }
    }

    @Test func respondsWithJSONOfLiteralsAndVariables() async throws {
        let (id, name): (Int, String) = (7, "Ada")
        try await MockServer.run { server in
            server.on(.get, "/literal") { _ in try .json(["a": 1, "b": ["c": 1, "d": "e"]]) }
            server.on(.get, "/variables") { _ in try .json(["id": id, "name": name], status: 202) }
            let client = try WireClient.connect(to: server.port)
            #expect(try await client.exchange(get("/literal")).body == #"{"a":1,"b":{"c":1,"d":"e"}}"#)
            #expect(try await client.exchange(get("/variables")).body == #"{"id":7,"name":"Ada"}"#)
        }
    }

    @Test func sendsMoreThanTheSystemBuffers() async throws {
        try await MockServer.run(MockServer.Configuration(sendBufferSize: 8192)) { server in
            let unit = Data((0..<1000).map { UInt8($0 % 251) })
            server.on(.get, "/") { _ in
                MockServer.Response(body: .repeating(unit, times: 8000), framing: .asGiven)
            }
            let client = try WireClient.connect(to: server.port)
            try await client.send(get("/"))
            _ = try await client.receiveResponse()
            let body = try await client.receive(8_000_000)
            #expect(body.count == 8_000_000)
            #expect(body.suffix(1000) == unit)
            try await server.wait { $0.connections[0].sentByteCount == 8_000_019 }
        }
    }

    @Test func forgetsRequestsAndKeepsConnections() async throws {
        try await MockServer.run { server in
            let client = try WireClient.connect(to: server.port)
            _ = try await client.exchange(get("/1"))
            server.forgetRequests()
            #expect(server.requests.isEmpty)
            _ = try await client.exchange(get("/2"))
            #expect(server.requests.map(\.path) == ["/2"])
            #expect(server.connectionCount == 1)
        }
    }

    @MainActor @Test func runsOnTheActorOfItsCaller() async throws {
        var count = 0
        try await MockServer.run { server in
            MainActor.assertIsolated()
            count += server.connectionCount + 1
        }
        #expect(count == 1)
    }

    @Test func servesTheOtherLoopbackAddress() async throws {
        try await MockServer.run(MockServer.Configuration(host: .ipv6)) { server in
            server.on(.get, "/") { _ in .text("six") }
            #expect(server.baseURL.absoluteString == "http://[::1]:\(server.port)")
            let client = try WireClient.connect(to: server.port, ipv6: true)
            #expect(try await client.exchange(get("/")).body == "six")
        }
    }

    @Test func anUpgradePassesTheConnectionToItsClosure() async throws {
        try await MockServer.run { server in
            server.on(.get, "/socket") { _ in
                .upgrade(headers: ["Connection": "Upgrade", "Upgrade": "echo"]) { conversation in
                    while let bytes = try await conversation.receive() { try await conversation.send(bytes) }
                }
            }
            let client = try WireClient.connect(to: server.port)
            let early = get("/socket") + "early"
            let response = try await client.exchange(early)
            #expect(response.head == "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
            #expect(try await client.receive(5) == Data("early".utf8))
            try await client.send("late")
            #expect(try await client.receive(4) == Data("late".utf8))
            client.endSending()
            #expect(try await client.receiveToEnd() == ("", .finished))
        }
    }
}

func get(_ target: String) -> String { "GET \(target) HTTP/1.1\r\nHost: x\r\n\r\n" }
