// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// Redirects and the secrets of their requests, as recorded by real servers.
@Suite(.tags(.threads), .throttled)
struct RedirectFollowerWireTests {
    private struct Where: Endpoint {
        typealias Response = Data
        var path = "/start"
        var method = HTTPMethod.get
        var headers: [String: String] = [:]
        var body = RequestBody.none
        var options = RequestOptions()
    }

    private static let secrets = [
        "Authorization": "Bearer endpoint", "Cookie": "session=endpoint", "Proxy-Authorization": "Basic endpoint",
        "X-API-Key": "endpoint", "X-Access-Token": "endpoint", "Origin": "https://endpoint", "X-Plain": "endpoint",
        "X-Note": "Bearer endpoint",
    ]

    private static func client(
        _ home: MockServer, plugins: [any PulsePlugin] = [], trusted: [URL] = [], defaults: [String: String] = [:],
        events: PulseEventBus = PulseEventBus(), hasHome: Bool = true
    ) -> PulseClient {
        ClientStage.client(
            of: home, plugins: plugins, events: events,
            with: {
                $0.baseURL = hasHome ? home.baseURL : nil
                $0.trustedOrigins = trusted
                $0.defaultHeaders = defaults
            })
    }

    private static func names(_ request: RecordedRequest) -> Set<String> {
        Set(request.headers.map { $0.name.lowercased() })
    }

    /// A home server whose `/start` redirects to the other server, and a client for the home.
    private static func crossing(
        status: Int = 302, plugins: [any PulsePlugin] = [], trustsOther: Bool = false, defaults: [String: String] = [:],
        endpoint: Where
    ) async throws -> (home: RecordedRequest, foreign: RecordedRequest) {
        try await MockServer.run { home in
            try await MockServer.run { foreign in
                let target = foreign.baseURL.absoluteString + "/end"
                for method in [HTTPMethod.get, .post] {
                    home.on(method, "/start") { _ in .status(status, headers: ["Location": target]) }
                    foreign.on(method, "/end") { _ in .text("end") }
                }
                let client = Self.client(
                    home, plugins: plugins, trusted: trustsOther ? [foreign.baseURL] : [], defaults: defaults)
                let data = try await client.request(endpoint)
                #expect(data == Data("end".utf8))
                await client.shutdown()
                return (try #require(home.requests.first), try #require(foreign.requests.first))
            }
        }
    }

    // MARK: Secrets

    @Test func theEndpointsSecretsAreNotSentToAForeignOrigin() async throws {
        let (home, foreign) = try await Self.crossing(endpoint: Where(headers: Self.secrets))
        #expect(home.headers["Authorization"] == "Bearer endpoint")
        #expect(home.headers["X-API-Key"] == "endpoint")
        let sent = Self.names(foreign)
        for name in Self.secrets.keys where name != "X-Plain" {
            #expect(!sent.contains(name.lowercased()), "\(name)")
        }
        #expect(foreign.headers["X-Plain"] == "endpoint")
    }

    @Test(
        arguments: [
            ("https://ada:pw@shop.example:8443/cart?token=1#a", "https://shop.example:8443/"),
            ("http://shop.example/cart", "http://shop.example/"), ("app://cart?item=7", nil), ("/cart?item=7", nil),
        ] as [(String, String?)])
    func aRefererIsCutToItsOriginForAForeignOrigin(referer: String, shown: String?) async throws {
        let endpoint = Where(headers: ["referer": referer])
        let (home, foreign) = try await Self.crossing(endpoint: endpoint)
        #expect(home.headers["Referer"] == referer)
        #expect(foreign.headers["Referer"] == shown)
        let (_, trusted) = try await Self.crossing(trustsOther: true, endpoint: endpoint)
        #expect(trusted.headers["Referer"] == referer)
    }

    @Test func secretsOfPluginsAndDefaultsAreNotSentToAForeignOrigin() async throws {
        let plugins: [any PulsePlugin] = [
            .headers(["Authorization": "Bearer plugin", "X-Signature-256": "plugin", "X-Plugin": "plugin"]),
            ClosurePlugin { request, context, next in
                context.markSecret(header: "X-Tenant")
                var request = request
                request.setValue("acme", forHTTPHeaderField: "X-Tenant")
                request.setValue("a=1", forHTTPHeaderField: "Cookie")
                return try await next(request)
            },
        ]
        let (home, foreign) = try await Self.crossing(
            plugins: plugins, defaults: ["X-API-Key": "default", "X-App": "default"], endpoint: Where())
        #expect(home.headers["Authorization"] == "Bearer plugin")
        #expect(home.headers["X-Tenant"] == "acme")
        #expect(home.headers["X-API-Key"] == "default")
        let sent = Self.names(foreign)
        #expect(sent.isDisjoint(with: ["authorization", "x-signature-256", "x-tenant", "cookie", "x-api-key"]))
        #expect(foreign.headers["X-Plugin"] == "plugin")
        #expect(foreign.headers["X-App"] == "default")
    }

    @Test func secretsAreSentToATrustedOrigin() async throws {
        let (_, trusted) = try await Self.crossing(
            plugins: [.headers(["X-Signature-256": "plugin"])], trustsOther: true,
            endpoint: Where(headers: Self.secrets))
        #expect(trusted.headers["Authorization"] == "Bearer endpoint")
        #expect(trusted.headers["X-Signature-256"] == "plugin")
    }

    @Test func droppedSecretsStayDroppedOnARedirectBackHome() async throws {
        try await MockServer.run { home in
            try await MockServer.run { foreign in
                let (there, back) = (foreign.baseURL.absoluteString + "/there", home.baseURL.absoluteString + "/back")
                home.on(.get, "/start") { _ in .status(302, headers: ["Location": there]) }
                foreign.on(.get, "/there") { _ in .status(302, headers: ["Location": back]) }
                home.on(.get, "/back") { _ in .text("back") }
                let client = Self.client(home, plugins: [.headers(["X-Signature-1": "plugin"])])
                _ = try await client.request(Where(headers: ["Authorization": "Bearer endpoint"]))
                let last = try #require(home.requests.last)
                #expect(last.path == "/back")
                #expect(last.headers["Authorization"] == nil)
                // The plugin prepares each hop again, and this one is home.
                #expect(last.headers["X-Signature-1"] == "plugin")
                #expect(foreign.requests.first?.headers["X-Signature-1"] == nil)
                await client.shutdown()
            }
        }
    }

    @Test func aForeignAbsoluteURLGetsItsOwnHeadersAndNoClientSecrets() async throws {
        try await MockServer.run { home in
            try await MockServer.run { foreign in
                foreign.on(.get, "/end") { _ in .text("end") }
                let client = Self.client(
                    home, plugins: [.headers(["Authorization": "Bearer plugin", "X-Own-Token": "plugin"])],
                    defaults: ["X-API-Key": "default", "X-App": "default"])
                let path = foreign.baseURL.absoluteString + "/end"
                _ = try await client.request(Where(path: path, headers: ["X-Own-Token": "endpoint"]))
                let sent = try #require(foreign.requests.first)
                #expect(sent.headers["X-Own-Token"] == "endpoint")
                #expect(sent.headers["X-App"] == "default")
                #expect(sent.headers["Authorization"] == nil)
                #expect(sent.headers["X-API-Key"] == nil)
                await client.shutdown()
            }
        }
    }

    @Test func aRequestMovedByAPluginCarriesNoSecret() async throws {
        try await MockServer.run { home in
            try await MockServer.run { foreign in
                foreign.on(.get, "/start") { _ in .text("moved") }
                let target = foreign.baseURL.appendingPathComponent("start")
                let moving = ClosurePlugin { request, _, next in
                    var request = request
                    request.url = target
                    return try await next(request)
                }
                let client = Self.client(home, plugins: [moving], defaults: ["X-API-Key": "default"])
                _ = try await client.request(Where(headers: ["Authorization": "Bearer endpoint", "X-Plain": "1"]))
                let sent = try #require(foreign.requests.first)
                #expect(Self.names(sent).isDisjoint(with: ["authorization", "x-api-key"]))
                #expect(sent.headers["X-Plain"] == "1")
                await client.shutdown()
            }
        }
    }

    @Test(arguments: [true, false])
    func userInfoIsOnlySentToTheOriginOfTheBuiltRequest(isTrusted: Bool) async throws {
        try await MockServer.run { home in
            try await MockServer.run { other in
                for server in [home, other] {
                    server.on(.get, "/start") { _ in .text("start") }
                }
                let port = other.port
                let moving = ClosurePlugin { request, _, next in
                    var parts = request.url.flatMap { URLComponents(url: $0, resolvingAgainstBaseURL: true) }
                    parts?.port = port
                    var moved = request
                    moved.url = parts?.url
                    return try await next(moved)
                }
                let path = "http://ada:secret@127.0.0.1:\(home.port)/start"
                let trusted = isTrusted ? [other.baseURL] : []
                let staying = Self.client(home, trusted: trusted)
                let stayed = try await staying.rawRequest(Where(path: path))
                #expect(stayed.request.url?.absoluteString.contains("ada:secret@") == true)
                await staying.shutdown()
                let client = Self.client(home, plugins: [moving], trusted: trusted)
                let moved = try await client.rawRequest(Where(path: path))
                #expect(moved.request.url?.absoluteString == other.baseURL.absoluteString + "/start")
                #expect(other.requests.map { $0.headers["Authorization"] } == [nil])
                await client.shutdown()
            }
        }
    }

    @Test func aClientWithoutAHomeTrustsOnlyTheFirstOrigin() async throws {
        try await MockServer.run { first in
            try await MockServer.run { other in
                let target = other.baseURL.absoluteString + "/end"
                first.on(.get, "/start") { _ in .status(302, headers: ["Location": "/same"]) }
                first.on(.get, "/same") { _ in .status(302, headers: ["Location": target]) }
                other.on(.get, "/end") { _ in .text("end") }
                let client = Self.client(first, plugins: [.headers(["X-API-Key": "plugin"])], hasHome: false)
                let path = first.baseURL.absoluteString + "/start"
                _ = try await client.request(Where(path: path, headers: ["Authorization": "Bearer endpoint"]))
                #expect(first.requests.map { $0.headers["Authorization"] } == ["Bearer endpoint", "Bearer endpoint"])
                #expect(first.requests.map { $0.headers["X-API-Key"] } == ["plugin", "plugin"])
                let sent = try #require(other.requests.first)
                #expect(Self.names(sent).isDisjoint(with: ["authorization", "x-api-key"]))
                await client.shutdown()
            }
        }
    }

    // MARK: Hops

    @Test(arguments: [
        (301, "GET", false), (302, "GET", false), (303, "GET", false), (307, "POST", true), (308, "POST", true),
    ])
    func aRedirectedPOSTKeepsMethodAndBodyOnlyOn307And308(status: Int, method: String, hasBody: Bool) async throws {
        let endpoint = Where(
            method: .post, body: .text("payload"), options: RequestOptions().with(\.idempotencyKey, value: "key"))
        let (first, second) = try await Self.crossing(status: status, endpoint: endpoint)
        #expect(first.headers["Idempotency-Key"] == "key")
        #expect(second.method.rawValue == method)
        #expect(second.text == (hasBody ? "payload" : ""))
        #expect((second.headers["Content-Type"] != nil) == hasBody)
        #expect(second.headers["Idempotency-Key"] == (hasBody ? "key" : nil))
    }

    @Test func everyHopPassesTheWholePluginChain() async throws {
        try await MockServer.run { server in
            server.on(.get, "/start") { _ in .status(301, headers: ["Location": "/middle?x=1"]) }
            server.on(.get, "/middle") { _ in .status(308, headers: ["Location": "end"]) }
            server.on(.get, "/end") { _ in .text("end") }
            let hops = Locked<[String]>([])
            let plugin = ClosurePlugin(scope: .call) { request, context, next in
                let response = try await next(request)
                let line =
                    "\(context.hop) \(request.url?.path ?? "") \(response.statusCode) \(context.willFollow(response))"
                hops.withLock { $0.append(line) }
                return response
            }
            let sink = RecordingSink()
            let log = TracingPlugin.Log()
            let client = Self.client(
                server, plugins: [plugin, TracingPlugin(identifier: "a", log: log)], events: PulseEventBus(sink: sink))
            let response = try await client.rawRequest(Where())
            #expect(hops.withLock { $0 } == ["0 /start 301 true", "1 /middle 308 true", "2 /end 200 false"])
            #expect(response.redirects.map(\.statusCode) == [301, 308])
            #expect(response.redirects.map(\.url.path) == ["/middle", "/end"])
            #expect(log.all.filter { $0 == "a prepare" }.count == 3)
            #expect(log.all.filter { $0 == "a didComplete" }.count == 1)
            #expect(sink.names.filter { $0 == "requestRedirected" }.count == 2)
            #expect(sink.names.filter { $0 == "requestCompleted" }.count == 1)
            await client.shutdown()
        }
    }

    @Test func tenHopsAreFollowedAndTheEleventhIsTooMany() async throws {
        try await MockServer.run { server in
            server.on(.get, "/hop/{n}") { request in
                let number = request.parameters["n"].flatMap(Int.init) ?? 0
                return number == 0 ? .text("end") : .status(302, headers: ["Location": "/hop/\(number - 1)"])
            }
            let client = Self.client(server)
            let data = try await client.request(Where(path: "/hop/10"))
            #expect(data == Data("end".utf8))
            let error = await #expect(throws: PulseError.self) { try await client.request(Where(path: "/hop/11")) }
            guard case .transport(.httpTooManyRedirects, _) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            await client.shutdown()
        }
    }

    @Test func aRedirectThatIsNotFollowedIsTheResponse() async throws {
        try await MockServer.run { server in
            server.on(.get, "/start") { _ in .status(302, headers: ["Location": "/end"]) }
            server.on(.get, "/nowhere") { _ in .status(302) }
            server.on(.get, "/file") { _ in .status(302, headers: ["Location": "file:///etc/passwd"]) }
            let client = Self.client(server)
            let refusing = RequestOptions().with(\.redirectPolicy, value: .refuse)
            let error = await #expect(throws: PulseError.self) { try await client.request(Where(), options: refusing) }
            #expect(error?.statusCode == 302)
            for path in ["/nowhere", "/file"] {
                let error = await #expect(throws: PulseError.self) { try await client.request(Where(path: path)) }
                #expect(error?.kind == .http)
                #expect(error?.statusCode == 302)
            }
            let any = refusing.with(\.acceptedStatuses, value: .any)
            let response = try await client.rawRequest(Where(), options: any)
            #expect(response.headers["Location"] == "/end")
            await client.shutdown()
        }
    }

    @Test func eachHopHasItsOwnRetries() async throws {
        try await ClientStage.run(retry: .immediate(2)) { client, server in
            server.on(.get, "/start", script: [.status(503), .status(302, headers: ["Location": "/end"])])
            server.on(.get, "/end", script: [.status(503), .text("end")])
            let data = try await client.request(Where())
            #expect(data == Data("end".utf8))
            #expect(server.requests.map(\.path) == ["/start", "/start", "/end", "/end"])
        }
    }

    // MARK: Requests moved by a plugin

    /// Moves requests for one path of a server to the same path of another.
    private static func moving(_ path: String, to server: MockServer) -> ClosurePlugin {
        let target = server.baseURL.appendingPathComponent(path)
        return ClosurePlugin(scope: .call) { request, _, next in
            var moved = request
            if request.url?.path == "/" + path { moved.url = target }
            return try await next(moved)
        }
    }

    @Test func aRelativeLocationResolvesAgainstTheServerThatSentIt() async throws {
        try await MockServer.run { home in
            try await MockServer.run { other in
                other.on(.get, "/start") { _ in .status(302, headers: ["Location": "/end"]) }
                other.on(.get, "/end") { _ in .text("end") }
                let asked = Locked<[URLRequest]>([])
                let judging = ClosurePlugin { request, context, next in
                    var request = request
                    request.setValue("plugin", forHTTPHeaderField: "X-Plugin")
                    let response = try await next(request)
                    #expect(context.willFollow(response) == (context.hop == 0))
                    return response
                }
                let client = Self.client(home, plugins: [Self.moving("start", to: other), judging])
                let policy = RedirectPolicy.custom { _, next in
                    asked.withLock { $0.append(next) }
                    return next
                }
                let data = try await client.request(
                    Where(), options: RequestOptions().with(\.redirectPolicy, value: policy))
                #expect(data == Data("end".utf8))
                #expect(other.requests.map(\.path) == ["/start", "/end"])
                #expect(home.requests.isEmpty)
                // The closure judges the same request in all cases.
                let requests = asked.withLock { $0 }
                #expect(requests.count > 1)
                #expect(requests.allSatisfy { $0 == requests[0] && $0.allHTTPHeaderFields?["X-Plugin"] == nil })
                await client.shutdown()
            }
        }
    }

    // MARK: Custom decisions

    @Test func aFileBodyIsDroppedWhenACustomRedirectTurnsAPOSTIntoAGET() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data("payload".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try await MockServer.run { server in
            server.on(.post, "/start") { _ in .status(307, headers: ["Location": "/end"]) }
            server.on(.get, "/end") { _ in .text("end") }
            let policy = RedirectPolicy.custom { _, next in
                var next = next
                next.httpMethod = "GET"
                return next
            }
            let client = Self.client(server)
            _ = try await client.request(
                Where(
                    method: .post, body: .file(file, contentType: "a/b"),
                    options: RequestOptions().with(\.redirectPolicy, value: policy)))
            #expect(server.requests.map(\.text) == ["payload", ""])
            #expect(server.requests.last?.headers["Content-Type"] == nil)
            await client.shutdown()
        }
    }

    @Test func aCustomHostHeaderIsNotSentToAnotherOrigin() async throws {
        let (home, foreign) = try await Self.crossing(endpoint: Where(headers: ["Host": "tenant.example"]))
        #expect(home.headers["Host"] == "tenant.example")
        #expect(foreign.headers["Host"]?.hasPrefix("127.0.0.1") == true)
    }

    // MARK: Cookies

    private struct ConstantJar: CookieStore {
        func cookieHeader(for url: URL, now: Date) async -> String? { "jar=\(url.path)" }
        func store(setCookie lines: [String], from url: URL, now: Date) async {}
    }

    @Test(arguments: [true, false])
    func storedCookiesAreOnlySentToTheOriginOfTheBuiltRequest(isTrusted: Bool) async throws {
        try await MockServer.run { home in
            try await MockServer.run { other in
                other.on(.get, "/start") { _ in .text("start") }
                home.on(.get, "/start") { _ in .text("start") }
                home.on(.get, "/other") { _ in .text("other") }
                let trusted = isTrusted ? [other.baseURL] : []
                let client = ClientStage.client(
                    of: home, plugins: [Self.moving("start", to: other)], retry: .default,
                    with: { ($0.trustedOrigins, $0.cookieStore) = (trusted, ConstantJar()) })
                _ = try await client.request(Where(headers: ["X-API-Key": "endpoint"]))
                _ = try await client.request(Where(headers: ["Cookie": "own=1"]))
                _ = try await client.request(Where(path: "/other"))
                #expect(other.requests.map { $0.headers["Cookie"] } == [nil, isTrusted ? "own=1" : nil])
                #expect(other.requests.first?.headers["X-API-Key"] == (isTrusted ? "endpoint" : nil))
                #expect(home.requests.map { $0.headers["Cookie"] } == ["jar=/other"])
                await client.shutdown()
            }
        }
    }

    @Test func theCookieStoreIsReadForEachHopAndUpdatedByEachResponse() async throws {
        final class Jar: CookieStore {
            let stored = Locked<[String]>([])
            func cookieHeader(for url: URL, now: Date) async -> String? {
                url.path == "/there" ? nil : "jar=\(url.path)"
            }
            func store(setCookie lines: [String], from url: URL, now: Date) async {
                stored.withLock { $0 += lines.map { "\(url.path) \($0)" } }
            }
        }
        try await MockServer.run { home in
            try await MockServer.run { foreign in
                let target = foreign.baseURL.absoluteString + "/end"
                home.on(.get, "/start") { _ in
                    .status(302, headers: ["Location": target, "Set-Cookie": "a=1", "Set-Cookie": "b=2"])
                }
                foreign.on(.get, "/end") { _ in .text("end", headers: ["Set-Cookie": "c=3"]) }
                let jar = Jar()
                let client = ClientStage.client(of: home, retry: .default, with: { $0.cookieStore = jar })
                _ = try await client.request(Where())
                #expect(home.requests.first?.headers["Cookie"] == "jar=/start")
                // The store decides which cookies belong to a foreign origin.
                #expect(foreign.requests.first?.headers["Cookie"] == "jar=/end")
                _ = try await client.request(Where(path: "/start", headers: ["Cookie": "own=1"]))
                #expect(home.requests.last?.headers["Cookie"] == "own=1")
                let stored = jar.stored.withLock { $0 }
                #expect(stored.prefix(2).allSatisfy { $0.hasPrefix("/start") })
                #expect(stored.contains("/end c=3"))
                await client.shutdown()
            }
        }
    }
}
