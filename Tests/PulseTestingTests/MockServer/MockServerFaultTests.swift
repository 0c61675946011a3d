// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct MockServerFaultTests {
    typealias Response = MockServer.Response

    // MARK: When the connection is accepted

    @Test func resetsAConnectionBeforeItReads() async throws {
        try await MockServer.run { server in
            server.onAccept { $0 == 0 ? [.reset] : [] }
            server.on(.get, "/") { _ in .text("ok") }
            let first = try WireClient.connect(to: server.port)
            #expect(try await first.receiveToEnd() == ("", .reset))
            let second = try WireClient.connect(to: server.port)
            #expect(try await second.exchange(get("/")).body == "ok")
            #expect(server.requests.map(\.connection) == [1])
        }
    }

    @Test func sendsAnotherProtocolBeforeItReads() async throws {
        try await MockServer.run { server in
            server.onAccept { _ in [.text("220 mail ready\r\n"), .close] }
            let client = try WireClient.connect(to: server.port)
            #expect(try await client.receiveToEnd() == ("220 mail ready\r\n", .finished))
        }
    }

    @Test func acceptsAndReadsNothingUntilTheClientLeaves() async throws {
        try await MockServer.run { server in
            server.onAccept { _ in [.stall] }
            let client = try WireClient.connect(to: server.port)
            try await client.send(get("/"))
            try await server.wait { $0.connections.count == 1 }
            client.close()
            try await server.wait { $0.openConnectionCount == 0 }
            #expect(server.requests.isEmpty)
            #expect(server.activity.connectionsClosedByClient.count == 1)
        }
    }

    // MARK: Within the request

    @Test func resetsInTheMiddleOfARequestBody() async throws {
        try await MockServer.run { server in
            server.on(.post, "/", reading: .interrupted(after: 3, .reset)) { _ in .text("never") }
            let client = try WireClient.connect(to: server.port)
            try await client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345")
            #expect(try await client.receiveToEnd() == ("", .reset))
            #expect(server.requests.isEmpty)
            let cut = try #require(server.activity.incompleteRequests.first)
            #expect(cut.text == "12345" && !cut.isComplete)
            #expect(server.activity.connections.first?.ending == .closedByServer)
        }
    }

    @Test func respondsInTheMiddleOfARequestBodyAndKeepsReading() async throws {
        try await MockServer.run { server in
            server.on(.post, "/", reading: .interrupted(after: 2, .text("HTTP/1.1 102 Processing\r\n\r\n"))) {
                .text($0.text)
            }
            let client = try WireClient.connect(to: server.port)
            try await client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab")
            #expect(try await client.receiveResponse(hasBody: false).status == 102)
            #expect(try await client.exchange("cd").body == "abcd")
        }
    }

    @Test func readsARequestSlowlyByItsClock() async throws {
        let clock = TestClock()
        try await MockServer.run(clock: clock) { server in
            server.on(.post, "/", reading: .slowly(bytes: 10_000, every: 2)) { .text("\($0.bodyByteCount)") }
            let client = try WireClient.connect(to: server.port)
            let size = 300_000
            let response = Task {
                try await client.exchange(
                    "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: \(size)\r\n\r\n"
                        + String(repeating: "a", count: size))
            }
            await clock.sleepers(atLeast: 1)
            // The clock stands still: however fast the client sends, only one piece is read.
            let arriving = server.activity.incompleteRequests.map(\.bodyByteCount)
            #expect(arriving.count == 1 && arriving[0] <= 10_000)
            #expect(server.requests.isEmpty)
            clock.autoAdvances = true
            await clock.advance(by: 2)
            #expect(try await response.value.body == "\(size)")
            #expect(clock.sleeps.count >= 30)
            #expect(clock.sleeps.allSatisfy { $0 == 2 })
        }
    }

    @Test func keepsATruncatedRequest() async throws {
        try await MockServer.run { server in
            let client = try WireClient.connect(to: server.port)
            try await client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n123")
            try await server.wait { $0.incompleteRequests.first?.bodyByteCount == 3 }
            client.close()
            let activity = try await server.wait { $0.openConnectionCount == 0 }
            #expect(activity.incompleteRequests.map(\.text) == ["123"])
            #expect(activity.requests.isEmpty)
        }
    }

    /// An unread socket does not report the end of its client.
    @Test(arguments: [MockServer.Reading.headOnly, .interrupted(after: 1000, .stall)])
    func noticesTheEndOfAClientDuringAStallWithAnUnreadBody(_ reading: MockServer.Reading) async throws {
        try await MockServer.run { server in
            server.on(.post, "/", reading: reading) { _ in .raw([.stall]) }
            let client = try WireClient.connect(to: server.port)
            try await client.send(
                "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n"
                    + String(repeating: "a", count: 1_000_000))
            client.close()
            let activity = try await server.wait { $0.connections.count == 1 && $0.openConnectionCount == 0 }
            #expect(activity.connectionsClosedByClient.count == 1)
        }
    }

    // MARK: Instead of a response

    @Test func closesAKeptAliveConnectionAfterTheRequestWasRead() async throws {
        try await MockServer.run { server in
            server.on(.post, "/", script: [.text("one"), .disconnect])
            let client = try WireClient.connect(to: server.port)
            let request = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
            #expect(try await client.exchange(request).body == "one")
            try await client.send(request)
            #expect(try await client.receiveToEnd() == ("", .finished))
            #expect(server.requests.map(\.indexOnConnection) == [0, 1])
        }
    }

    @Test func sendsGarbageInPlaceOfAStatusLine() async throws {
        try await MockServer.run { server in
            server.on(.get, "/") { _ in .raw([.bytes(Data([0, 255, 13, 10])), .close]) }
            let client = try WireClient.connect(to: server.port)
            try await client.send(get("/"))
            #expect(try await client.receive(100) == Data([0, 255, 13, 10]))
        }
    }

    @Test func endsAStallAtShutdown() async throws {
        let server = try await MockServer.start()
        server.on(.get, "/") { _ in Response.text("never").fault(.stall, at: .start) }
        let client = try WireClient.connect(to: server.port)
        try await client.send(get("/"))
        try await server.requests(atLeast: 1)
        await server.shutdown()
        #expect(try await client.receiveToEnd() == ("", .finished))
    }

    // MARK: Within the response

    @Test(arguments: [
        (Response.text("0123456789").fault(.close, at: .head(12)), "HTTP/1.1 200"),
        (
            .text("0123456789").truncated(after: 4),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 10\r\n\r\n0123"
        ),
        (
            .data(Data("0123".utf8)).framed(.claimedLength(9)),
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\n0123"
        ),
        (
            .data(Data("0123".utf8)).framed(.chunked()).truncated(after: 2),
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n01"
        ),
        (.data(Data("0123".utf8)).framed(.untilClose), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n0123"),
        (
            .data(Data("01".utf8)).fault(.halfClose, at: .body(1)),
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n0"
        ),
    ])
    func truncatesAResponse(_ response: Response, received: String) async throws {
        try await MockServer.run { server in
            server.on(.get, "/") { _ in response }
            let client = try WireClient.connect(to: server.port)
            try await client.send(get("/"))
            #expect(try await client.receiveToEnd() == (received, .finished))
        }
    }

    @Test func resetsInTheMiddleOfAResponse() async throws {
        try await MockServer.run { server in
            server.on(.get, "/") { _ in Response.text("0123456789").fault(.reset, at: .body(5)) }
            let client = try WireClient.connect(to: server.port)
            try await client.send(get("/"))
            #expect(try await client.receiveToEnd().end == .reset)
        }
    }

    @Test func delaysTheRestOfAResponse() async throws {
        let clock = TestClock()
        try await MockServer.run(clock: clock) { server in
            server.on(.get, "/") { _ in Response.data(Data("0123".utf8)).fault(.delay(30), at: .body(2)) }
            let client = try WireClient.connect(to: server.port)
            try await client.send(get("/"))
            #expect(try await client.receive(40).suffix(4) == Data("\r\n01".utf8))
            await clock.sleepers(atLeast: 1)
            await clock.advance(by: 30)
            #expect(try await client.receive(2) == Data("23".utf8))
            #expect(clock.sleeps == [30])
        }
    }

    @Test func aPaceDelaysAResponseByTheServersClock() async throws {
        let clock = TestClock(autoAdvances: true)
        try await MockServer.run(clock: clock) { server in
            server.on(.get, "/") { _ in Response.data(Data("0123456789".utf8)).dripping(10, every: 0.5) }
            let client = try WireClient.connect(to: server.port)
            let response = try await client.exchange(get("/"))
            #expect(response.body == "0123456789")
            // 39 bytes of header fields in 4 pieces, 10 of body in one; header fields and body are separate pieces.
            #expect(clock.sleeps == [0.5, 0.5, 0.5, 0.5])
        }
    }

    @Test func readsTheNextRequestAsSoonAsTheLastDropIsSent() async throws {
        let clock = TestClock()
        try await MockServer.run(clock: clock) { server in
            server.on(.get, "/") { _ in Response.status(200).dripping(4096, every: 1) }
            let client = try WireClient.connect(to: server.port)
            for _ in 0..<2 {
                #expect(try await client.exchange(get("/")).status == 200)
            }
            #expect(clock.sleeps.isEmpty)
        }
    }

    @Test func aPaceAppliesToAStreamLikeToOtherBytes() async throws {
        let clock = TestClock(autoAdvances: true)
        try await MockServer.run(clock: clock) { server in
            let (stream, source) = AsyncStream<Data>.makeStream()
            source.yield(Data("ab".utf8))
            source.yield(Data("cd".utf8))
            source.finish()
            server.on(.get, "/") { _ in Response(body: .stream(stream), framing: .untilClose).dripping(4096, every: 2) }
            let client = try WireClient.connect(to: server.port)
            try await client.send(get("/"))
            #expect(try await client.receiveToEnd().text.hasSuffix("\r\n\r\nabcd"))
            // The header fields are a piece of their own.
            #expect(clock.sleeps == [2, 2])
        }
    }

    @Test func sendsWithoutEndUntilTheClientLeaves() async throws {
        try await MockServer.run { server in
            let unit = Data(repeating: 0x61, count: 10_000)
            server.on(.get, "/") { _ in Response(body: .repeating(unit, times: nil), framing: .untilClose) }
            let client = try WireClient.connect(to: server.port)
            try await client.send(get("/"))
            #expect(try await client.receive(3_000_000).count == 3_000_000)
            client.close()
            try await server.wait { $0.openConnectionCount == 0 }
        }
    }

    /// A response that is blocked while the request is still being read must not lose either direction. On Linux two
    /// dispatch sources of one descriptor sometimes do.
    @Test func noticesTheEndOfEveryClientThatItIsSendingTo() async throws {
        let count = 500
        let configuration = MockServer.Configuration(sendBufferSize: 4096)
        try await MockServer.run(configuration) { server in
            let unit = Data(repeating: 0x61, count: 10_000)
            server.on(.get, "/") { _ in Response(body: .repeating(unit, times: nil), framing: .untilClose) }
            let clients = try (0..<count).map { _ in
                try WireClient.connect(to: server.port, receiveBufferSize: 4096)
            }
            for client in clients { try await client.send(get("/")) }
            for client in clients {
                // Input during the blocked response keeps the reader busy.
                for _ in 0..<20 {
                    try await client.send("x")
                    #expect(try await client.receive(1000).count == 1000)
                }
                client.close()
            }
            try await server.wait { $0.openConnectionCount == 0 }
        }
    }

    @Test func streamsTheChunksOfAClosureAsTheyArrive() async throws {
        try await MockServer.run { server in
            let (stream, source) = AsyncStream<Data>.makeStream()
            server.on(.get, "/") { _ in Response(body: .stream(stream)) }
            let client = try WireClient.connect(to: server.port)
            try await client.send(get("/"))
            #expect(try await client.receiveResponse().header("Transfer-Encoding") == ["chunked"])
            source.yield(Data("data: 1\n\n".utf8))
            #expect(try await client.receive(14) == Data("9\r\ndata: 1\n\n\r\n".utf8))
            source.finish()
            #expect(try await client.receive(5) == Data("0\r\n\r\n".utf8))
            #expect(try await client.exchange(get("/nowhere")).status == 404)
        }
    }

    @Test func freesTheConnectionOfASilentStreamWhenTheClientLeaves() async throws {
        try await MockServer.run { server in
            let (stream, source) = AsyncStream<Data>.makeStream()
            server.on(.get, "/") { _ in Response(body: .stream(stream)) }
            let client = try WireClient.connect(to: server.port)
            try await client.send(get("/"))
            _ = try await client.receiveResponse()
            client.close()
            try await server.wait { $0.openConnectionCount == 0 }
            source.finish()
        }
    }
}
