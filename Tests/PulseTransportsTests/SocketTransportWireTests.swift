// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseConformance
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.tags(.threads, .addresses), .throttled)
struct StandardTransportWireTests {
    static let conformance = TransportConformance.standardTransport

    // Serialized: most of these tests depend on timing, and the machine may have two cores.
    @Test(.serialized, arguments: conformance.cases)
    func theDefaultTransportPasses(_ promise: TransportConformance.Case) async throws {
        try await Self.conformance.run(promise)
    }
}

/// The loop always sends and reads for cleartext senders, as it otherwise does with many exchanges under way.
@Suite(.tags(.threads), .throttled)
struct SocketTransportCrowdWireTests {
    static let conformance = TransportConformance("SocketTransport in a crowd", timeLimit: 60) { connections in
        SocketTransport(connections, few: 0)
    }

    @Test(.serialized, arguments: conformance.cases)
    func exchangesSentByTheLoopPass(_ promise: TransportConformance.Case) async throws {
        try await Self.conformance.run(promise)
    }
}

/// HTTP/1.1 over TLS.
@Suite(.tags(.threads, .addresses), .throttled)
struct HTTP1OverTLSWireTests {
    /// The first one finds out that the server speaks HTTP/1.1 alone. From then on each opens its own at once.
    @Test func firstRequestsThatWaitForOneHandshakeAreAllServed() async throws {
        try await MockServer.run(over: true) { server, tls in
            server.fallback { _ in .text("response") }
            let transport = SocketTransport(8, offersHTTP2: true)
            let request = TransportRequest(
                urlRequest: URLRequest(url: server.baseURL), connectTimeout: 600, idleTimeout: 600, tls: tls)
            let key = ConnectionKey(origin: try #require(Origin(server.baseURL)), policies: request.policies)
            #expect(transport.pool.expectsHTTP2(key))
            for _ in 0..<3 {
                try await withThrowingTaskGroup(of: PulseResponse.self) { group in
                    for _ in 0..<8 { group.addTask { try await transport.send(request) } }
                    for try await response in group {
                        #expect(response.data == Data("response".utf8))
                        #expect(response.timings?.networkProtocol == "http/1.1")
                    }
                }
                #expect(!transport.pool.expectsHTTP2(key))
            }
            #expect(server.requests.count == 24 && server.connectionCount <= 8)
            let sizes = transport.pool.sizes
            #expect(sizes.openings == 0 && sizes.waiters == 0 && sizes.idle == server.openConnectionCount)
            await transport.shutdown()
        }
    }

    /// A wait for another request's handshake counts toward the connect timeout, and ends with its task.
    @Test(arguments: [false, true]) func aWaitForAHandshakeEnds(byTimeout: Bool) async throws {
        try await MockServer.run { server in
            server.onAccept { _ in [.stall] }
            let clock = TestClock()
            let transport = SocketTransport(8, offersHTTP2: true, clock: clock)
            let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
            let request = TransportRequest(urlRequest: URLRequest(url: url), connectTimeout: 3, proxy: .direct)
            let first = Task { try await transport.send(request) }
            try await server.wait { $0.connections.count == 1 }
            var patient = request
            patient.connectTimeout = byTimeout ? 2 : 600
            let second = Task { [patient] in try await transport.send(patient) }
            while transport.pool.sizes.waiters == 0 { await Task.yield() }
            await clock.sleepers(atLeast: 2, for: .timeout)
            if byTimeout {
                await clock.advance(by: 2)
                let failure = await #expect(throws: TransportFailure.self) { try await second.value }
                #expect(failure?.code == .timedOut && failure?.phase == .beforeSend)
            } else {
                second.cancel()
                await #expect(throws: CancellationError.self) { try await second.value }
            }
            #expect(transport.pool.sizes.waiters == 0 && transport.pool.sizes.openings == 1)
            first.cancel()
            await #expect(throws: CancellationError.self) { try await first.value }
            #expect(transport.pool.sizes.openings == 0 && server.connectionCount == 1)
            await transport.shutdown()
        }
    }

    /// Without the one that has opened it, another opens the next; at the shutdown all end.
    @Test func aWaiterTakesOverFromAnOpenerThatLeaves() async throws {
        try await MockServer.run { server in
            server.onAccept { _ in [.stall] }
            let transport = SocketTransport(8, offersHTTP2: true)
            let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
            let request = TransportRequest(urlRequest: URLRequest(url: url), connectTimeout: 600, proxy: .direct)
            let first = Task { try await transport.send(request) }
            try await server.wait { $0.connections.count == 1 }
            let others = (0..<3).map { _ in Task { try await transport.send(request) } }
            while transport.pool.sizes.waiters < 3 { await Task.yield() }
            first.cancel()
            await #expect(throws: CancellationError.self) { try await first.value }
            try await server.wait { $0.connections.count == 2 }
            while transport.pool.sizes.waiters < 2 { await Task.yield() }
            #expect(transport.pool.sizes.openings == 1 && server.connectionCount == 2)
            await transport.shutdown()
            for other in others { await #expect(throws: CancellationError.self) { try await other.value } }
        }
    }

    /// Connections share the system's authorities, and resume sessions; others must not get these.
    @Test func sharedAuthoritiesTrustNoOtherServer() async throws {
        try await MockServer.run(over: true) { server, tls in
            server.fallback { _ in .text("response") }
            let transport = StandardTransport()
            var request = TransportRequest(
                urlRequest: URLRequest(url: server.baseURL), connectTimeout: 600, idleTimeout: 600, httpVersions: .http1
            )
            request.needsNewConnection = true
            for _ in 0..<3 {
                request.tls = tls
                #expect(try await transport.send(request).data == Data("response".utf8))
                request.tls = .default
                await #expect {
                    try await transport.send(request)
                } throws: {
                    let failure = $0 as? TransportFailure
                    return failure?.code == .serverCertificateHasUnknownRoot && failure?.phase == .beforeSend
                }
                request.tls = try MockServer.TLSIdentity.generated().clientSettings
                await #expect(throws: TransportFailure.self) { try await transport.send(request) }
            }
            #expect(server.requests.count == 3)
            await transport.shutdown()
        }
    }

    /// An application that sends nothing more keeps no sockets to a server that has gone.
    @Test(arguments: [false, true]) func idleConnectionsCloseWithTheirServer(isSecure: Bool) async throws {
        let transport = StandardTransport()
        let port = try await MockServer.run(over: isSecure) { server, tls in
            server.fallback { _ in .text("response") }
            let request = TransportRequest(
                urlRequest: URLRequest(url: server.baseURL), connectTimeout: 600, idleTimeout: 600, tls: tls,
                httpVersions: .http1)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 { group.addTask { _ = try await transport.send(request) } }
                try await group.waitForAll()
            }
            let port = try #require(server.baseURL.port)
            #expect(try Self.openSocketCount(to: port) > 0)
            return port
        }
        while try Self.openSocketCount(to: port) > 0 { await Task.yield() }
        await transport.shutdown()
    }

    /// The process's sockets to a port of this machine, also those that only the peer has closed.
    private static func openSocketCount(to port: Int) throws -> Int {
        let all = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        return all.compactMap { Int32($0) }.count { descriptor in
            var address = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) }
            }
            let isInternet = result == 0 && address.sin_family == sa_family_t(AF_INET)
            return isInternet && Int(UInt16(bigEndian: address.sin_port)) == port
        }
    }

    /// The thread of the loop reads one at a time. The rest, and those behind a cancelled one, come as well.
    @Test(arguments: [false, true]) func largeBodiesComeWhole(isSecure: Bool) async throws {
        try await MockServer.run(over: isSecure) { server, tls in
            let body = Data((0..<(3 << 19)).map { UInt8(truncatingIfNeeded: $0 * 31 >> 3) })
            server.fallback { _ in .data(body) }
            let transport = StandardTransport()
            let request = TransportRequest(
                urlRequest: URLRequest(url: server.baseURL), delivery: .buffered(limit: 2 << 20), connectTimeout: 600,
                idleTimeout: 600, tls: tls, httpVersions: .http1)
            for round in 0..<8 {
                let tasks = (0..<6).map { _ in Task { try await transport.send(request).data } }
                for _ in 0..<(round * 10) { await Task.yield() }
                tasks[round % 3].cancel()
                for (index, task) in tasks.enumerated() where index != round % 3 {
                    let data = try await task.value
                    #expect(data == body)
                }
                _ = await tasks[round % 3].result
            }
            await transport.shutdown()
        }
    }

    /// A request with other pins must not use a connection on which they were not checked.
    @Test func otherPoliciesGetAnotherConnection() async throws {
        try await MockServer.run(over: true) { server, tls in
            server.fallback { _ in .text("response") }
            let transport = StandardTransport()
            var request = TransportRequest(
                urlRequest: URLRequest(url: server.baseURL), connectTimeout: 600, idleTimeout: 600, tls: tls,
                httpVersions: .http1)
            _ = try await transport.send(request)
            request.pins = SSLPinningPolicy.PinSet(publicKeyHashes: [
                "sha256/" + String(repeating: "A", count: 43) + "="
            ])
            await #expect(throws: (any Error).self) { try await transport.send(request) }
            request.pins = nil
            request.tls.minimumVersion = .tls13
            _ = try await transport.send(request)
            #expect(server.requests.count == 2 && server.connectionCount == 3)
            await transport.shutdown()
        }
    }
}

/// What a request says about its connection, and requests that a proxy forwards.
@Suite(.tags(.threads, .addresses), .throttled)
struct SocketTransportFieldWireTests {
    private static func request(
        _ text: String, _ fields: [String: String] = [:], body: TransportRequest.Body = .none,
        proxy: ProxySettings = .environment
    ) throws -> TransportRequest {
        var urlRequest = URLRequest(url: try #require(URL(string: text)))
        urlRequest.allHTTPHeaderFields = fields
        if case .bytes = body { urlRequest.httpMethod = "POST" }
        return TransportRequest(
            urlRequest: urlRequest, body: body, connectTimeout: 600, idleTimeout: 600, proxy: proxy)
    }

    @Test func fieldsOfTheConnectionArriveAndItIsReused() async throws {
        try await MockServer.run { server in
            server.fallback { _ in .text("response") }
            let transport = SocketTransport(4)
            let fields = ["TE": "trailers", "Trailer": "X", "Connection": "keep-alive"]
            for _ in 0..<2 {
                _ = try await transport.send(Self.request("http://ada:l%40ce@127.0.0.1:\(server.port)/", fields))
            }
            let headers = try #require(server.requests.last).headers
            #expect(headers["TE"] == "trailers" && headers["Trailer"] == "X")
            #expect(headers["Connection"] == "keep-alive, TE")
            #expect(headers["Authorization"] == "Basic " + Data("ada:l@ce".utf8).base64EncodedString())
            #expect(headers["Host"] == "127.0.0.1:\(server.port)")
            #expect(server.connectionCount == 1)
            await transport.shutdown()
        }
    }

    @Test(arguments: [TransportRequest.Delivery.buffered(limit: 100), .streamed])
    func aRequestThatEndsItsConnectionLeavesNoIdleOne(delivery: TransportRequest.Delivery) async throws {
        try await MockServer.run { server in
            // A server that keeps the connection all the same.
            server.fallback { _ in .raw([.text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")]) }
            let transport = SocketTransport(4)
            var request = try Self.request("\(server.baseURL)", ["Connection": "close"])
            request.delivery = delivery
            for _ in 0..<2 {
                let response = try await transport.send(request)
                #expect(response.timings?.isConnectionReused == false)
                if let stream = response.bytes {
                    var data = Data()
                    for try await piece in stream { data += piece }
                    #expect(data == Data("ok".utf8))
                }
            }
            #expect(server.connectionCount == 2 && transport.pool.sizes.idle == 0)
            await transport.shutdown()
        }
    }

    /// A client need not wait for the 100 (RFC 9110, section 10.1.1).
    @Test(arguments: [2, 300_000]) func aBodyIsSentAlsoWhereOneExpectsAContinuation(size: Int) async throws {
        try await MockServer.run { server in
            server.fallback { .text("\($0.bodyByteCount)") }
            let transport = SocketTransport(4)
            let request = try Self.request(
                "\(server.baseURL)", ["Expect": "100-continue"], body: .bytes(Data(count: size)))
            #expect(try await transport.send(request).data == Data("\(size)".utf8))
            #expect(server.requests.first?.headers["Expect"] == "100-continue")
            await transport.shutdown()
        }
    }

    @Test(arguments: [false, true]) func aProxyForwardsRequestsInCleartext(isVariable: Bool) async throws {
        try await MockServer.run { proxy in
            proxy.fallback { _ in .text("forwarded") }
            let variable = "http://ada:hunter2@127.0.0.1:\(proxy.port)"
            let transport = SocketTransport(4, environment: { isVariable && $0 == "http_proxy" ? variable : nil })
            let settings = ProxySettings.http(host: "127.0.0.1", port: proxy.port)
                .credentials(username: "ada", password: "hunter2")
            for _ in 0..<2 {
                let request = try Self.request("http://pulse.test/a?b#c", proxy: isVariable ? .environment : settings)
                #expect(try await transport.send(request).data == Data("forwarded".utf8))
            }
            for received in proxy.requests {
                #expect(received.target == "http://pulse.test/a?b" && received.headers["Host"] == "pulse.test")
                let credentials = Data("ada:hunter2".utf8).base64EncodedString()
                #expect(received.headers["Proxy-Authorization"] == "Basic \(credentials)")
            }
            #expect(proxy.requests.count == 2 && proxy.connectionCount == 1)
            await transport.shutdown()
        }
    }

    /// Its refusal is the response, as there is no tunnel. Other origins and the direct way have other connections.
    @Test func aConnectionToAProxyIsForOneOrigin() async throws {
        try await MockServer.run { proxy in
            proxy.fallback { $0.headers["Host"] == "a.test" ? .status(407) : .text("response") }
            let transport = SocketTransport(4)
            let settings = ProxySettings.http(host: "127.0.0.1", port: proxy.port)
            let direct = "http://127.0.0.1:\(proxy.port)/"
            let ways = [("http://a.test/", settings), ("http://b.test/", settings), (direct, ProxySettings.direct)]
            for (url, used) in ways {
                let response = try await transport.send(Self.request(url, proxy: used))
                #expect(response.statusCode == (url == "http://a.test/" ? 407 : 200))
            }
            #expect(proxy.requests.map(\.target) == ["http://a.test/", "http://b.test/", "/"])
            #expect(proxy.connectionCount == 3)
            await transport.shutdown()
        }
    }

    /// A server gets no credentials that are for a proxy.
    @Test func theCallersProxyCredentialsStayFromServers() async throws {
        try await MockServer.run { server in
            server.fallback { _ in .text("response") }
            let transport = SocketTransport(4)
            let fields = ["Proxy-Authorization": "Basic x"]
            _ = try await transport.send(Self.request("\(server.baseURL)", fields, proxy: .direct))
            #expect(server.requests.first?.headers["Proxy-Authorization"] == nil)
            await transport.shutdown()
        }
    }

    /// Only an upgrade may lead to another protocol, whatever fields a request has.
    @Test func aServerThatChangesTheProtocolOfARequestIsRefused() async throws {
        try await MockServer.run { server in
            let response = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
            server.fallback { _ in .raw([.text(response)]) }
            let transport = SocketTransport(4)
            let fields = ["Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAMAAABk"]
            let request = try Self.request("\(server.baseURL)", fields)
            let failure = await #expect(throws: TransportFailure.self) { try await transport.send(request) }
            #expect(failure?.code == .badServerResponse && failure?.phase == .responseStarted)
            #expect(transport.pool.sizes.idle == 0 && server.requests.count == 1)
            await transport.shutdown()
        }
    }

    @Test(arguments: ["ftp://a.test/", "http:///x"]) func aURLWithoutAServerIsRefused(text: String) async throws {
        let transport = SocketTransport(4)
        let request = try Self.request(text)
        await #expect {
            try await transport.send(request)
        } throws: {
            PulseError(wrapping: $0).kind == .invalidURL
        }
        await transport.shutdown()
    }

    /// Also over a connection that is open already.
    @Test func aRequestThatIsCancelledBeforeIsNotSent() async throws {
        try await MockServer.run { server in
            server.fallback { _ in .text("response") }
            let transport = SocketTransport(4)
            let request = try Self.request("\(server.baseURL)")
            _ = try await transport.send(request)
            let call = Task {
                while !Task.isCancelled { await Task.yield() }
                return try await transport.send(request)
            }
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            _ = try await transport.send(request)
            #expect(server.requests.count == 2 && server.connectionCount == 1)
            await transport.shutdown()
        }
    }

    @Test func afterTheShutdownNothingIsSent() async throws {
        try await MockServer.run { server in
            let transport = SocketTransport(4)
            await transport.shutdown()
            for delivery in [TransportRequest.Delivery.buffered(limit: 1), .upgrade] {
                var changed = try Self.request("\(server.baseURL)")
                changed.delivery = delivery
                let request = changed
                await #expect(throws: CancellationError.self) { try await transport.send(request) }
            }
            #expect(server.connectionCount == 0)
        }
    }
}
#endif
