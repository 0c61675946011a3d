// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// The fields of a recovery's request, as recorded by real servers.
@Suite(.tags(.threads), .throttled)
struct RecoveryWireTests {
    private struct Fault: Error {}

    /// The target of a recovery's request. The call goes to the home origin unless both go elsewhere.
    enum Place: Sendable, CaseIterable {
        case home, elsewhere, bothElsewhere
    }

    /// Signs requests, and records what is sent.
    private struct SigningPlugin: PulsePlugin {
        let identifier = "com.example.signing"
        let sent = Locked<[URLRequest]>([])

        func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
            request.setValue("plugin", forHTTPHeaderField: "X-Signature-1")
        }

        func willSend(_ request: URLRequest, for context: PluginContext) async {
            sent.withLock { $0.append(request) }
        }
    }

    /// Has a cookie for every path.
    private struct PathJar: CookieStore {
        func cookieHeader(for url: URL, now: Date) async -> String? { "jar=\(url.path)" }
        func store(setCookie lines: [String], from url: URL, now: Date) async {}
    }

    /// A call that needs a login by a recovery's request. Returns the login as plugins saw it and as its server
    /// received it.
    private static func login(
        at place: Place, headers: [String: String] = [:], userInfo: String = "", cookies: (any CookieStore)? = nil
    ) async throws -> (sent: URLRequest, received: RecordedRequest) {
        try await MockServer.run { home in
            try await MockServer.run { foreign in
                let (server, isGood) = (place == .home ? home : foreign, Locked(false))
                let called = place == .bothElsewhere ? foreign : home
                called.on(.get, "/data") { _ in .text(isGood.withLock { $0 } ? "good" : "bad") }
                server.on(.post, "/login") { _ in
                    isGood.withLock { $0 = true }
                    return .status(204)
                }
                let target = try #require(URL(string: "http://\(userInfo)127.0.0.1:\(server.port)/login"))
                var login = URLRequest(url: target)
                login.httpMethod = "POST"
                login.allHTTPHeaderFields = headers
                let recovery = Validator.Recovery.request(login)
                let validator = Validator { _, response, _ in
                    response.data == Data("bad".utf8) ? .recover(recovery, otherwise: Fault()) : .accept
                }
                let signing = SigningPlugin()
                let client = ClientStage.client(
                    of: home, plugins: [.validator(validator), signing],
                    with: {
                        $0.cookieStore = cookies
                        $0.defaultHeaders = ["X-API-Key": "default", "X-App": "default"]
                    })
                let options = RequestOptions().with(
                    \.headers, value: ["Authorization": "Bearer call", "X-Plain": "call", "Accept": "text/call"])
                let path = PathTemplate(called.baseURL.absoluteString + "/data")
                let response = try await client.rawRequest(Request<Data>(.get, path), options: options)
                #expect(response.data == Data("good".utf8))
                await client.shutdown()
                let sent = signing.sent.withLock { $0.first { $0.url?.path == "/login" } }
                return (try #require(sent), try #require(server.requests.first { $0.path == "/login" }))
            }
        }
    }

    // MARK: Secrets

    @Test(arguments: Place.allCases)
    func aRecoveryRequestHasItsOwnHeadersAndNoneOfTheCall(place: Place) async throws {
        let own = ["Authorization": "Bearer login", "X-Login-Token": "login", "X-API-Key": "login"]
        let (_, login) = try await Self.login(at: place, headers: own)
        for (name, value) in own { #expect(login.headers[name] == value, "\(name)") }
        #expect(login.headers["X-Plain"] == nil)
        let (_, bare) = try await Self.login(at: place)
        #expect(bare.headers["Authorization"] == nil)
    }

    @Test func headersSetByPluginsAreSentWithARecoveryRequestToHomeOriginsOnly() async throws {
        let (_, home) = try await Self.login(at: .home)
        #expect(home.headers["X-Signature-1"] == "plugin")
        let (_, elsewhere) = try await Self.login(at: .elsewhere)
        #expect(elsewhere.headers["X-Signature-1"] == nil)
    }

    @Test(arguments: Place.allCases)
    func aRecoveryRequestKeepsTheUserInformationOfItsURL(place: Place) async throws {
        let (sent, _) = try await Self.login(at: place, userInfo: "ada:secret@")
        #expect(sent.url?.absoluteString.contains("ada:secret@") == true)
    }

    // MARK: Defaults

    @Test(arguments: Place.allCases)
    func aRecoveryRequestHasTheDefaultHeadersAndSecretOnesAtHomeOriginsOnly(place: Place) async throws {
        let (_, login) = try await Self.login(at: place)
        #expect(login.headers["User-Agent"]?.contains("PulseKit") == true)
        #expect(login.headers["Accept"] == "*/*")
        #expect(login.headers["X-App"] == "default")
        #expect(login.headers["X-API-Key"] == (place == .home ? "default" : nil))
        let (_, own) = try await Self.login(at: place, headers: ["accept": "text/own", "x-app": "own"])
        #expect(own.headers.values(for: "Accept") == ["text/own"])
        #expect(own.headers.values(for: "X-App") == ["own"])
    }

    // MARK: Cookies

    @Test(arguments: Place.allCases)
    func aRecoveryRequestHasTheCookiesForItsURLUnlessItHasItsOwn(place: Place) async throws {
        let (sent, login) = try await Self.login(at: place, cookies: PathJar())
        #expect(login.headers["Cookie"] == "jar=/login")
        #expect(sent.value(forHTTPHeaderField: "Cookie") == "jar=/login")
        let (_, own) = try await Self.login(at: place, headers: ["Cookie": "own=1"], cookies: PathJar())
        #expect(own.headers["Cookie"] == "own=1")
    }

    // MARK: Events

    @Test func theEventsOfARecoveryRequestHaveItsOwnMethodPathAndHost() async throws {
        var login = URLRequest(url: try #require(URL(string: "https://auth.example/login?name=ada")))
        login.httpMethod = "POST"
        let recovery = Validator.Recovery.request(login)
        let isGood = Locked(false)
        let validator = Validator { _, _, _ in
            isGood.withLock { $0 } ? .accept : .recover(recovery, otherwise: Fault())
        }
        let mock = MockTransport { request in
            if request.url?.host == "auth.example" { isGood.withLock { $0 = true } }
            return PulseResponse(statusCode: 200, request: request)
        }
        let stage = ClientStage(.root, plugins: [.validator(validator)], retry: .default, over: mock)
        _ = try await stage.client.rawRequest(Request<Data>(.get, "/data"))
        let calls = stage.sink.events.compactMap { event -> NetworkEvent.CallSummary? in
            switch event {
            case .attemptStarted(let call), .responseReceived(let call, _, _): call
            default: nil
            }
        }
        #expect(calls.map { $0.host.prefix(4) } == ["api.", "api.", "auth", "auth", "api.", "api."])
        let own = calls.filter { $0.host == "auth.example" }
        #expect(own.allSatisfy { $0.method == .post && $0.endpointPath == "/login" && $0.route == "auth.example" })
        await stage.client.shutdown()
    }
}
