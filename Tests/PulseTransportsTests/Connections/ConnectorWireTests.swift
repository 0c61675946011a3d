// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.tags(.threads, .addresses), .throttled)
struct ConnectorWireTests {
    private let loop: SocketLoop
    private let names = HeldNameServer(["127.0.0.1"])
    private let clock = TestClock()
    private let connector: Connector

    init() throws {
        loop = try SocketLoop()
        connector = Connector(resolver: names.resolver, clock: clock) { _ in nil }
    }

    private func open(
        _ server: String, _ proxy: ProxySettings = .direct, timeout: TimeInterval = 3, _ other: Connector? = nil
    ) async throws -> ConnectionOpening {
        let url = try #require(URL(string: server))
        // An upgrade has a tunnel also in cleartext.
        let request = TransportRequest(
            urlRequest: URLRequest(url: url), delivery: .upgrade, connectTimeout: timeout, proxy: proxy)
        let used = other ?? connector
        let route = try used.route(of: request, to: server, isSecure: false)
        return try await used.open(to: server, by: route, isSecure: false, for: request, queued: 1, over: loop)
    }

    private func failureToOpen(_ server: String, _ proxy: ProxySettings = .direct) async -> TransportFailure? {
        let failure = await #expect(throws: TransportFailure.self) { try await open(server, proxy) }
        #expect(failure?.phase == .beforeSend)
        return failure
    }

    /// A proxy that behaves so, and whose tunnels echo.
    private static func run(
        _ respond: @escaping @Sendable (MockServer.Conversation) async throws -> Void,
        _ body: (MockServer) async throws -> Void
    ) async throws {
        try await MockServer.run { proxy in
            proxy.onAccept { _ in
                MockServer.Step.conversing { conversation in
                    try await respond(conversation)
                    try await MockServer.Conversation.echo(conversation)
                }
            }
            try await body(proxy)
        }
    }

    private static func echoes(_ opening: ConnectionOpening) async throws {
        let connection = opening.connection
        connection.begin(idleTimeout: .infinity)
        try await connection.write(Data("through".utf8))
        #expect(try await connection.read(count: 7) == Data("through".utf8))
        connection.close()
    }

    // MARK: Direct

    @Test func thePhasesHaveTheirTimes() async throws {
        let listener = try LoopbackListener()
        let call = Task { try await open("http://a.test:\(listener.port)/") }
        await names.begun(atLeast: 1)
        await clock.advance(by: 2)
        names.release("a.test")
        let opening = try await call.value
        let timings = opening.timings
        #expect(timings.nameResolved == 3 && timings.connected == 3 && timings.secured == nil)
        #expect(timings.isConnectionReused == false && timings.remoteAddress == "127.0.0.1")
        #expect(opening.connection.remoteAddress == "127.0.0.1" && opening.unpinnedKeys == nil)
        opening.connection.close()
        await loop.shutdown()
    }

    @Test func anUnknownHostIsNotFound() async throws {
        let unknown = Connector(
            resolver: NameResolver { _ in .failure(ConnectionFailure.unresolved(-2)) }, clock: clock)
        for proxy in [ProxySettings.direct, .http(host: "proxy.test", port: 3128)] {
            let failure = await #expect(throws: TransportFailure.self) {
                try await open("http://a.test/", proxy, unknown)
            }
            #expect(failure?.code == .cannotFindHost || failure?.code == .notConnectedToInternet)
            #expect(failure?.phase == .beforeSend)
            let isNamed = failure?.description.contains("by the proxy proxy.test:3128") == true
            #expect(isNamed == (proxy != .direct))
        }
        await loop.shutdown()
    }

    @Test func aConnectionThatIsRefusedSaysSo() async throws {
        let failure = await failureToOpen("http://127.0.0.1:1/")
        #expect(failure?.code == .cannotConnectToHost)
        #expect(failure?.description.hasSuffix("Connection refused") == true)
        await loop.shutdown()
    }

    @Test func aUnixSocketIsWhereAllConnectionsLead() async throws {
        let other = Connector(unixSocketPath: "/nothing/such.sock", resolver: names.resolver, clock: clock)
        let failure = await #expect(throws: TransportFailure.self) {
            try await open("http://a.test/", .http(host: "proxy.test", port: 1), other)
        }
        #expect(failure?.code == .cannotConnectToHost && names.names == [])
        let long = Connector(unixSocketPath: String(repeating: "a", count: 200), clock: clock)
        await #expect(throws: PulseError.self) { try await open("http://a.test/", .direct, long) }
        await loop.shutdown()
    }

    // MARK: Limits

    /// Of the name, of TCP, and of a proxy that accepts and keeps silent.
    @Test(arguments: 0..<4) func theConnectTimeoutEndsEachPhase(phase: Int) async throws {
        let silent = try SilentListener()
        try await MockServer.run { proxy in
            proxy.onAccept { _ in [.stall] }
            let ways: [(String, ProxySettings)] = [
                ("http://a.test/", .direct), ("http://127.0.0.1:\(silent.port)/", .direct),
                ("http://127.0.0.1:1/", .http(host: "127.0.0.1", port: Int(silent.port))),
                ("http://127.0.0.1:1/", .socks5(host: "127.0.0.1", port: proxy.port)),
            ]
            let call = Task { try await open(ways[phase].0, ways[phase].1) }
            await clock.sleepers(atLeast: 1, for: .timeout)
            switch phase {
            case 0: await names.begun(atLeast: 1)
            case 1, 2: while loop.connections.isEmpty { await Task.yield() }
            default: try await proxy.wait { $0.openConnectionCount == 1 }
            }
            #expect(connector.openingCount == 1)
            await clock.advance(by: 3)
            let failure = await #expect(throws: TransportFailure.self) { try await call.value }
            #expect(failure?.code == .timedOut && failure?.phase == .beforeSend)
            let name = (failure?.underlying as? ConnectionFailure)?.proxy
            let proxies: [String?] = [nil, nil, "127.0.0.1:\(silent.port)", "127.0.0.1:\(proxy.port)"]
            #expect(name == proxies[phase])
            #expect(connector.openingCount == 0)
            while !loop.connections.isEmpty { await Task.yield() }
            #expect(names.resolver.waiterCount("a.test") ?? 0 == 0)
        }
        names.release("a.test")
        await loop.shutdown()
    }

    @Test func theConnectTimeoutEndsTheWaitForAFullUnixSocket() async throws {
        let listener = try FullUnixListener()
        let other = Connector(unixSocketPath: listener.path, clock: clock)
        let call = Task { try await open("http://a.test/", .direct, other) }
        await clock.sleepers(atLeast: 1, for: .backoff)
        await clock.advance(by: 3)
        let failure = await #expect(throws: TransportFailure.self) { try await call.value }
        #expect(failure?.code == .timedOut && failure?.phase == .beforeSend)
        await loop.shutdown()
    }

    @Test(arguments: [false, true]) func anOpeningEndsWithItsTaskOrTheTransport(isShutDown: Bool) async throws {
        let call = Task { try await open("http://a.test/") }
        await names.begun(atLeast: 1)
        if isShutDown { connector.shutdown() } else { call.cancel() }
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(names.resolver.waiterCount("a.test") == 0 && connector.openingCount == 0)
        if isShutDown {
            await #expect(throws: CancellationError.self) { try await open("http://127.0.0.1:1/") }
        }
        names.release("a.test")
        await loop.shutdown()
    }

    /// By its task, by its timeout, and with the thread of the sockets.
    @Test(arguments: 0..<3) func aHandshakeThatEndsEarlyClosesItsConnection(way: Int) async throws {
        try await MockServer.run { server in
            server.onAccept { _ in [.stall] }
            let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
            let request = TransportRequest(urlRequest: URLRequest(url: url), connectTimeout: 3, proxy: .direct)
            let call = Task {
                try await connector.open(
                    to: "\(url)", by: .direct, isSecure: true, for: request, queued: 0, over: loop)
            }
            await clock.sleepers(atLeast: 1, for: .timeout)
            try await server.wait { $0.openConnectionCount == 1 }
            switch way {
            case 0: call.cancel()
            case 1: await clock.advance(by: 3)
            default: await loop.shutdown()
            }
            if way == 1 {
                let failure = await #expect(throws: TransportFailure.self) { try await call.value }
                #expect(failure?.code == .timedOut && failure?.phase == .beforeSend)
            } else {
                await #expect(throws: CancellationError.self) { try await call.value }
            }
            try await server.wait { $0.openConnectionCount == 0 }
        }
        await loop.shutdown()
    }

    /// Whatever part of a message of TLS an event brings.
    @Test func aHandshakeMayComeByteByByte() async throws {
        try await MockServer.run(over: true) { server, tls in
            server.fallback { _ in .text("response") }
            let relay = try SlowRelay(to: UInt16(server.port))
            let url = try #require(URL(string: "https://127.0.0.1:\(relay.port)/"))
            let request = TransportRequest(
                urlRequest: URLRequest(url: url), connectTimeout: 600, tls: tls, proxy: .direct)
            let opening = try await connector.open(
                to: "\(url)", by: .direct, isSecure: true, for: request, offersHTTP2: true, queued: 0, over: loop)
            let connection = opening.connection
            #expect(!opening.isHTTP2)
            #expect(opening.timings.secured != nil)
            connection.begin(idleTimeout: .infinity)
            try await connection.write(Data("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
            #expect(try await connection.read()?.prefix(12) == Data("HTTP/1.1 200".utf8))
            connection.close()
        }
        await loop.shutdown()
    }

    // MARK: HTTP proxies

    private static let accepting = "HTTP/1.1 200 Connection established\r\nContent-Length: 5\r\nVia: x\r\n\r\n"

    /// Sends the response to CONNECT in two pieces, once the whole request has come.
    private static func respond(
        _ response: String, split: Int? = nil, _ heads: Locked<[String]>? = nil
    ) -> @Sendable (MockServer.Conversation) async throws -> Void {
        let bytes = Data(response.utf8)
        let split = split ?? bytes.count
        return { conversation in
            var head = Data()
            while head.suffix(4) != Data("\r\n\r\n".utf8), let more = try await conversation.receive() { head += more }
            heads?.withLock { [head] in $0.append(String(decoding: head, as: UTF8.self)) }
            for piece in [bytes.prefix(split), bytes.dropFirst(split)] where !piece.isEmpty {
                try await conversation.send(Data(piece))
                await Task.yield()
            }
        }
    }

    @Test(
        arguments: [
            accepting, "HTTP/1.0 200 OK\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        ])
    func aResponseThatAcceptsMayBeSplitAnywhere(response: String) async throws {
        for split in 1...response.utf8.count {
            try await Self.run(Self.respond(response, split: split)) { proxy in
                try await Self.echoes(
                    try await open("http://a.test/", .http(host: "127.0.0.1", port: proxy.port)))
            }
        }
        // The proxy resolves the name.
        #expect(names.names == [])
        await loop.shutdown()
    }

    @Test func theRequestForATunnelNamesTheServer() async throws {
        let heads = Locked<[String]>([])
        try await Self.run(Self.respond(Self.accepting, heads)) { proxy in
            let settings = ProxySettings.http(host: "127.0.0.1", port: proxy.port)
            try await Self.echoes(try await open("http://a.test:81/", settings))
            let known = settings.credentials(username: "ada", password: "a:b")
            try await Self.echoes(try await open("http://[::1]/", known))
            // The zone would name an interface of the proxy's.
            try await Self.echoes(try await open("http://[fe80::1%25lo]/", settings))
        }
        let credentials = Data("ada:a:b".utf8).base64EncodedString()
        #expect(
            heads.withLock { $0 } == [
                "CONNECT a.test:81 HTTP/1.1\r\nHost: a.test:81\r\n\r\n",
                "CONNECT [::1]:80 HTTP/1.1\r\nHost: [::1]:80\r\nProxy-Authorization: Basic \(credentials)\r\n\r\n",
                "CONNECT [fe80::1]:80 HTTP/1.1\r\nHost: [fe80::1]:80\r\n\r\n",
            ])
        await loop.shutdown()
    }

    @Test(arguments: [301, 403, 407, 502]) func aTunnelThatIsRefusedSaysWhy(status: Int) async throws {
        let response = "HTTP/1.1 \(status) No\r\nContent-Length: 100\r\n\r\nbecause"
        try await Self.run(Self.respond(response)) { proxy in
            let error = await #expect(throws: PulseError.self) {
                try await open("http://a.test/", .http(host: "127.0.0.1", port: proxy.port))
            }
            guard case .proxyRefused(let refusal) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(refusal == PulseError.ProxyRefusal(proxy: "127.0.0.1:\(proxy.port)", reason: .status(status)))
            try await proxy.wait { $0.openConnectionCount == 0 }
        }
        await loop.shutdown()
    }

    /// What comes behind the response, no server of ours has sent.
    @Test(
        arguments: [
            (accepting + "x", .badServerResponse), ("SSH-2.0", .badServerResponse),
            ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", .badServerResponse),
            ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", .badServerResponse), ("", .cannotConnectToHost),
            ("HTTP/1.1 200 OK\r\n", .cannotConnectToHost),
        ] as [(String, URLError.Code)])
    func aProxyThatBreaksTheProtocolIsNamed(response: String, code: URLError.Code) async throws {
        try await MockServer.run { proxy in
            proxy.onAccept { _ in
                MockServer.Step.conversing { conversation in
                    _ = try await conversation.receive()
                    if !response.isEmpty { try await conversation.send(Data(response.utf8)) }
                }
            }
            let failure = await failureToOpen("http://a.test/", .http(host: "127.0.0.1", port: proxy.port))
            #expect(failure?.code == code)
            #expect(failure?.description.hasSuffix("by the proxy 127.0.0.1:\(proxy.port)") == true)
            try await proxy.wait { $0.openConnectionCount == 0 }
        }
        await loop.shutdown()
    }

    // MARK: SOCKS

    /// A proxy without credentials, whose n-th connection gets the n-th reply.
    private static func socks(
        _ replies: [UInt8], _ requests: Locked<[Data]>
    ) -> @Sendable (MockServer.Conversation) async throws -> Void {
        let rest = Locked(replies[...])
        return { conversation in
            _ = try await conversation.receive()
            try await conversation.send(Data([5, 0]))
            guard let request = try await conversation.receive() else { return }
            requests.withLock { $0.append(request) }
            let reply = rest.withLock { $0.popFirst() } ?? 1
            try await conversation.send(Data([5, reply, 0, 1, 0, 0, 0, 0, 0, 0]))
        }
    }

    /// The names that a proxy gets: only with `socks5h` it resolves them itself.
    @Test(
        arguments: [
            ("socks5h", [3, 6] + Array("a.test".utf8), []), ("socks5", [1, 127, 0, 0, 1], ["a.test"]),
        ] as [(String, [UInt8], [String])])
    func aVariableSaysWhereNamesAreResolved(scheme: String, field: [UInt8], resolved: [String]) async throws {
        let requests = Locked<[Data]>([])
        names.release("a.test")
        try await Self.run { conversation in
            for response in [[5, 0], [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]] as [[UInt8]] {
                if let request = try await conversation.receive() { requests.withLock { $0.append(request) } }
                try await conversation.send(Data(response))
            }
        } _: { proxy in
            let variable = "\(scheme)://127.0.0.1:\(proxy.port)"
            let other = Connector(resolver: names.resolver, clock: clock) { $0 == "http_proxy" ? variable : nil }
            try await Self.echoes(try await open("http://a.test/", .environment, other))
        }
        #expect(requests.withLock { $0 } == [Data([5, 1, 0]), Data([5, 1, 0] + field + [0, 80])])
        #expect(names.names == resolved)
        await loop.shutdown()
    }

    /// Network and host unreachable, address type not supported; and a refusal of another kind.
    @Test(arguments: [3, 4, 8, 2] as [UInt8]) func anAddressThatAProxyDoesNotReachIsFollowedByTheNext(
        reply: UInt8
    ) async throws {
        let names = HeldNameServer(["::2", "10.0.0.1", "10.0.0.2"])
        names.release("a.test", "a.test")
        let requests = Locked<[Data]>([])
        let addresses: [[UInt8]] = [[1, 10, 0, 0, 1], [1, 10, 0, 0, 2], [4] + [UInt8](repeating: 0, count: 15) + [2]]
        let all = addresses.map { Data([5, 1, 0] + $0 + [0, 80]) }
        try await Self.run(Self.socks([reply, reply, 0, reply, reply, reply], requests)) { proxy in
            let variable = "socks5://127.0.0.1:\(proxy.port)"
            let other = Connector(resolver: names.resolver, clock: clock) { $0 == "http_proxy" ? variable : nil }
            if reply != 2 { try await Self.echoes(try await open("http://a.test/", .environment, other)) }
            let error = await #expect(throws: PulseError.self) { try await open("http://a.test/", .environment, other) }
            guard case .proxyRefused(let refusal) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(refusal.reason == .socksReply(Int(reply)))
            #expect(requests.withLock { $0 } == (reply == 2 ? [all[0]] : all + all))
            try await proxy.wait { $0.openConnectionCount == 0 }
        }
        await loop.shutdown()
    }

    @Test(arguments: ["socks5", "socks5h"]) func aProxyGetsNoZone(scheme: String) async throws {
        let requests = Locked<[Data]>([])
        try await Self.run(Self.socks([0], requests)) { proxy in
            let variable = "\(scheme)://127.0.0.1:\(proxy.port)"
            let other = Connector(resolver: names.resolver, clock: clock) { $0 == "http_proxy" ? variable : nil }
            try await Self.echoes(try await open("http://[fe80::1%25nowhere]/", .environment, other))
        }
        let address = [0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [1]
        #expect(requests.withLock { $0 } == [Data([5, 1, 0, 4] + address + [0, 80])])
        #expect(names.names == [])
        await loop.shutdown()
    }

    // MARK: Routes

    /// Only a request that would use the variable.
    @Test func aProxyOfAnotherSchemeIsUnsupported() throws {
        let url = try #require(URL(string: "https://a.test/"))
        var request = TransportRequest(urlRequest: URLRequest(url: url))
        for variable in ["https://p", "socks4://p"] {
            let other = Connector(clock: clock) { $0 == "https_proxy" ? variable : nil }
            request.proxy = .environment
            #expect {
                try other.route(of: request, to: "\(url)", isSecure: true)
            } throws: {
                PulseError(wrapping: $0).kind == .unsupported
            }
            #expect(try other.route(of: request, to: "http://a.test/", isSecure: false) == .direct)
            request.proxy = .direct
            #expect(try other.route(of: request, to: "\(url)", isSecure: true) == .direct)
            request.proxy = .http(host: "p", port: 1)
            #expect(try other.route(of: request, to: "\(url)", isSecure: true) != .direct)
        }
        request.proxy = .environment
        #expect(try connector.route(of: request, to: "\(url)", isSecure: true) == .direct)
    }

    /// An HTTP proxy gets requests in cleartext themselves, but no tunnel for them.
    @Test func aForwardingProxyIsConnectedToWithoutATunnel() async throws {
        try await MockServer.run { proxy in
            let url = try #require(URL(string: "http://a.test/"))
            let request = TransportRequest(
                urlRequest: URLRequest(url: url), proxy: .http(host: "127.0.0.1", port: proxy.port))
            let route = try connector.route(of: request, to: "\(url)", isSecure: false)
            #expect(route.forwarder(of: request, isSecure: false)?.port == UInt16(proxy.port))
            #expect(route.forwarder(of: request, isSecure: true) == nil)
            let opening = try await connector.open(
                to: "\(url)", by: route, isSecure: false, for: request, queued: 0, over: loop)
            opening.connection.close()
            #expect(proxy.requests.isEmpty && names.names.isEmpty)
        }
        await loop.shutdown()
    }
}
#endif
