// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

@Suite(.servers, .timeLimit(.minutes(5)))
struct HTTP2Tests {
    @Test
    func http2IsUsedIfTheServerOffersIt() async throws {
        let (h2, h1) = (try Servers.url(.tls), try Servers.url(.tlsWithHTTP1))
        try await withTransport { transport in
            let response = try await transport.send(.to(h2))
            #expect(response.timings?.networkProtocol == "h2")
            #expect(response.headers["X-Connection"] != nil && response.headers["x-connection"] != nil)
            let other = try await transport.send(.to(h1))
            #expect(other.timings?.networkProtocol == "http/1.1")
        }
    }

    /// nginx allows 128 concurrent streams and announces it at the start; until then the default is 100.
    @Test(arguments: [(0, 100), (1, 128)])
    func allRequestsUpToTheServersLimitShareOneConnection(before: Int, count: Int) async throws {
        let url = try Servers.url(.tls, "/many")
        let responses = try await withTransport(SocketTransport(maxConnectionsPerHost: count)) { transport in
            for _ in 0..<before { _ = try await transport.send(.to(url)) }
            return try await Self.atOnce(count, .to(url), transport)
        }
        #expect(responses.allSatisfy { $0.text == "GET /many" && $0.timings?.networkProtocol == "h2" })
        #expect(Set(responses.compactMap(\.connection)).count == 1)
    }

    @Test
    func aCancelledStreamDoesNotAffectOthers() async throws {
        let url = try Servers.url(.tls, "/slow/text")
        let big = try Servers.url(.tls, "/files/big")
        let expected = try Servers.data("files/text")
        try await withTransport { transport in
            let others = try await Self.streams(3, of: url, transport)
            let cancelled = try await transport.send(.to(big) { $0.delivery = .streamed })
            #expect(Set((others + [cancelled]).map(\.connection)).count == 1)
            var iterator = try #require(cancelled.bytes).makeAsyncIterator()
            _ = try await iterator.next()
            cancelled.bytes?.cancel()
            for other in others {
                let body = try await #require(other.bytes).collect(upTo: 1 << 20)
                #expect(body == expected)
            }
            let later = try await Self.streams(3, of: url, transport)
            #expect(Set(later.map(\.connection)) == Set(others.map(\.connection)))
            #expect(later.allSatisfy { $0.timings?.networkProtocol == "h2" })
        }
    }

    /// An unread stream pauses without using memory, while other requests continue.
    @Test
    func anUnreadStreamHoldsBackOnlyItself() async throws {
        let (big, url) = (try Servers.url(.tls, "/files/big"), try Servers.url(.tls))
        try await withTransport { transport in
            let other = try await transport.send(.to(url))
            let (count, rise) = try await Memory.rise {
                let response = try await transport.send(.to(big) { $0.delivery = .streamed })
                #expect(response.timings?.networkProtocol == "h2" && response.connection == other.connection)
                for _ in 1...200 {
                    let next = try await transport.send(.to(url))
                    #expect(next.connection == other.connection)
                }
                var count = 0
                for try await chunk in try #require(response.bytes) { count += chunk.count }
                return count
            }
            #expect(count == 256 << 20)
            #expect(rise < 16 << 20, "\(rise >> 20) MiB")
        }
    }

    /// The server announces in time that it accepts no more requests; later ones may be resent, whatever the method.
    @Test
    func aConnectionThatTheServerClosesLosesNoRequest() async throws {
        #expect(try await Self.responsesToPOSTs("/read/many") == Array(repeating: "POST /many", count: 20))
    }

    /// The server responds without reading the body, and ends the stream.
    @Test
    func aResponseThatComesBeforeTheBodyIsSentArrives() async throws {
        #expect(try await Self.responsesToPOSTs("/many") == Array(repeating: "POST /many", count: 20))
    }

    /// The responses to twenty concurrent POSTs to a server that ends each connection after ten requests.
    private static func responsesToPOSTs(_ path: String) async throws -> [String] {
        var configuration = PulseConfiguration(baseURL: try Servers.url(.tls, host: "short.localhost", ""))
        configuration.tls = try Servers.tls()
        configuration.proxy = .direct
        configuration.retryPolicy = RetryPolicy(maxAttempts: 20, backoffStrategy: .immediate)
        let ready = configuration
        return try await withTransport { transport in
            let client = PulseClient(configuration: ready, transport: transport, events: PulseEventBus())
            return try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 1...20 { group.addTask { try await client.post(path, body: ["a": 1]) } }
                return try await group.reduce(into: [String]()) { $0.append($1) }
            }
        }
    }

    /// The server may refuse every request for an origin on the connection that others share.
    @Test
    func aMisdirectedRequestSharesNoConnection() async throws {
        let url = try Servers.url(.tls)
        try await withTransport { transport in
            let first = try await transport.send(.to(url))
            let other = try await transport.send(
                .to(url) { ($0.needsNewConnection, $0.wasMisdirected) = (true, true) })
            #expect(other.timings?.networkProtocol == "h2")
            #expect(other.connection != nil && other.connection != first.connection)
        }
    }

    @Test
    func aConnectionIsNotReusedAfterA421() async throws {
        let (url, wrong) = (try Servers.url(.tls), try Servers.url(.tls, "/misdirected"))
        try await withTransport { transport in
            let misdirected = try await transport.send(.to(wrong))
            #expect(misdirected.statusCode == 421 && misdirected.timings?.networkProtocol == "h2")
            let next = try await transport.send(.to(url))
            #expect(next.connection != nil && next.connection != misdirected.connection)
        }
    }

    /// Sequential requests are never ambiguous, even those that must not be resent.
    @Test
    func anEndedConnectionIsNotReused() async throws {
        let url = try Servers.url(.tls, host: "short.localhost", "/one")
        try await withTransport { transport in
            for _ in 1...35 {
                let response = try await transport.send(
                    .to(url) {
                        $0.urlRequest.httpMethod = "POST"
                        $0.body = .bytes(Data("body".utf8))
                    })
                #expect(response.text == "POST /one")
            }
        }
    }

    /// Its connection is busy meanwhile, with a response that takes eight seconds, ten times the timeout.
    @Test
    func aRequestWithoutAResponseEndsByItsOwnIdleTimeout() async throws {
        let (slow, silent) = (try Servers.url(.tls, "/slow/medium"), try Servers.url(.tls, "/silent"))
        try await withTransport { transport in
            let first = try await transport.send(.to(Servers.url(.tls)))
            let request = try TransportRequest.to(slow)
            let reading = Task { (response: try await transport.send(request), end: SystemClock().uptime) }
            try await Self.expectTimeout(of: .to(silent), after: 0.8, transport)
            let expired = SystemClock().uptime
            let later = try await transport.send(.to(Servers.url(.tls)))
            let (response, end) = try await reading.value
            #expect(response.timings?.networkProtocol == "h2")
            #expect(response.data.count == 8 << 20)
            #expect([response.connection, later.connection] == [first.connection, first.connection])
            #expect(expired < end)
        }
    }

    // MARK: Connections that go silent

    /// Like a connection that the network has dropped: it is not closed, and sent bytes are lost.
    private static func onASilentConnection(
        _ body: (any Transport, _ request: TransportRequest, _ connection: String?) async throws -> Void
    ) async throws {
        let request = try TransportRequest.to(Servers.url(.tls, "/held")) {
            $0.proxy = .http(host: "127.0.0.1", port: Servers.port(.proxy))
            $0.idleTimeout = 120
        }
        try await withTransport { transport in
            let first = try await transport.send(request)
            #expect(first.timings?.networkProtocol == "h2")
            let _: [Int?] = try await Servers.told("/hold")
            try await body(transport, request, first.connection)
        }
    }

    private static func waitUntilHeld() async throws {
        let _: [Bool] = try await Servers.told("/held")
    }

    /// The timeout must leave a busy machine time to send the request.
    private static func expectTimeout(
        of request: TransportRequest, after seconds: TimeInterval, _ transport: any Transport
    ) async throws {
        var impatient = request
        impatient.idleTimeout = seconds
        let call = Task { [impatient] in try await transport.send(impatient) }
        let failure = await #expect(throws: TransportFailure.self) { try await call.value }
        #expect(failure?.code == .timedOut)
        #expect(failure?.phase == .maybeSent)
    }

    @Test
    func aSilentConnectionIsNotReusedAfterATimeout() async throws {
        try await Self.onASilentConnection { transport, request, connection in
            try await Self.expectTimeout(of: request, after: 3, transport)
            let later = try await transport.send(request)
            #expect(later.statusCode == 200)
            #expect(later.connection != connection)
        }
    }

    /// Its other requests may still get a response, but nothing shows that it is alive.
    @Test
    func aConnectionWithATimeoutServesOnlyTheRequestsThatItHas() async throws {
        try await Self.onASilentConnection { transport, request, connection in
            let patient = Task { try await transport.send(request) }
            try await Self.waitUntilHeld()
            try await Self.expectTimeout(of: request, after: 3, transport)
            let later = try await transport.send(request)
            #expect(later.connection != connection)
            let _: [Int?] = try await Servers.told("/pass")
            let response = try await patient.value
            #expect(response.connection == connection)
        }
    }

    /// A cancelled call ends its stream alone.
    @Test
    func aCancelledCallLeavesTheOthersOnItsConnection() async throws {
        try await Self.onASilentConnection { transport, request, connection in
            let patient = Task { try await transport.send(request) }
            try await Self.waitUntilHeld()
            let (reads, read) = AsyncStream<Void>.makeStream()
            let (chunks, source) = AsyncStream<Data>.makeStream()
            var upload = request
            upload.urlRequest.httpMethod = "POST"
            upload.body = .stream(
                RequestBody.Stream(length: 1, isOneShot: true) {
                    ByteStream {
                        // It is on the connection when its body is read.
                        read.yield()
                        for await chunk in chunks { return chunk }
                        return nil
                    }
                })
            let cancelled = Task { [upload] in try await transport.send(upload) }
            for await _ in reads { break }
            cancelled.cancel()
            await #expect(throws: (any Error).self) { try await cancelled.value }
            source.finish()
            let _: [Int?] = try await Servers.told("/pass")
            let response = try await patient.value
            #expect(response.statusCode == 200)
            #expect(response.connection == connection)
        }
    }

    /// A server need not respond before the end of a body, however long its client takes to produce it.
    @Test
    func aSlowBodyDoesNotMakeItsServerIdle() async throws {
        let silent = try TransportRequest.to(Servers.url(.tls, "/silent"))
        try await Self.onASilentConnection { transport, request, connection in
            let (chunks, source) = AsyncStream<Data>.makeStream()
            let rounds = 9
            var upload = request
            upload.urlRequest.httpMethod = "POST"
            upload.idleTimeout = 2
            upload.body = .stream(
                RequestBody.Stream(length: Int64(rounds + 1), isOneShot: true) {
                    ByteStream {
                        for await chunk in chunks { return chunk }
                        return nil
                    }
                })
            let call = Task { [upload] in try await transport.send(upload) }
            try await Self.waitUntilHeld()
            // Longer than twice its timeout in all; a connection of another route measures the time.
            for _ in 1...rounds {
                source.yield(Data("a".utf8))
                try await Self.expectTimeout(of: silent, after: 0.5, transport)
            }
            source.yield(Data("a".utf8))
            source.finish()
            let _: [Int?] = try await Servers.told("/pass")
            let response = try await call.value
            #expect(response.statusCode == 200)
            #expect(response.connection == connection)
        }
    }

    /// A later request would wait there. A new connection fails within its connect timeout: the system drops what is sent
    /// to an interface that is down.
    @Test(
        .enabled(if: Probe.mayHaveNetwork, "a network of one's own is not allowed here"),
        arguments: [
            ("timeout", "\(URLError.Code.timedOut.rawValue) maybeSent"),
            // As by a deadline that expires before every timeout.
            ("cancel", "cancelled"),
        ])
    func aConnectionWithAFailedNetworkIsNotReused(end: String, expected: String) throws {
        let outcomes = try Probe.runWithLostNetwork(certificates: Servers.path(""), end: end)
        let unconnected = "\(URLError.Code.cannotConnectToHost.rawValue) beforeSend"
        #expect(outcomes == ["ended": expected, "later": unconnected])
    }

    private static func atOnce(
        _ count: Int, _ request: TransportRequest, _ transport: any Transport
    ) async throws -> [PulseResponse] {
        try await withThrowingTaskGroup(of: PulseResponse.self) { group in
            for _ in 1...count {
                group.addTask { try await transport.send(request) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    private static func streams(
        _ count: Int, of url: URL, _ transport: any Transport
    ) async throws -> [PulseResponse] {
        var responses: [PulseResponse] = []
        for _ in 1...count {
            responses.append(try await transport.send(.to(url) { $0.delivery = .streamed }))
        }
        return responses
    }
}
