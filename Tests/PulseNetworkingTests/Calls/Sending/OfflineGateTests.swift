// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore
import PulseObservability
import PulsePlugins
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct OfflineGateTests {
    /// The behavior of a test's transport: true for a response, false for no connection.
    private final class Network: Sendable {
        let isUp = Locked(false)
        let transport: MockTransport

        init(
            _ respond: @escaping @Sendable (URLRequest) async throws -> PulseResponse = { request in
                PulseResponse(statusCode: 200, data: User.json, request: request)
            }
        ) {
            let isUp = isUp
            transport = MockTransport { request in
                guard isUp.withLock({ $0 }) else { throw PulseError.noConnection }
                return try await respond(request)
            }
        }

        func up() { isUp.withLock { $0 = true } }
    }

    /// Writes the current account, as the auth plugin does.
    private struct AccountPlugin: PulsePlugin {
        let identifier = "account"
        let scope = PluginScope.call
        let account: Locked<String?>

        func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
            context.account = account.withLock { $0 }.map { .known($0) } ?? .unknown
            request.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
        }
    }

    private let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
    private let network = Network()

    private func configuration(_ policy: OfflineQueuePolicy? = nil) -> PulseConfiguration {
        PulseConfiguration.test()
            .with(\.offlineQueuePolicy, value: policy ?? OfflineQueuePolicy(directory: directory))
            .with(\.connectivity, value: .manual())
            .with(\.clock, value: TestClock())
    }

    private func client(
        _ network: Network? = nil, _ configuration: PulseConfiguration? = nil, plugins: [any PulsePlugin] = [],
        events: PulseEventBus = PulseEventBus()
    ) -> PulseClient {
        ClientStage.client(
            configuration ?? self.configuration(), plugins: plugins, over: (network ?? self.network).transport,
            events: events)
    }

    private static let order = GetUser(
        path: "/orders", method: .post, body: .json(User()), isQueueableWhenOffline: true)

    private func queued(_ client: PulseClient, _ endpoint: GetUser = order) async throws -> UUID {
        let error = await #expect(throws: PulseError.self) { try await client.request(endpoint) }
        guard case .queuedOffline(let id) = error else {
            Issue.record("\(String(describing: error))")
            throw CancellationError()
        }
        return id
    }

    private func finish(_ client: PulseClient) async {
        await client.shutdown()
        try? FileManager.default.removeItem(at: directory)
    }

    // MARK: Queued calls

    @Test func aCallWithoutAConnectionIsQueuedAndSentLaterWithTheSameKey() async throws {
        let client = client()
        let id = try await queued(client)
        network.up()
        let replay = Task { try await client.offlineQueue?.result(of: id) }
        try await client.offlineQueue?.drain()
        #expect(try await replay.value?.statusCode == 200)
        let keys = network.transport.requests.map { $0.value(forHTTPHeaderField: "Idempotency-Key") }
        #expect(keys.count == 2)
        #expect(keys[0] != nil && keys[0] == keys[1])
        #expect(network.transport.requests[0].url == network.transport.requests[1].url)
        #expect(network.transport.requests[0].httpBody == network.transport.requests[1].httpBody)
        await finish(client)
    }

    @Test func aRelaunchedClientSendsQueuedCallsByItself() async throws {
        let first = client()
        let id = try await queued(first)
        await first.shutdown()
        network.up()
        let second = client()
        let response = try await second.offlineQueue?.result(of: id)
        #expect(response?.statusCode == 200)
        await finish(second)
    }

    @Test func aCallIsQueuedAfterItsRetriesAreExhausted() async throws {
        var policy = RetryPolicy.immediate(2)
        policy.reportsExhaustion = true
        let client = client(nil, configuration().with(\.retryPolicy, value: policy))
        _ = try await queued(client)
        await finish(client)
    }

    @Test func anEndpointThatMayNotBeQueuedFailsWithItsError() async throws {
        let client = client()
        let error = await #expect(throws: PulseError.self) {
            try await client.request(GetUser(method: .post))
        }
        #expect(error?.kind == .noConnection)
        #expect(try await client.offlineQueue?.pending().isEmpty == true)
        await finish(client)
    }

    @Test func withoutAQueueACallFailsWithItsError() async throws {
        let client = client(nil, configuration(.disabled))
        #expect(client.offlineQueue == nil)
        let error = await #expect(throws: PulseError.self) { try await client.request(Self.order) }
        #expect(error?.kind == .noConnection)
        await finish(client)
    }

    @Test(arguments: [PulseError.Kind.timeout, .transport, .http])
    func onlyAMissingConnectionQueuesACall(kind: PulseError.Kind) async throws {
        let network = Network { request in
            switch kind {
            case .timeout: throw PulseError.timeout(request)
            case .transport: throw URLError(.cannotConnectToHost)
            default: return PulseResponse(statusCode: 500, data: Data(), request: request)
            }
        }
        network.up()
        let client = client(network)
        let error = await #expect(throws: PulseError.self) { try await client.request(Self.order) }
        #expect(error?.kind == kind)
        await finish(client)
    }

    @Test(arguments: [
        (303, PulseError.Kind.noConnection), (302, .noConnection), (307, .queuedOffline), (308, .queuedOffline),
    ])
    func afterARedirectACallIsQueuedOnlyIfItsMethodIsKept(
        status: Int, kind: PulseError.Kind
    ) async throws {
        let network = Network { request in
            guard request.url?.path == "/v1/orders" else { throw PulseError.noConnection }
            return PulseResponse(
                statusCode: status, headers: ["Location": "/v1/elsewhere"], data: Data(), request: request)
        }
        network.up()
        let client = client(network)
        let error = await #expect(throws: PulseError.self) { try await client.request(Self.order) }
        #expect(error?.kind == kind)
        #expect(
            try await client.offlineQueue?.pending().first?.url.path == (kind == .queuedOffline ? "/v1/orders" : nil))
        await finish(client)
    }

    /// Online, but responds only to the first request, with 503.
    private static func refusesOnce(_ count: Locked<Int>) -> Network {
        let network = Network { request in
            let number = count.withLock { count in
                count += 1
                return count
            }
            guard number == 1 else { throw PulseError.noConnection }
            return PulseResponse(statusCode: 503, data: Data(), request: request)
        }
        network.up()
        return network
    }

    @Test func aCallWithAResponseIsNotQueued() async throws {
        let count = Locked(0)
        let network = Self.refusesOnce(count)
        let retry = RetryPolicy.immediate(2)
        let client = client(network, configuration().with(\.retryPolicy, value: retry))
        let error = await #expect(throws: PulseError.self) { try await client.request(Self.order) }
        #expect(error?.kind == .noConnection)
        await finish(client)
    }

    /// The request is sent in the plugin's own call, which others may wait for.
    @Test(arguments: [true, false])
    func aCallIsNotQueuedAfterAPluginsOwnCallGotAResponse(isCached: Bool) async throws {
        let count = Locked(0)
        let network = Self.refusesOnce(count)
        let retry = RetryPolicy.immediate(2)
        let client = client(
            network, configuration().with(\.retryPolicy, value: retry), plugins: [isCached ? .cache() : .coalescing()])
        let endpoint = GetUser(path: "/orders", isQueueableWhenOffline: true)
        let error = await #expect(throws: PulseError.self) { try await client.request(endpoint) }
        #expect(error?.kind == .noConnection)
        #expect(count.withLock { $0 } == 2)
        await finish(client)
    }

    @Test func aBodyThatCanBeReadOnlyOnceIsNotQueued() async throws {
        let client = client()
        var endpoint = Self.order
        endpoint.body = .stream(isOneShot: true) { ByteStream([]) }
        let error = await #expect(throws: PulseError.self) { try await client.request(endpoint) }
        #expect(error?.kind == .unsupported)
        await finish(client)
    }

    @Test func aFullQueueThrowsItsOwnError() async throws {
        let client = client(nil, configuration(OfflineQueuePolicy(maxQueueSize: 1, directory: directory)))
        _ = try await queued(client)
        let error = await #expect(throws: PulseError.self) { try await client.request(Self.order) }
        #expect(error?.kind == .offlineQueueFull)
        await finish(client)
    }

    // MARK: Secrets

    @Test func noTokenOrSecretIsStoredAndTheReplaySetsBoth() async throws {
        let configuration = configuration()
            .with(\.defaultHeaders, value: ["X-API-Key": "old-secret", "X-App": "1"])
        let first = client(nil, configuration, plugins: [AccountPlugin(account: Locked("a"))])
        _ = try await queued(first)
        let entry = try #require(try await first.offlineQueue?.pending().first)
        #expect(entry.headers["X-App"] == "1")
        #expect(entry.headers["X-API-Key"] == nil)
        #expect(entry.account == "a")
        await first.shutdown()
        let bytes = try Data(contentsOf: directory.appendingPathComponent("journal"))
        #expect(!String(decoding: bytes, as: UTF8.self).contains("secret"))
        network.up()
        let second = client(
            nil, configuration.with(\.defaultHeaders, value: ["X-API-Key": "new-secret"]),
            plugins: [AccountPlugin(account: Locked("a"))])
        try await second.offlineQueue?.drain()
        let replay = try #require(network.transport.requests.last)
        #expect(replay.value(forHTTPHeaderField: "X-API-Key") == "new-secret")
        #expect(replay.value(forHTTPHeaderField: "Authorization") == "Bearer secret")
        #expect(replay.value(forHTTPHeaderField: "X-App") == "1")
        await finish(second)
    }

    /// An item of the call itself is stored, even under the name of a default one.
    @Test(arguments: [
        ("/orders", "/orders", "?key=K2&v=3"), ("/orders?x=a%26b&v=1", "/orders?x=a%26b&v=1", "&key=K2"),
    ])
    func noDefaultQueryItemIsStoredAndTheReplayHasThoseOfItsTime(
        path: String, stored: String, added: String
    ) async throws {
        func with(_ key: String, _ version: String) -> PulseConfiguration {
            configuration().with(
                \.defaultQueryItems,
                value: [URLQueryItem(name: "key", value: key), URLQueryItem(name: "v", value: version)])
        }
        let base = "https://api.example.com/v1"
        var order = Self.order
        order.path = path
        let first = client(nil, with("K1+secret", "2"))
        _ = try await queued(first, order)
        #expect(try await first.offlineQueue?.pending().map(\.url.absoluteString) == [base + stored])
        await first.shutdown()
        let bytes = try Data(contentsOf: directory.appendingPathComponent("journal"))
        #expect(!String(decoding: bytes, as: UTF8.self).contains("K1"))
        network.up()
        let second = client(nil, with("K2", "3"))
        try await second.offlineQueue?.drain()
        let sent = network.transport.requests.map { $0.url?.absoluteString ?? "" }
        #expect(sent.first?.contains("key=K1%2Bsecret") == true)
        #expect(sent.last == base + stored + added)
        await finish(second)
    }

    /// Marks a header as secret whose name does not suggest it.
    private struct MarkingPlugin: PulsePlugin {
        let identifier = "marking"

        func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
            context.markSecret(header: "X-Tenant")
        }
    }

    @Test func onlyDefaultHeadersMarkedAsSecretAreLeftOutAndSetAtTheReplay() async throws {
        let before = configuration().with(\.defaultHeaders, value: ["X-Tenant": "old-tenant", "X-App": "1"])
        let first = client(nil, before, plugins: [MarkingPlugin()])
        let id = try await queued(first)
        try await first.offlineQueue?.update(id: id) { $0.headers["X-App"] = nil }
        #expect(try await first.offlineQueue?.pending().first?.headers["X-Tenant"] == nil)
        await first.shutdown()
        let bytes = try Data(contentsOf: directory.appendingPathComponent("journal"))
        #expect(!String(decoding: bytes, as: UTF8.self).contains("old-tenant"))
        network.up()
        let after = configuration().with(
            \.defaultHeaders, value: ["x-tenant": "new-tenant", "X-App": "2", "X-Later": "3"])
        let second = client(nil, after, plugins: [MarkingPlugin()])
        #expect(try await second.offlineQueue?.result(of: id).statusCode == 200)
        let replay = try #require(network.transport.requests.last)
        #expect(replay.value(forHTTPHeaderField: "X-Tenant") == "new-tenant")
        #expect(replay.value(forHTTPHeaderField: "X-App") == nil)
        #expect(replay.value(forHTTPHeaderField: "X-Later") == nil)
        await finish(second)
    }

    @Test func anEndpointWithASecretIsNotQueuedUnlessThePolicyListsIt() async throws {
        var endpoint = Self.order
        endpoint.headers = ["X-API-Key": "mine"]
        let strict = client()
        let error = await #expect(throws: PulseError.self) { try await strict.request(endpoint) }
        #expect(error?.kind == .unsupported)
        #expect("\(String(describing: error))".contains("X-API-Key"))
        await strict.shutdown()
        let policy = OfflineQueuePolicy(directory: directory, storableSecretHeaders: ["x-api-key"])
        let lax = client(nil, configuration(policy))
        _ = try await queued(lax, endpoint)
        #expect(try await lax.offlineQueue?.pending().first?.headers["X-API-Key"] == "mine")
        await finish(lax)
    }

    /// The name says nothing; the value does.
    @Test func aHeaderWhoseValueHoldsASecretIsNotStored() async throws {
        let before = configuration().with(\.defaultHeaders, value: ["X-Forward": "Bearer old-secret", "X-App": "1"])
        let first = client(nil, before)
        var endpoint = Self.order
        endpoint.headers = ["X-Trace": "ghp_16C7e42F292c6912E7710c838347Ae178B4a"]
        let error = await #expect(throws: PulseError.self) { try await first.request(endpoint) }
        #expect(error?.kind == .unsupported)
        #expect("\(String(describing: error))".contains("X-Trace"))
        _ = try await queued(first)
        let entry = try #require(try await first.offlineQueue?.pending().first)
        #expect(entry.headers["X-Forward"] == nil && entry.headers["X-App"] == "1")
        await first.shutdown()
        let bytes = try Data(contentsOf: directory.appendingPathComponent("journal"))
        #expect(!String(decoding: bytes, as: UTF8.self).contains("old-secret"))
        network.up()
        let after = configuration().with(\.defaultHeaders, value: ["X-Forward": "Bearer new-secret", "X-App": "2"])
        let second = client(nil, after)
        try await second.offlineQueue?.drain()
        let replay = try #require(network.transport.requests.last)
        #expect(replay.value(forHTTPHeaderField: "X-Forward") == "Bearer new-secret")
        #expect(replay.value(forHTTPHeaderField: "X-App") == "1")
        await finish(second)
    }

    // MARK: Accounts

    @Test func nothingIsSentUnderAnotherAccount() async throws {
        let account = Locked<String?>("a")
        let client = client(plugins: [AccountPlugin(account: account)])
        _ = try await queued(client)
        network.up()
        let sent = network.transport.requests.count
        for other in ["b", nil] {
            account.withLock { $0 = other }
            #expect(try await client.offlineQueue?.drain() == 1)
            #expect(network.transport.requests.count == sent)
        }
        #expect(try await client.offlineQueue?.pending().first?.attempts == 0)
        account.withLock { $0 = "a" }
        #expect(try await client.offlineQueue?.drain() == 0)
        #expect(network.transport.requests.count == sent + 1)
        await finish(client)
    }

    /// The current session, with a token per account.
    private struct Session: TokenProvider {
        let account: Locked<String>

        var accountID: String? { get async { account.withLock { $0 } } }
        func accessToken() async -> String? { "token of \(account.withLock { $0 })" }
        func refreshToken() async throws -> String { throw PulseError.sessionExpired }
        func handleAuthenticationFailure() async {}
    }

    @Test func theAuthPluginReplaysOnlyEntriesOfItsAccountWithANewToken() async throws {
        let account = Locked("ada")
        let client = client(plugins: [AuthPlugin(tokenProvider: Session(account: account))])
        _ = try await queued(client)
        #expect(try await client.offlineQueue?.pending().first?.account == "ada")
        network.up()
        account.withLock { $0 = "bob" }
        #expect(try await client.offlineQueue?.drain() == 1)
        #expect(
            !network.transport.requests.contains {
                $0.value(forHTTPHeaderField: "Authorization") == "Bearer token of bob"
            })
        #expect(try await client.offlineQueue?.pending().first?.attempts == 0)
        account.withLock { $0 = "ada" }
        #expect(try await client.offlineQueue?.drain() == 0)
        #expect(network.transport.requests.last?.value(forHTTPHeaderField: "Authorization") == "Bearer token of ada")
        await finish(client)
    }

    // MARK: Options and order

    @Test func theReplayUsesTheStoredOptions() async throws {
        let client = client()
        var endpoint = Self.order
        endpoint.options = RequestOptions()
            .with(\.acceptedStatuses, value: .successful(and: 409)).with(\.timeout, value: 7)
            .with(\.route, value: "order").with(\.tag, value: "orders")
        let id = try await queued(client, endpoint)
        let entry = try #require(try await client.offlineQueue?.pending().first)
        #expect(entry.tag == "orders")
        #expect(entry.route == "order")
        await client.shutdown()
        let refusing = Network { PulseResponse(statusCode: 409, data: Data(), request: $0) }
        refusing.up()
        let second = self.client(refusing)
        #expect(try await second.offlineQueue?.result(of: id).statusCode == 409)
        #expect(refusing.transport.transportRequests.last?.idleTimeout == 7)
        await finish(second)
    }

    @Test func aLiveCallJoinsItsTagsQueueOnlyOnRequest() async throws {
        let client = client(plugins: [AccountPlugin(account: Locked("a"))])
        _ = try await queued(client)
        network.up()
        #expect(try await client.request(Self.order) == User())
        var endpoint = Self.order
        endpoint.options.queuesBehindPending = true
        let sent = network.transport.requests.count
        _ = try await queued(client, endpoint)
        #expect(network.transport.requests.count == sent)
        #expect(try await client.offlineQueue?.pending().map(\.account) == ["a", "a"])
        try await client.offlineQueue?.drain()
        #expect(try await client.request(endpoint) == User())
        await finish(client)
    }

    /// Throws the given error, if any.
    private struct FailingPlugin: PulsePlugin {
        let identifier = "failing"
        var scope = PluginScope.attempt
        let error: Locked<PulseError?>

        func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
            if let error = error.withLock({ $0 }) { throw error }
        }
    }

    private struct Refusal: Error {}

    /// The call joins the queue, whatever error it would otherwise have got.
    @Test(arguments: [
        PulseError.circuitOpen(name: "a", retryAfter: 9), .rateLimited(retryAfter: 9), .sessionExpired, .unauthorized(),
        .timeout(URLRequest(url: URL(fileURLWithPath: "/"))), .custom(Refusal()),
    ])
    func aCallJoinsItsTagsQueueWhateverErrorAPluginThrows(error: PulseError) async throws {
        let failure = Locked<PulseError?>(nil)
        let client = client(plugins: [AccountPlugin(account: Locked("a")), FailingPlugin(error: failure)])
        _ = try await queued(client)
        failure.withLock { $0 = error }
        var endpoint = Self.order
        endpoint.options.queuesBehindPending = true
        _ = try await queued(client, endpoint)
        #expect(try await client.offlineQueue?.pending().map(\.account) == ["a", "a"])
        // A live call fails with the error.
        let thrown = await #expect(throws: PulseError.self) { try await client.request(Self.order) }
        #expect(thrown?.kind == error.kind)
        await finish(client)
    }

    @Test(arguments: [
        PulseError.invalidRequest(reason: "no"), .unsupported("no"), .custom(PulseError.AccountMismatch()), .cancelled,
    ])
    func anInvalidCallIsNotQueued(error: PulseError) async throws {
        let failure = Locked<PulseError?>(nil)
        let client = client(plugins: [AccountPlugin(account: Locked("a")), FailingPlugin(error: failure)])
        _ = try await queued(client)
        failure.withLock { $0 = error }
        var endpoint = Self.order
        endpoint.options.queuesBehindPending = true
        let thrown = await #expect(throws: PulseError.self) { try await client.request(endpoint) }
        #expect(thrown?.kind == error.kind)
        #expect(try await client.offlineQueue?.pending().count == 1)
        await finish(client)
    }

    /// The error may precede the identification of the account: the entry would be sent under the account of a later
    /// session.
    @Test func anUnknownFailureBeforeTheAccountIsKnownIsNotQueued() async throws {
        let failure = Locked<PulseError?>(nil)
        let client = client(plugins: [
            FailingPlugin(scope: .call, error: failure), AccountPlugin(account: Locked("a")),
        ])
        _ = try await queued(client)
        failure.withLock { $0 = .custom(Refusal()) }
        var endpoint = Self.order
        endpoint.options.queuesBehindPending = true
        let thrown = await #expect(throws: PulseError.self) { try await client.request(endpoint) }
        #expect(thrown?.kind == .custom)
        await finish(client)
    }

    /// The entry would be sent under the account of a later session.
    @Test(arguments: [PulseError.noConnection, .timeout(URLRequest(url: URL(fileURLWithPath: "/")))])
    func aCallThatFailsBeforeTheAuthPluginWasAskedIsNotQueuedUnlessItIsAnonymous(error: PulseError) async throws {
        let failure = Locked<PulseError?>(nil)
        let client = client(plugins: [
            FailingPlugin(scope: .call, error: failure), AuthPlugin(tokenProvider: Session(account: Locked("ada"))),
        ])
        _ = try await queued(client)
        failure.withLock { $0 = error }
        var endpoint = Self.order
        for queuesBehindPending in [false, true] {
            endpoint.options.queuesBehindPending = queuesBehindPending
            let thrown = await #expect(throws: PulseError.self) { try await client.request(endpoint) }
            #expect(thrown?.kind == error.kind)
        }
        #expect(try await client.offlineQueue?.pending().map(\.account) == ["ada"])
        endpoint.options.auth = .anonymous
        _ = try await queued(client, endpoint)
        await finish(client)
    }

    /// A logged-out session.
    private struct EmptySession: TokenProvider {
        func accessToken() async -> String? { nil }
        func refreshToken() async throws -> String { throw PulseError.sessionExpired }
        func handleAuthenticationFailure() async {}
    }

    @Test func aCallWithoutAnAccountIsQueuedWithoutAnOwner() async throws {
        let client = client(plugins: [AuthPlugin(tokenProvider: EmptySession())])
        _ = try await queued(client)
        #expect(try await client.offlineQueue?.pending().first?.account == nil)
        #expect(try await client.offlineQueue?.pending().count == 1)
        await finish(client)
    }

    /// The account was never determined: the call itself has failed.
    @Test func aReplayThatFailsBeforeTheAccountIsKnownIsHandledByItsError() async throws {
        let failure = Locked<PulseError?>(nil)
        let client = client(
            nil, configuration(OfflineQueuePolicy(maxAttempts: 2, directory: directory)),
            plugins: [FailingPlugin(scope: .call, error: failure), AccountPlugin(account: Locked("a"))])
        _ = try await queued(client)
        failure.withLock { $0 = .unsupported("no") }
        #expect(try await client.offlineQueue?.drain() == 1)
        #expect(try await client.offlineQueue?.pending().map(\.attempts) == [1])
        #expect(try await client.offlineQueue?.drain() == 0)
        #expect(try await client.offlineQueue?.deadLetters().count == 1)
        await finish(client)
    }

    enum ClientFault: CaseIterable {
        case header, origin, token, transport
    }

    /// The next version of the app sends it.
    @Test(arguments: ClientFault.allCases)
    func aReplayThatAClientFaultPreventsIsRetried(fault: ClientFault) async throws {
        let first = client()
        let id = try await queued(first)
        await first.shutdown()
        var (settings, plugins, wire) = (configuration(), [any PulsePlugin](), network)
        switch fault {
        case .header: settings = settings.with(\.defaultHeaders, value: ["X-Note": "a\r\nb"])
        case .origin: settings = settings.with(\.trustedOrigins, value: [directory])
        case .token: plugins = [AuthPlugin { "a\r\nb" }]
        case .transport: wire = Network { _ in throw PulseError.unsupported("no libssl") }
        }
        wire.up()
        let second = client(wire, settings, plugins: plugins)
        // The client drains by itself, and its clock then stands still.
        while try await second.offlineQueue?.pending().first?.attempts == 0 { await Task.yield() }
        #expect(try await second.offlineQueue?.pending().map(\.attempts) == [1])
        await second.shutdown()
        network.up()
        let third = client()
        #expect(try await third.offlineQueue?.result(of: id).statusCode == 200)
        await finish(third)
    }

    /// A session whose token the server rejects.
    private struct StaleSession: TokenProvider {
        let hasExpired: Locked<Bool>
        let refresh: @Sendable () throws -> String

        var tokenExpiry: Date? { get async { hasExpired.withLock { $0 } ? Date(timeIntervalSince1970: 0) : nil } }
        func accessToken() async -> String? { "stale" }
        func refreshToken() async throws -> String { try refresh() }
    }

    /// The refresh is due to an expired token, or to the server's rejection.
    @Test(arguments: [403, 0, 1], [false, true])
    func aFailedTokenRefreshDoesNotCountAgainstTheEntry(status: Int, hasExpired: Bool) async throws {
        let network = Network { PulseResponse(statusCode: 401, data: Data(), request: $0) }
        let isOver = Locked(false)
        let session = StaleSession(hasExpired: isOver) {
            switch status {
            case 0: return ""
            case 1: throw PulseError.responseTooLarge(limit: 1)
            default: throw PulseError.http(PulseResponse(statusCode: status, request: .mock()))
            }
        }
        let client = client(
            network, configuration(OfflineQueuePolicy(maxAttempts: 1, directory: directory)),
            plugins: [AuthPlugin(tokenProvider: session)])
        _ = try await queued(client)
        isOver.withLock { $0 = hasExpired }
        network.up()
        #expect(try await client.offlineQueue?.drain() == 1)
        #expect(try await client.offlineQueue?.pending().map(\.attempts) == [0])
        await finish(client)
    }

    /// It was sent before, and got a response.
    @Test func anInvalidTokenFromARefreshDoesNotCountAgainstTheEntry() async throws {
        let network = Network { PulseResponse(statusCode: 401, data: Data(), request: $0) }
        let client = client(
            network, plugins: [AuthPlugin(tokenProvider: StaleSession(hasExpired: Locked(false)) { "a\r\nb" })])
        _ = try await queued(client)
        network.up()
        #expect(try await client.offlineQueue?.drain() == 1)
        #expect(try await client.offlineQueue?.pending().map(\.attempts) == [0])
        await finish(client)
    }

    @Test func aFailedRecoveryDoesNotCountAgainstTheEntryUnlessItConcernsTheEntry() async throws {
        let login = URLRequest.mock(.post, "https://login.example.com/")
        let isOver = Locked(true)
        let network = Network { request in
            let isLogin = request.url?.host == "login.example.com"
            return PulseResponse(statusCode: isLogin ? 403 : isOver.withLock { $0 } ? 200 : 422, request: request)
        }
        let validator = Validator { _, response, _ in
            response.statusCode == 200 ? .recover(.request(login), otherwise: Refusal()) : .accept
        }
        let client = client(
            network, configuration(OfflineQueuePolicy(maxAttempts: 1, directory: directory)),
            plugins: [ValidatorPlugin([validator])])
        _ = try await queued(client)
        network.up()
        let sent = network.transport.requests.count
        #expect(try await client.offlineQueue?.drain() == 1)
        #expect(try await client.offlineQueue?.pending().map(\.attempts) == [0])
        #expect(network.transport.requests.count == sent + 2)
        isOver.withLock { $0 = false }
        #expect(try await client.offlineQueue?.drain() == 0)
        #expect(try await client.offlineQueue?.deadLetters().map(\.reason.statusCode) == [422])
        await finish(client)
    }

    @Test func anEndpointThatAcceptsEveryStatusIsReplayedAgainAfterAFailure() async throws {
        let client = client()
        var endpoint = Self.order
        endpoint.options.acceptedStatuses = .any
        _ = try await queued(client, endpoint)
        await client.shutdown()
        let failing = Network { PulseResponse(statusCode: 503, data: Data(), request: $0) }
        failing.up()
        let second = self.client(failing)
        // The client drains by itself, and its clock then stands still.
        while try await second.offlineQueue?.pending().first?.attempts == 0 { await Task.yield() }
        #expect(try await second.offlineQueue?.pending().map(\.attempts) == [1])
        await finish(second)
    }

    /// A session whose second token is valid.
    private struct RenewableSession: TokenProvider {
        let token = Locked("first")

        func accessToken() async -> String? { token.withLock { $0 } }

        func refreshToken() async throws -> String {
            token.withLock { token in
                token = "second"
                return token
            }
        }
    }

    @Test func anEndpointThatAcceptsEveryStatusIsResentWithANewToken() async throws {
        let network = Network { request in
            let isGood = request.value(forHTTPHeaderField: "Authorization") == "Bearer second"
            return PulseResponse(statusCode: isGood ? 200 : 401, request: request)
        }
        let client = client(network, plugins: [AuthPlugin(tokenProvider: RenewableSession())])
        var endpoint = Self.order
        endpoint.options.acceptedStatuses = .any
        let id = try await queued(client, endpoint)
        network.up()
        #expect(try await client.offlineQueue?.drain() == 0)
        #expect(try await client.offlineQueue?.result(of: id).statusCode == 200)
        await finish(client)
    }

    @Test func anEntryHeldBackByAnIsolatedCircuitIsSentAfterTheReset() async throws {
        let breaker = CircuitBreakerPlugin()
        let client = client(plugins: [breaker])
        _ = try await queued(client)
        network.up()
        breaker.isolate()
        let sent = network.transport.requests.count
        #expect(try await client.offlineQueue?.drain() == 1)
        #expect(network.transport.requests.count == sent)
        breaker.reset()
        #expect(try await client.offlineQueue?.drain() == 0)
        #expect(network.transport.requests.count == sent + 1)
        await finish(client)
    }

    private struct Fault: Error, Decodable {
        let code: Int
    }

    @Test func anErrorInsideA200BecomesADeadLetterAndTheNextEntryIsSent() async throws {
        let network = Network { request in
            let isFaulty = request.url?.path == "/v1/orders"
            return PulseResponse(
                statusCode: 200, data: isFaulty ? Data(#"{"code": 7}"#.utf8) : User.json, request: request)
        }
        let client = client(
            network, configuration(OfflineQueuePolicy(maxAttempts: 2, directory: directory)),
            plugins: [.validator(.errorBody(Fault.self) { $0.code == 0 ? nil : $0 })])
        let faulty = try await queued(client)
        let other = GetUser(path: "/orders/2", method: .post, body: .json(User()), isQueueableWhenOffline: true)
        _ = try await queued(client, other)
        network.up()
        #expect(try await client.offlineQueue?.drain() == 2)
        #expect(try await client.offlineQueue?.pending().map(\.attempts) == [1, 0])
        #expect(try await client.offlineQueue?.drain() == 0)
        #expect(try await client.offlineQueue?.deadLetters().map(\.request.id) == [faulty])
        #expect(network.transport.requests.last?.url?.path == "/v1/orders/2")
        await finish(client)
    }

    /// No server has responded: an error of a plugin uses up no attempt.
    @Test func aPluginErrorBeforeSendingCountsNoAttempt() async throws {
        let failure = Locked<PulseError?>(nil)
        let client = client(
            nil, configuration(OfflineQueuePolicy(maxAttempts: 1, directory: directory)),
            plugins: [FailingPlugin(error: failure)])
        _ = try await queued(client)
        network.up()
        failure.withLock { $0 = .custom(Refusal()) }
        #expect(try await client.offlineQueue?.drain() == 1)
        #expect(try await client.offlineQueue?.pending().map(\.attempts) == [0])
        await finish(client)
    }

    @Test func aReplayRunsTheClientsPluginsButNotTheEndpoints() async throws {
        let (own, shared) = (TracingPlugin.Log(), TracingPlugin.Log())
        let client = client(plugins: [TracingPlugin(identifier: "client", log: shared)])
        var endpoint = Self.order
        endpoint.plugins = [TracingPlugin(identifier: "endpoint", log: own)]
        _ = try await queued(client, endpoint)
        let (before, beforeShared) = (own.all.count, shared.all.count)
        network.up()
        try await client.offlineQueue?.drain()
        #expect(own.all.count == before)
        #expect(shared.all.count == 2 * beforeShared)
        await finish(client)
    }

    // MARK: Lifetime of the client

    @Test func aReleasedClientEndsItsDrainTaskAndReleasesTheLock() async throws {
        var first: PulseClient? = client()
        if let first { _ = try await queued(first) }
        first = nil
        network.up()
        let second = client()
        // The drain task releases the first client's lock a moment after the client.
        while try await second.offlineQueue?.drain() ?? 0 > 0 {
            await Task.detached(priority: .background) { await Task.yield() }.value
        }
        #expect(network.transport.requests.count == 2)
        await finish(second)
    }

    @Test func aQueuedCallEndsAsQueuedForPluginsAndEvents() async throws {
        let sink = RecordingSink()
        let client = client(events: PulseEventBus(sink: sink))
        _ = try await queued(client)
        #expect(sink.names.suffix(2) == ["offlineQueueEnqueued", "requestCompleted"])
        await finish(client)
    }
}
