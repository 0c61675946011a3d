// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore
import PulseObservability
import PulsePlugins
import PulseStorage
import PulseTesting
import TestSupport
import Testing

/// What is queued besides calls without a connection: by the policy's `queuedFailures`, and by `enqueue`.
@Suite(.throttled)
struct OfflineEnqueueTests {
    private let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
    private let clock = TestClock()

    private static let order = GetUser(
        path: "/orders", method: .post, body: .json(User()), isQueueableWhenOffline: true)

    private func client(
        _ policy: OfflineQueuePolicy? = nil, plugins: [any PulsePlugin] = [], headers: [String: String] = [:],
        events: PulseEventBus = PulseEventBus(), retry: RetryPolicy = .none, transport: MockTransport
    ) -> PulseClient {
        ClientStage.client(
            .test().with(\.offlineQueuePolicy, value: policy ?? OfflineQueuePolicy(directory: directory))
                .with(\.defaultHeaders, value: headers).with(\.connectivity, value: .manual()),
            plugins: plugins, retry: retry, clock: clock, over: transport, events: events)
    }

    private static func accepting() -> MockTransport {
        MockTransport { PulseResponse(statusCode: 200, data: User.json, request: $0) }
    }

    private func finish(_ client: PulseClient) async {
        await client.shutdown()
        try? FileManager.default.removeItem(at: directory)
    }

    // MARK: By the policy

    private typealias Failures = OfflineQueuePolicy.Failures

    private static let failures: [(TransportFailure, Failures?)] = [
        (TransportFailure(code: .notConnectedToInternet, phase: .beforeSend), .noConnection),
        (TransportFailure(code: .cannotConnectToHost, phase: .beforeSend), .cannotConnect),
        (TransportFailure(code: .cannotFindHost, phase: .beforeSend), .cannotConnect),
        (TransportFailure(code: .dnsLookupFailed, phase: .beforeSend), .cannotConnect),
        (TransportFailure(code: .networkConnectionLost, phase: .beforeSend), .cannotConnect),
        (TransportFailure(code: .timedOut, phase: .beforeSend), .timeoutBeforeSending),
        (PulseError.PoolTimeout(host: "h", limit: 60, connections: 6).failure, .timeoutBeforeSending),
        (TransportFailure(code: .timedOut, phase: .maybeSent), nil),
        (TransportFailure(code: .networkConnectionLost, phase: .maybeSent), nil),
        (TransportFailure(code: .notConnectedToInternet, phase: .maybeSent), nil),
        (TransportFailure(code: .cannotConnectToHost, phase: .maybeSent), nil),
        (TransportFailure(code: .secureConnectionFailed, phase: .beforeSend), nil),
        (TransportFailure(code: .serverCertificateUntrusted, phase: .beforeSend), nil),
    ]

    @Test(arguments: failures.indices, [Failures.noConnection, .cannotConnect, .timeoutBeforeSending, .all, []])
    func anUnsentCallIsQueuedIfThePolicyListsItsFailure(
        index: Int, queues: OfflineQueuePolicy.Failures
    ) async throws {
        let (failure, member) = Self.failures[index]
        let transport = MockTransport { _ in throw failure }
        let client = client(OfflineQueuePolicy(directory: directory, queuedFailures: queues), transport: transport)
        let error = await #expect(throws: PulseError.self) { try await client.request(Self.order) }
        let isQueued = member.map { queues.contains($0) } ?? false
        #expect((error?.kind == .queuedOffline) == isQueued, "\(String(describing: error))")
        #expect(try await client.offlineQueue?.pending().count == (isQueued ? 1 : 0))
        await finish(client)
    }

    /// A retry would only delay what the queue does better. A policy that does not queue the failure retries it.
    @Test(arguments: [Failures.noConnection, .cannotConnect])
    func aCallWithoutAConnectionIsQueuedBeforeARetry(queues: OfflineQueuePolicy.Failures) async throws {
        let transport = MockTransport { _ in throw PulseError.noConnection }
        let client = client(
            OfflineQueuePolicy(directory: directory, queuedFailures: queues),
            retry: .immediate(), transport: transport)
        let error = await #expect(throws: PulseError.self) { try await client.request(Self.order) }
        #expect(error?.kind == (queues == .noConnection ? .queuedOffline : .noConnection))
        #expect(transport.requests.count == (queues == .noConnection ? 1 : 3))
        await finish(client)
    }

    /// An unreachable server; it refuses one connection after the other.
    private static func refusing(_ count: Locked<Int>, until isUp: Locked<Bool>) -> MockTransport {
        MockTransport { request in
            count.withLock { $0 += 1 }
            guard isUp.withLock({ $0 }) else {
                throw TransportFailure(code: .cannotConnectToHost, phase: .beforeSend)
            }
            return PulseResponse(statusCode: 200, data: User.json, request: request)
        }
    }

    @Test func replaysToAnUnreachableServerBackOffWithoutCountingAttempts() async throws {
        let (count, isUp) = (Locked(0), Locked(false))
        let policy = OfflineQueuePolicy(
            maxAttempts: 2, directory: directory, queuedFailures: [.noConnection, .cannotConnect])
        let client = client(policy, transport: Self.refusing(count, until: isUp))
        let error = await #expect(throws: PulseError.self) { try await client.request(Self.order) }
        guard case .queuedOffline(let id) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        await clock.sleepers(atLeast: 1, for: .backoff)
        #expect(count.withLock { $0 } == 1, "the first replay waits, too")
        for _ in 0..<50 {
            await clock.sleepers(atLeast: 1)
            await clock.advance(by: 20)
        }
        // 1,000 seconds: each delay is at least half a second; later ones are minutes.
        #expect(3...60 ~= count.withLock { $0 })
        #expect(try await client.offlineQueue?.pending().first?.attempts == 0)
        isUp.withLock { $0 = true }
        let mover = Task { [clock] in
            while !Task.isCancelled {
                await clock.sleepers(atLeast: 1)
                await clock.advance(by: 20)
            }
        }
        // Only time shows that the server is back.
        #expect(try await client.offlineQueue?.result(of: id).statusCode == 200)
        mover.cancel()
        await mover.value
        await finish(client)
    }

    @Test func anUnreachableServerHoldsBackOnlyItsOwnTag() async throws {
        let transport = MockTransport { request in
            guard request.url?.host == "api.example.com" else {
                throw TransportFailure(code: .cannotConnectToHost, phase: .beforeSend)
            }
            return PulseResponse(statusCode: 200, data: User.json, request: request)
        }
        let client = client(OfflineQueuePolicy(directory: directory, queuedFailures: .all), transport: transport)
        let far = GetUser(
            path: "https://far.example.com/x", method: .post, options: .init().with(\.tag, value: "far"),
            isQueueableWhenOffline: true)
        let error = await #expect(throws: PulseError.self) { try await client.request(far) }
        #expect(error?.kind == .queuedOffline)
        let id = try await client.enqueue(Self.order)
        #expect(try await client.offlineQueue?.result(of: id).statusCode == 200)
        #expect(try await client.offlineQueue?.pending().map(\.tag) == ["far"])
        await finish(client)
    }

    // MARK: By hand

    @Test func anEnqueuedCallIsStoredAtOnceAndSentWithOneKey() async throws {
        let isUp = Locked(false)
        let transport = MockTransport { request in
            guard isUp.withLock({ $0 }) else { throw PulseError.noConnection }
            return PulseResponse(statusCode: 200, data: User.json, request: request)
        }
        let first = client(transport: transport)
        // The endpoint need not opt in to queueing on failure.
        let id = try await first.enqueue(GetUser(path: "/orders", method: .post, body: .json(User())))
        let entry = try #require(try await first.offlineQueue?.pending().first)
        #expect(entry.id == id)
        #expect(entry.idempotencyKey?.isEmpty == false)
        await first.shutdown()
        isUp.withLock { $0 = true }
        let second = client(transport: transport)
        #expect(try await second.offlineQueue?.result(of: id).statusCode == 200)
        let sent = try #require(transport.requests.last)
        #expect(sent.value(forHTTPHeaderField: "Idempotency-Key") == entry.idempotencyKey)
        #expect(sent.httpMethod == "POST")
        #expect(sent.url?.path == "/v1/orders")
        await finish(second)
    }

    @Test func entriesOfATagAreSentInOrder() async throws {
        let isUp = Locked(false)
        let transport = MockTransport { request in
            guard isUp.withLock({ $0 }) else { throw PulseError.noConnection }
            return PulseResponse(statusCode: 200, data: User.json, request: request)
        }
        let client = client(transport: transport)
        let options = RequestOptions().with(\.tag, value: "notes")
        for number in 1...4 {
            let endpoint = GetUser(path: "/\(number)", method: .post, options: options, isQueueableWhenOffline: true)
            if number.isMultiple(of: 2) {
                try await client.enqueue(endpoint)
            } else {
                await #expect(throws: PulseError.self) { try await client.request(endpoint) }
            }
        }
        let before = transport.requests.count
        isUp.withLock { $0 = true }
        #expect(try await client.offlineQueue?.drain() == 0)
        #expect(transport.requests.dropFirst(before).map { $0.url?.path } == ["/v1/1", "/v1/2", "/v1/3", "/v1/4"])
        await finish(client)
    }

    @Test func aCallThatCannotBeEnqueuedFailsWithItsReasonAndIsNotStored() async throws {
        let transport = Self.accepting()
        let without = client(.disabled, transport: transport)
        var error = await #expect(throws: PulseError.self) { try await without.enqueue(Self.order) }
        #expect(error?.kind == .unsupported)
        #expect(error?.description.contains("offlineQueuePolicy") == true)
        await without.shutdown()

        let client = client(
            OfflineQueuePolicy(maxQueueSize: 1, directory: directory),
            transport: MockTransport { _ in throw PulseError.noConnection })
        var endpoint = Self.order
        endpoint.body = .stream(isOneShot: true) { ByteStream([]) }
        error = await #expect(throws: PulseError.self) { try await client.enqueue(endpoint) }
        #expect(error?.kind == .unsupported)
        #expect(error?.description.contains("only once") == true)

        endpoint = Self.order
        endpoint.headers = ["Authorization": "Bearer hunter2"]
        error = await #expect(throws: PulseError.self) { try await client.enqueue(endpoint) }
        #expect(error?.kind == .unsupported)
        #expect(error?.description.contains("Authorization") == true)
        #expect(error?.description.contains("hunter2") == false)

        error = await #expect(throws: PulseError.self) { try await client.enqueue(GetUser(path: "/a#b")) }
        #expect(error?.kind == .invalidURL)
        error = await #expect(throws: PulseError.self) {
            try await client.enqueue(Self.order, options: RequestOptions().with(\.timeout, value: -1))
        }
        #expect(error?.kind == .invalidRequest)
        #expect(try await client.offlineQueue?.pending().isEmpty == true)

        try await client.enqueue(Self.order)
        error = await #expect(throws: PulseError.self) { try await client.enqueue(Self.order) }
        #expect(error?.kind == .offlineQueueFull)

        await client.shutdown()
        error = await #expect(throws: PulseError.self) { try await client.enqueue(Self.order) }
        #expect(error?.kind == .cancelled)
        await finish(client)
    }

    /// The current session, with a token per account.
    private struct Session: TokenProvider {
        let account: Locked<String>
        let asked = Locked(0)

        var accountID: String? { get async { account.withLock { $0 } } }
        func accessToken() async -> String? {
            asked.withLock { $0 += 1 }
            return "token of \(account.withLock { $0 })"
        }
        func refreshToken() async throws -> String { throw PulseError.sessionExpired }
        func handleAuthenticationFailure() async {}
    }

    @Test func anEnqueuedCallBelongsToTheCurrentAccountAndPassesLimits() async throws {
        let session = Session(account: Locked("ada"))
        let client = client(
            plugins: [.auth(session), .rateLimit(requests: 1, per: 3600), .concurrencyLimit(1)],
            transport: MockTransport { _ in throw PulseError.noConnection })
        try await client.enqueue(Self.order)
        session.account.withLock { $0 = "bob" }
        try await client.enqueue(Self.order)
        try await client.enqueue(Self.order, options: RequestOptions().with(\.auth, value: .anonymous))
        #expect(try await client.offlineQueue?.pending().map(\.account) == ["ada", "bob", nil])
        #expect(clock.uptime == 0)
        await finish(client)
    }

    @Test func anEnqueuedCallIsNotSentUnderAnotherAccount() async throws {
        let session = Session(account: Locked("ada"))
        let transport = MockTransport { _ in throw PulseError.noConnection }
        let first = client(plugins: [.auth(session)], transport: transport)
        try await first.enqueue(Self.order)
        #expect(try await first.offlineQueue?.pending().map(\.account) == ["ada"])
        await first.shutdown()
        session.account.withLock { $0 = "bob" }
        let accepting = Self.accepting()
        let second = client(plugins: [.auth(session)], transport: accepting)
        #expect(try await second.offlineQueue?.drain() == 1)
        #expect(accepting.requests.isEmpty)
        session.account.withLock { $0 = "ada" }
        #expect(try await second.offlineQueue?.drain() == 0)
        #expect(accepting.requests.map { $0.value(forHTTPHeaderField: "Authorization") } == ["Bearer token of ada"])
        await finish(second)
    }

    /// A custom plugin that knows accounts and secrets.
    private struct OwnPlugin: PulsePlugin {
        let identifier = "own"
        let completed = Locked(0)

        func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
            context.account = .known("ada")
            context.markSecret(header: "X-Tenant")
            request.setValue("hunter2", forHTTPHeaderField: "X-Own")
        }

        func didComplete(_ context: PluginContext) async { completed.withLock { $0 += 1 } }
    }

    @Test func aCustomPluginDefinesTheAccountAndSecretsOfAnEnqueuedCall() async throws {
        let plugin = OwnPlugin()
        let client = client(
            plugins: [plugin, .cache(ttl: 60)], headers: ["X-Tenant": "tenant", "X-App": "1"],
            transport: MockTransport { _ in throw PulseError.noConnection })
        try await client.enqueue(Self.order)
        let entry = try #require(try await client.offlineQueue?.pending().first)
        #expect(entry.account == "ada")
        #expect(entry.headers["X-App"] == "1")
        #expect(entry.headers["X-Tenant"] == nil && entry.headers["X-Own"] == nil)
        #expect(plugin.completed.withLock { $0 } >= 1)
        await finish(client)
    }

    /// A plugin that rejects every call.
    private struct ClosedPlugin: PulsePlugin {
        let identifier = "closed"

        func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
            throw PulseError.invalidRequest(reason: "closed")
        }
    }

    @Test func aPluginThatRejectsACallAlsoKeepsItOutOfTheQueue() async throws {
        let client = client(plugins: [ClosedPlugin()], transport: Self.accepting())
        let error = await #expect(throws: PulseError.self) { try await client.enqueue(Self.order) }
        #expect(error?.kind == .invalidRequest)
        #expect(try await client.offlineQueue?.pending().isEmpty == true)
        await finish(client)
    }

    @Test func anEnqueuedCallEmitsAnEvent() async throws {
        let sink = RecordingSink()
        let client = client(events: PulseEventBus(sink: sink), transport: Self.accepting())
        let id = try await client.enqueue(Self.order)
        #expect(try await client.offlineQueue?.result(of: id).statusCode == 200)
        #expect(sink.names.first == "offlineQueueEnqueued")
        await finish(client)
    }
}
