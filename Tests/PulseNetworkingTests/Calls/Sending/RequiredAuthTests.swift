// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore
import PulseObservability
import PulsePlugins
import PulseStorage
import PulseTesting
import TestSupport
import Testing

/// `auth: .required`: without a credential nothing is sent, whatever plugins are installed.
@Suite(.throttled)
struct RequiredAuthTests {
    private static let required = RequestOptions().with(\.auth, value: .required)

    /// Adds header fields, as a custom plugin does.
    private struct Writing: PulsePlugin {
        let identifier = "test.writing"
        var scope = PluginScope.call
        let fields: [String: String]
        var marks = false

        func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
            for (name, value) in fields {
                request.setValue(value, forHTTPHeaderField: name)
                if marks { context.markSecret(header: name) }
            }
        }
    }

    private func outcome(
        _ endpoint: GetUser = GetUser(), plugins: [any PulsePlugin] = [],
        configuration: PulseConfiguration = .test().with(\.retryPolicy, value: .immediate()),
        sink: RecordingSink = RecordingSink()
    ) async -> (error: PulseError.Kind?, sent: Int) {
        let mock = MockTransport.responding()
        let client = ClientStage.client(
            configuration, plugins: plugins, over: mock, events: PulseEventBus(sink: sink))
        let result = await client.result(of: endpoint, options: Self.required)
        return (result.failureKind, mock.requests.count)
    }

    @Test func requiredAuthWithoutAnAuthPluginFailsBeforeSending() async {
        let sink = RecordingSink()
        #expect(await outcome(sink: sink) == (.unauthorized, 0))
        #expect(!sink.names.contains("attemptStarted") && !sink.names.contains("requestRetrying"))
        #expect(await outcome(plugins: [.headers(["X-A": "1"]), .logger(), .retry()]) == (.unauthorized, 0))
    }

    @Test func requiredAuthFailsIfTheAuthClosureReturnsNoToken() async {
        #expect(await outcome(plugins: [AuthPlugin { nil }]) == (.unauthorized, 0))
        #expect(await outcome(plugins: [AuthPlugin { "t" }]) == (nil, 1))
    }

    @Test func requiredAuthForAForeignOriginIsAnInvalidRequest() async {
        let away = GetUser(path: "https://elsewhere.example/a")
        #expect(await outcome(away) == (.invalidRequest, 0))
        #expect(await outcome(away, plugins: [AuthPlugin { "t" }]) == (.invalidRequest, 0))
        // Without a home no origin is trusted.
        #expect(await outcome(away, configuration: PulseConfiguration()) == (.invalidRequest, 0))
    }

    @Test(arguments: [["Authorization": "Basic abc"], ["authorization": "Bearer t"], ["X-API-Key": "k"]])
    func aCredentialSetByTheEndpointSatisfiesRequiredAuth(fields: [String: String]) async {
        #expect(await outcome(GetUser(headers: fields)) == (nil, 1))
        #expect(await outcome(configuration: .test().with(\.defaultHeaders, value: fields)) == (nil, 1))
        #expect(await outcome(plugins: [Writing(fields: fields)]) == (nil, 1))
        #expect(await outcome(plugins: [Writing(scope: .attempt, fields: fields)]) == (nil, 1))
    }

    @Test func aHeaderThatAPluginMarksSatisfiesRequiredAuth() async {
        #expect(await outcome(plugins: [Writing(fields: ["X-Mine": "k"])]) == (.unauthorized, 0))
        #expect(await outcome(plugins: [Writing(fields: ["X-Mine": "k"], marks: true)]) == (nil, 1))
        #expect(await outcome(plugins: [.apiKey("k", header: "X-Mine")]) == (nil, 1))
    }

    @Test(arguments: ["Cookie", "Proxy-Authorization", "X-CSRF-Token", "X-Signature-256"])
    func aSecretThatIsNoCredentialDoesNotSatisfyRequiredAuth(name: String) async {
        #expect(await outcome(plugins: [Writing(fields: [name: "a=b"])]) == (.unauthorized, 0))
    }

    @Test func aSignatureDoesNotSatisfyRequiredAuth() async {
        #expect(await outcome(plugins: [.signing(secret: Data("key".utf8))]) == (.unauthorized, 0))
    }

    /// A server has to challenge it before it can send its credentials.
    @Test func digestAuthenticationSatisfiesRequiredAuth() async {
        #expect(await outcome(plugins: [.digest(username: "u", password: "p")]) == (nil, 1))
    }

    @Test func aRedirectElsewhereIsNotFollowedWithoutTheCredential() async {
        let transport = MockTransport { request in
            let isHome = request.url?.host == "api.example.com"
            return PulseResponse(
                statusCode: isHome ? 302 : 200, headers: isHome ? ["Location": "https://elsewhere.example/b"] : [:],
                data: User.json, request: request)
        }
        for plugins in [[], [AuthPlugin { "t" }]] as [[any PulsePlugin]] {
            let client = ClientStage.client(plugins: plugins, over: transport)
            let endpoint = plugins.isEmpty ? GetUser(headers: ["Authorization": "Bearer t"]) : GetUser()
            let result = await client.result(of: endpoint, options: Self.required)
            #expect(result.failureKind == .invalidRequest)
        }
        #expect(transport.requests.map { $0.url?.host } == ["api.example.com", "api.example.com"])
    }

    @Test func coalescedCallsAreCheckedForRequiredAuth() async {
        #expect(await outcome(plugins: [.coalescing()]) == (.unauthorized, 0))
        #expect(await outcome(plugins: [AuthPlugin { "t" }, .coalescing()]) == (nil, 1))
    }

    /// A plugin's own request may be the login itself.
    @Test func aPluginsOwnRequestIsNotCheckedForRequiredAuth() async throws {
        let status = Locked<Int?>(nil)
        let login = ClosurePlugin(scope: .call) { request, _, next in
            let ready = URLRequest(url: URL(fileURLWithPath: "/").absoluteURL)
            var own = ready
            own.url = URL(string: "https://api.example.com/login")
            let response = try await next.send(ready: own, limit: 100)
            status.withLock { $0 = response.statusCode }
            return try await next(request)
        }
        #expect(await outcome(plugins: [login]) == (.unauthorized, 1))
        #expect(status.withLock { $0 } == 200)
    }

    @Test func aCallWithRequiredAuthIsNotQueuedWithoutAnAuthPlugin() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let client = ClientStage.client(
            .test().with(\.offlineQueuePolicy, value: OfflineQueuePolicy(directory: directory))
                .with(\.connectivity, value: .manual()),
            clock: TestClock()
        ) { _ in throw PulseError.noConnection }
        var order = GetUser(path: "/orders", method: .post, isQueueableWhenOffline: true)
        #expect(await client.result(of: order).failureKind == .queuedOffline)
        order.options.queuesBehindPending = true
        #expect(await client.result(of: order, options: Self.required).failureKind == .unauthorized)
        #expect(try await client.offlineQueue?.pending().count == 1)
        order.headers = ["X-API-Key": "k"]
        order.options.queuesBehindPending = nil
        #expect(await client.result(of: order, options: Self.required).failureKind != .unauthorized)
        await client.shutdown()
    }

    /// An unsent probe says nothing about the host: the next one decides.
    @Test func anOpenCircuitIsNotClosedByAMissingCredential() async {
        let clock = TestClock()
        let breaker = CircuitBreakerPlugin(failureThreshold: 2, cooldownDuration: 30)
        let client = ClientStage.client(plugins: [breaker], clock: clock, over: .responding(503))
        var kinds: [PulseError.Kind?] = []
        for _ in 0..<2 { kinds.append(await client.result(of: GetUser()).failureKind) }
        await clock.advance(by: 31)
        kinds.append(await client.result(of: GetUser(), options: Self.required).failureKind)
        for _ in 0..<2 { kinds.append(await client.result(of: GetUser()).failureKind) }
        #expect(kinds == [.http, .http, .unauthorized, .http, .circuitOpen])
    }
}

extension Result where Failure == PulseError {
    fileprivate var failureKind: PulseError.Kind? {
        guard case .failure(let error) = self else { return nil }
        return error.kind
    }
}
