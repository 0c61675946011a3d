// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// Which cookies each request of a call carries, as recorded by real servers.
@Suite(.tags(.threads), .throttled)
struct CookieWireTests {
    /// Refreshes by a call of the same client, whose response sets the session cookie.
    private actor CookieSession: TokenProvider {
        private let hasExpired: Bool
        private var client: PulseClient?
        private var token = "t1"

        init(hasExpired: Bool) {
            self.hasExpired = hasExpired
        }

        func serve(_ client: PulseClient?) {
            self.client = client
        }

        func accessToken() -> String? { token }

        var tokenExpiry: Date? { hasExpired && token == "t1" ? .distantPast : nil }

        func refreshToken() async throws -> String {
            guard let client else { throw PulseError.cancelled }
            try await client.post("/login", body: ["name": "Ada"])
            token = "t2"
            return token
        }

        func handleAuthenticationFailure() {}
    }

    private static func cookies(_ server: MockServer, _ path: String) -> [String?] {
        server.requests.filter { $0.path == path }.map { $0.headers["Cookie"] }
    }

    private static func client(
        _ server: MockServer, _ store: any CookieStore, plugins: [any PulsePlugin] = [],
        clock: any PulseClock = SystemClock(), backoff: BackoffStrategy = .immediate
    ) -> PulseClient {
        ClientStage.client(
            of: server, plugins: plugins, retry: RetryPolicy(maxAttempts: 2, backoffStrategy: backoff), clock: clock,
            with: { $0.cookieStore = store })
    }

    private static func store(_ lines: String..., for server: MockServer) async -> MemoryCookieStore {
        let store = MemoryCookieStore()
        await store.store(setCookie: lines, from: server.baseURL, now: SystemClock().now)
        return store
    }

    // MARK: Updated cookies

    /// Trap: the refresh succeeds, but its call is rejected again because of the old cookie. An inner plugin may send
    /// the replay as the first request of its own call. A plugin that knows the token's expiry refreshes before the
    /// first request.
    @Test(arguments: [false, true], [false, true])
    func aReplayAfterARefreshCarriesTheNewSession(isShared: Bool, hasExpired: Bool) async throws {
        try await MockServer.run { server in
            server.on(.get, "/account") { request in
                request.headers["Cookie"] == "session=new" ? .text("Ada") : .status(401)
            }
            server.on(.post, "/login") { _ in .status(204).header("Set-Cookie", "session=new; Path=/") }
            let session = CookieSession(hasExpired: hasExpired)
            let store = await Self.store("session=old; Path=/", for: server)
            let shared: [any PulsePlugin] = isShared ? [.coalescing(), .cache()] : []
            let client = Self.client(server, store, plugins: [.auth(session)] + shared)
            await session.serve(client)
            let name: String = try await client.get("/account")
            #expect(name == "Ada")
            let known = hasExpired ? [] : ["session=old"]
            #expect(Self.cookies(server, "/account") == known + ["session=new"])
            #expect(Self.cookies(server, "/login") == ["session=old"])
            await session.serve(nil)
            await client.shutdown()
        }
    }

    /// Load balancers use this to lead a client back to the same server.
    @Test(arguments: [[], ["session=1; Path=/"]])
    func aRetryCarriesTheCookiesOfThePreviousResponse(known: [String]) async throws {
        try await MockServer.run { server in
            let busy = MockServer.Response.status(503).header("Set-Cookie", "server=b; Path=/")
            server.on(.get, "/data", script: [busy, .text("ok")])
            let seen = Locked<[String?]>([])
            let watching = WillSendPlugin { request in
                seen.withLock { $0.append(request.value(forHTTPHeaderField: "Cookie")) }
            }
            let store = MemoryCookieStore()
            await store.store(setCookie: known, from: server.baseURL, now: .distantPast)
            let client = Self.client(server, store, plugins: [watching])
            let response = try await client.rawRequest(Request<Data>(.get, "/data"))
            let both = known.isEmpty ? "server=b" : "session=1; server=b"
            #expect(Self.cookies(server, "/data") == [known.isEmpty ? nil : "session=1", both])
            // The reported request is the one that was sent.
            #expect(seen.withLock { $0 } == Self.cookies(server, "/data"))
            #expect(response.request.value(forHTTPHeaderField: "Cookie") == both)
            await client.shutdown()
        }
    }

    @Test func aPendingRetryDropsTheSessionAtLogout() async throws {
        try await MockServer.run { server in
            server.on(.get, "/data", script: [.status(503), .text("ok")])
            let store = await Self.store("session=1; Path=/", for: server)
            let clock = TestClock()
            let client = Self.client(server, store, clock: clock, backoff: .constant(5))
            let call = Task { try await client.rawRequest(Request<Data>(.get, "/data")) }
            await clock.sleepers(atLeast: 1)
            store.removeAll()
            await clock.advance(by: 5)
            _ = try await call.value
            #expect(Self.cookies(server, "/data") == ["session=1", nil])
            await client.shutdown()
        }
    }

    @Test func aRetryAtAnotherOriginCarriesTheCookiesOfThatOrigin() async throws {
        try await MockServer.run { home in
            try await MockServer.run { foreign in
                let target = foreign.baseURL.absoluteString + "/end"
                home.on(.get, "/start") { _ in .status(302, headers: ["Location": target]) }
                let busy = MockServer.Response.status(503).header("Set-Cookie", "server=b; Path=/")
                foreign.on(.get, "/end", script: [busy, .text("ok")])
                let client = Self.client(home, PerPortStore())
                _ = try await client.rawRequest(Request<Data>(.get, "/start"))
                #expect(Self.cookies(home, "/start") == [nil])
                #expect(Self.cookies(foreign, "/end") == [nil, "server=b; Path=/"])
                await client.shutdown()
            }
        }
    }

    // MARK: Kept cookies

    @Test func aCookieSetByTheEndpointOrAPluginIsKept() async throws {
        try await MockServer.run { server in
            for path in ["/endpoint", "/plugin", "/none", "/removed"] {
                let busy = MockServer.Response.status(503).header("Set-Cookie", "server=\(path); Path=/")
                server.on(.get, path, script: [busy, .text("ok")])
            }
            let plugin = ClosurePlugin(scope: .call) { request, _, next in
                var request = request
                switch request.url?.path {
                case "/plugin": request.setValue("plugin=1", forHTTPHeaderField: "Cookie")
                case "/none", "/removed": request.setValue(nil, forHTTPHeaderField: "Cookie")
                default: break
                }
                return try await next(request)
            }
            let store = await Self.store("session=1; Path=/", for: server)
            let client = Self.client(server, store, plugins: [plugin])
            let own = RequestOptions().with(\.headers, value: ["Cookie": "endpoint=1"])
            _ = try await client.rawRequest(Request<Data>(.get, "/endpoint"), options: own)
            _ = try await client.rawRequest(Request<Data>(.get, "/plugin"))
            _ = try await client.rawRequest(Request<Data>(.get, "/none"))
            _ = try await client.rawRequest(Request<Data>(.get, "/removed"), options: own)
            #expect(Self.cookies(server, "/endpoint") == ["endpoint=1", "endpoint=1"])
            #expect(Self.cookies(server, "/plugin") == ["plugin=1", "plugin=1"])
            #expect(Self.cookies(server, "/none") == [nil, nil])
            #expect(Self.cookies(server, "/removed") == [nil, nil])
            await client.shutdown()
        }
    }

    @Test(arguments: [[], ["session=1; Path=/"]])
    func aRetryMovedByAPluginToAnotherOriginCarriesNoCookies(known: [String]) async throws {
        try await MockServer.run { home in
            try await MockServer.run { other in
                let busy = MockServer.Response.status(503).header("Set-Cookie", "server=b; Path=/")
                other.on(.get, "/data", script: [busy, .text("ok")])
                let target = other.baseURL.appendingPathComponent("data")
                let moving = ClosurePlugin(scope: .call) { request, _, next in
                    var request = request
                    request.url = target
                    return try await next(request)
                }
                // The same host: cookies ignore ports.
                let store = MemoryCookieStore()
                await store.store(setCookie: known, from: home.baseURL, now: .distantPast)
                let client = Self.client(home, store, plugins: [moving])
                _ = try await client.rawRequest(Request<Data>(.get, "/data"))
                #expect(Self.cookies(other, "/data") == [nil, nil])
                await client.shutdown()
            }
        }
    }

    /// Also in a request with a field of the connection.
    @Test(arguments: [[:], ["TE": "trailers"]])
    func cookieBytesThatAreNotUTF8AreSentBackUnchanged(fields: [String: String]) async throws {
        let server = try await MockServer.start()
        let bytes: [UInt8] = [0x61, 0x3D, 0xE9, 0xFF, 0xC3, 0xA9]
        let head = Data("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: ".utf8) + bytes + Data("\r\n\r\n".utf8)
        server.on(.post, "/set", script: [.raw([.bytes(head)])])
        server.on(.post, "/get", script: [.status(200)])
        let client = Self.client(server, MemoryCookieStore(), plugins: [HeadersPlugin(HTTPHeaders(fields))])
        try await client.post("/set", body: .text("x"))
        try await client.post("/get", body: .text("x"))
        let sent = try #require(server.requests.first { $0.path == "/get" })
        #expect(sent.headers.octets(for: "Cookie") == [bytes])
        await client.shutdown()
        await server.shutdown()
    }

    @Test func aLineBreakFromACookieStoreInjectsNoHeader() async throws {
        let retrying = RetryPolicy.immediate(2)
        let configuration = PulseConfiguration.test().with(\.retryPolicy, value: retrying)
        let stage = ClientStage(
            configuration.with(\.cookieStore, value: BreakingStore()),
            over: .responding(503, headers: ["Set-Cookie": "a=2"]))
        let error = await #expect(throws: PulseError.self) { try await stage.client.rawRequest(GetUser()) }
        #expect(error?.kind == .invalidRequest)
        #expect(stage.requests.count == 1)
        await stage.client.shutdown()
    }
}

/// Returns for each port the cookies that it has set, unchanged.
private final class PerPortStore: CookieStore {
    private let lines = Locked<[Int?: String]>([:])

    func cookieHeader(for url: URL, now: Date) async -> String? {
        lines.withLock { $0[url.port] }
    }

    func store(setCookie lines: [String], from url: URL, now: Date) async {
        self.lines.withLock { $0[url.port] = lines.last }
    }
}

/// Returns a line break after the first response.
private final class BreakingStore: CookieStore {
    private let isBroken = Locked(false)

    func cookieHeader(for url: URL, now: Date) async -> String? {
        isBroken.withLock { $0 } ? "a=1\r\nX-Injected: 1" : "a=1"
    }

    func store(setCookie lines: [String], from url: URL, now: Date) async {
        isBroken.withLock { $0 = true }
    }
}

private struct WillSendPlugin: PulsePlugin {
    let identifier = "will-send"
    let body: @Sendable (URLRequest) -> Void

    func willSend(_ request: URLRequest, for context: PluginContext) async {
        body(request)
    }
}
