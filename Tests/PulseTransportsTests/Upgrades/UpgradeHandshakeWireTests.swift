// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseTesting
import TestSupport
import Testing

import PulseTransports

@Suite(.tags(.threads, .addresses), .throttled)
struct UpgradeHandshakeWireTests {
    @Test(arguments: UpgradeStage.Way.allCases)
    func theResponseHasTheConnectionAndTheUsualMeasurements(way: UpgradeStage.Way) async throws {
        try await UpgradeStage.run(way) { stage in
            stage.server.fallback { _ in .echo }
            let response = try await stage.transport.send(stage.request("/a"))
            let connection = try #require(response.connection)
            #expect(response.statusCode == 101 && !response.isTruncated)
            #expect(response.headers["Upgrade"] == "echo")
            #expect(connection.remoteAddress == "127.0.0.1")
            let timings = try #require(response.timings)
            #expect(timings.remoteAddress == "127.0.0.1" && timings.networkProtocol == "http/1.1")
            #expect(timings.isConnectionReused == false)
            let times = [timings.queued, timings.connected, timings.requestSent, timings.firstByte, timings.lastByte]
            let known = times.compactMap { $0 }
            #expect(known.count == times.count && known == known.sorted())
            #expect((timings.secured != nil) == way.isSecure)
            #expect(response.latency > 0)
            let request = try #require(stage.server.requests.first)
            #expect(request.method == .get && request.path == "/a" && request.body.isEmpty)
            #expect(request.headers["Connection"] == "Upgrade" && request.headers["Upgrade"] == "echo")
            #expect(request.headers["Host"] == "127.0.0.1:\(stage.server.port)")
        }
    }

    /// The first frame of the server may be in the same segment as the head.
    @Test(arguments: UpgradeStage.Way.allCases, [1, 1 << 10, 200 << 10])
    func bytesBehindTheHeadAreReadFirst(way: UpgradeStage.Way, size: Int) async throws {
        let head = Data("HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n".utf8)
        let first = Data.pattern(size)
        try await UpgradeStage.run(way) { stage in
            stage.server.fallback { _ in
                .raw([.bytes(head + first)] + MockServer.Step.conversing(MockServer.Conversation.echo))
            }
            let connection = try await stage.open()
            try await connection.write(Data("after".utf8))
            #expect(try await connection.read(count: size + 5).isSame(as: first + Data("after".utf8)))
        }
    }

    @Test(arguments: UpgradeStage.Way.allCases)
    func interimResponsesComeBeforeTheUpgrade(way: UpgradeStage.Way) async throws {
        try await UpgradeStage.run(way) { stage in
            stage.server.fallback { _ in
                var response = MockServer.Response.echo
                response.informational = [.init(status: 100), .init(status: 103, headers: ["Link": "</a>"])]
                return response
            }
            let connection = try await stage.open()
            try await connection.write(Data([7]))
            #expect(try await connection.read() == Data([7]))
        }
    }

    // MARK: Refusals

    @Test(arguments: UpgradeStage.Way.allCases, [200, 204, 302, 400, 401, 403, 404, 426, 429, 500, 503])
    func aRefusalIsTheResponseAndClosesTheConnection(way: UpgradeStage.Way, status: Int) async throws {
        let body = Data.pattern(status == 204 ? 0 : 64 << 10)
        try await UpgradeStage.run(way) { stage in
            stage.server.fallback { _ in .data(body, status: status) }
            let response = try await stage.transport.send(stage.request())
            #expect(response.statusCode == status && response.connection == nil)
            #expect(response.data.isSame(as: body) && !response.isTruncated)
            try await stage.server.connectionsClosedByClient()
        }
    }

    @Test(arguments: UpgradeStage.Way.allCases, [MockServer.Response.Framing.contentLength, .chunked(), .untilClose])
    func aLargeRefusalIsTruncated(way: UpgradeStage.Way, framing: MockServer.Response.Framing) async throws {
        let body = Data.pattern(1 << 20)
        try await UpgradeStage.run(way) { stage in
            stage.server.fallback { _ in .data(body, status: 403).framed(framing) }
            let response = try await stage.transport.send(stage.request())
            #expect(response.statusCode == 403 && response.isTruncated)
            #expect(response.data.isSame(as: body.prefix(64 << 10)))
            try await stage.server.wait { $0.openConnectionCount == 0 }
        }
    }

    @Test(
        arguments: UpgradeStage.Way.allCases,
        [
            "HTTP/1.0 101 Switching Protocols\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\nno colon\r\n\r\n",
            "SSH-2.0-x\r\n",
        ])
    func aMalformedResponseIsAFailure(way: UpgradeStage.Way, head: String) async throws {
        try await UpgradeStage.run(way) { stage in
            stage.server.fallback { _ in .raw([.text(head), .stall]) }
            let failure = await stage.failure(of: stage.request())
            #expect(failure?.code == .badServerResponse && failure?.phase == .responseStarted)
            try await stage.server.connectionsClosedByClient()
        }
    }

    @Test(arguments: UpgradeStage.Way.allCases)
    func anUpgradeThatWasNotOfferedIsAFailure(way: UpgradeStage.Way) async throws {
        try await UpgradeStage.run(way) { stage in
            stage.server.fallback { _ in .echo }
            let failure = await stage.failure(of: stage.request(fields: [:]))
            #expect(failure?.code == .badServerResponse && failure?.phase == .responseStarted)
        }
    }

    @Test(
        arguments: UpgradeStage.Way.allCases,
        [.bytes(Data("a".utf8)), .bytes(Data())] as [TransportRequest.Body])
    func aBodyIsRefusedUnsent(way: UpgradeStage.Way, body: TransportRequest.Body) async throws {
        try await UpgradeStage.run(way) { stage in
            var request = stage.request()
            request.body = body
            await #expect {
                try await stage.transport.send(request)
            } throws: {
                PulseError(wrapping: $0).kind == .invalidRequest
            }
            #expect(stage.server.connectionCount == 0)
        }
    }

    // MARK: Failures

    @Test(arguments: UpgradeStage.Way.allCases)
    func aCutAtEachByteOfTheHeadIsALostConnection(way: UpgradeStage.Way) async throws {
        let head = Data("HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\n\r\n".utf8)
        try await UpgradeStage.run(way) { stage in
            stage.server.fallback { request in
                .raw([.bytes(head.prefix(Int(request.path.dropFirst()) ?? 0)), .close])
            }
            for count in head.indices {
                let failure = await stage.failure(of: stage.request("/\(count)"))
                #expect(failure?.code == .networkConnectionLost && failure?.isStaleConnection == false)
                #expect(failure?.phase == (count == 0 ? .maybeSent : .responseStarted))
            }
            #expect(stage.server.connectionCount == head.count)
        }
    }

    @Test(arguments: UpgradeStage.Way.allCases, [false, true])
    func aSilentServerRunsIntoTheIdleTimeout(way: UpgradeStage.Way, hasBegun: Bool) async throws {
        try await UpgradeStage.run(way) { stage in
            stage.server.fallback { _ in .raw((hasBegun ? [.text("HTTP/1.1 101 ")] : []) + [.stall]) }
            let phase = hasBegun ? PulseError.Phase.responseStarted : .maybeSent
            var failure: TransportFailure?
            // On a busy machine the server's bytes may come later than a short timeout.
            for timeout in [0.25, 2, 8, 32] where failure?.phase != phase {
                failure = await stage.failure(of: stage.request(idleTimeout: timeout))
                #expect(failure?.code == .timedOut)
            }
            #expect(failure?.phase == phase)
            try await stage.server.connectionsClosedByClient()
        }
    }

    @Test(arguments: UpgradeStage.Way.allCases)
    func anUnreachableServerGetsNothing(way: UpgradeStage.Way) async throws {
        try await UpgradeStage.run(way) { stage in
            var request = stage.request()
            request.urlRequest.url = URL(string: way.isSecure ? "https://127.0.0.1:1/" : "http://127.0.0.1:1/")
            let failure = await stage.failure(of: request)
            #expect(failure?.code == .cannotConnectToHost && failure?.phase == .beforeSend)
        }
    }

    @Test(arguments: UpgradeStage.Way.allCases)
    func aCancelledHandshakeClosesItsConnection(way: UpgradeStage.Way) async throws {
        try await UpgradeStage.run(way) { stage in
            stage.server.fallback { _ in .raw([.stall]) }
            let call = Task { try await stage.transport.send(stage.request()) }
            try await stage.server.requests(atLeast: 1)
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            try await stage.server.connectionsClosedByClient()
        }
    }

    @Test(arguments: UpgradeStage.Way.allCases)
    func aShutdownEndsTheHandshakeAndRefusesLaterOnes(way: UpgradeStage.Way) async throws {
        try await UpgradeStage.run(way) { stage in
            stage.server.fallback { _ in .raw([.stall]) }
            let call = Task { try await stage.transport.send(stage.request()) }
            try await stage.server.requests(atLeast: 1)
            await stage.transport.shutdown()
            await #expect(throws: CancellationError.self) { try await call.value }
            await #expect(throws: CancellationError.self) { try await stage.transport.send(stage.request()) }
            #expect(stage.server.connectionCount == 1)
        }
    }

    // MARK: Connections and slots

    @Test(arguments: UpgradeStage.Way.allCases)
    func anUpgradeHasAConnectionOfItsOwn(way: UpgradeStage.Way) async throws {
        try await UpgradeStage.run(way) { stage in
            stage.server.fallback { request in request.path == "/open" ? .echo : .text("no", status: 403) }
            var plain = stage.request(fields: [:], delivery: .buffered(limit: 100))
            plain.mayBeResent = true
            _ = try await stage.transport.send(plain)
            _ = try await stage.transport.send(stage.request())
            let connection = try await stage.open("/open")
            _ = try await stage.transport.send(plain)
            #expect(stage.server.requests.map(\.connection) == [0, 1, 2, 0])
            connection.close()
        }
    }

    @Test(arguments: UpgradeStage.Way.allCases)
    func anOpenConnectionHoldsNoSlot(way: UpgradeStage.Way) async throws {
        try await UpgradeStage.run(way, connections: 1) { stage in
            stage.server.fallback { _ in .echo }
            let first = try await stage.open()
            let second = try await stage.open()
            for connection in [first, second] {
                try await connection.write(Data([1]))
                #expect(try await connection.read() == Data([1]))
            }
        }
    }

    @Test(arguments: UpgradeStage.Way.allCases)
    func aHandshakeHoldsASlot(way: UpgradeStage.Way) async throws {
        let (ends, ended) = AsyncStream<Void>.makeStream()
        try await UpgradeStage.run(way, connections: 1) { stage in
            stage.server.fallback { request in
                if request.path == "/first" { for await _ in ends {} }
                return .echo
            }
            let first = Task { try await stage.open("/first") }
            try await stage.server.requests(atLeast: 1)
            let second = Task.startingNow { try await stage.open("/second") }
            #expect(stage.server.connectionCount == 1)
            ended.finish()
            _ = try await (first.value, second.value)
            #expect(stage.server.requests.map(\.path) == ["/first", "/second"])
        }
    }
}
#endif
