// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

@Suite(.throttled)
struct CoalescingPluginTests {
    /// A client and a transport that holds every request at a gate until all calls wait.
    struct Stage {
        let plugin = CoalescingPlugin()
        let gate: Gate
        let transport: MockTransport
        let clock = TestClock()
        let client: PulseClient

        init(
            gate: Gate = Gate(), outer: [any PulsePlugin] = [], inner: [any PulsePlugin] = [],
            responding respond: @escaping @Sendable (URLRequest) async throws -> PulseResponse = {
                PulseResponse(statusCode: 200, data: Data("ok".utf8), request: $0)
            }
        ) {
            self.gate = gate
            transport = MockTransport { request in
                await gate.pass()
                return try await respond(request)
            }
            client = ClientStage.client(.root, plugins: outer + [plugin] + inner, clock: clock, over: transport)
        }

        /// A call that has run as far as possible without waiting: it has joined a request, or started one.
        func start(_ endpoint: Plain, _ options: RequestOptions = RequestOptions()) -> Task<PulseResponse, any Error> {
            Task.startingNow { try await client.rawRequest(endpoint, options: options) }
        }

        /// Starts all calls; returns how many requests reach the transport.
        func requests(for calls: [(Plain, RequestOptions)], sharing: Int) async throws -> Int {
            let calls = calls.map { start($0, $1) }
            #expect(plugin.waiterCount == sharing)
            gate.open()
            for call in calls { _ = try await call.value }
            return transport.requests.count
        }
    }

    struct Plain: Endpoint {
        typealias Response = Data

        var path = "/a"
        var method = HTTPMethod.get
        var headers: [String: String] = [:]
        var body = RequestBody.none
        var plugins: [any PulsePlugin] = []
    }

    @Test func identicalCallsShareOneRequest() async throws {
        let stage = Stage()
        let calls = [(Plain, RequestOptions)](repeating: (Plain(), RequestOptions()), count: 20)
        #expect(try await stage.requests(for: calls, sharing: 20) == 1)
        #expect(stage.plugin.waiterCount == 0)
    }

    @Test func aCallAfterTheResponseSendsItsOwnRequest() async throws {
        let stage = Stage(gate: Gate(isOpen: true))
        for _ in 0..<3 { _ = try await stage.client.rawRequest(Plain()) }
        #expect(stage.transport.requests.count == 3)
        #expect(stage.plugin.runCount == 0)
    }

    @Test func aSharedResponseHasTheCallsOwnRequestAndTheOriginCoalesced() async throws {
        let stage = Stage()
        let first = stage.start(Plain(headers: ["X-Request-ID": "1"]))
        #expect(stage.plugin.waiterCount == 1)
        let second = stage.start(Plain(headers: ["X-Request-ID": "2"]))
        #expect(stage.plugin.waiterCount == 2)
        stage.gate.open()
        let (leading, following) = (try await first.value, try await second.value)
        #expect(leading.origin == .mock)
        #expect(leading.request.value(forHTTPHeaderField: "X-Request-ID") == "1")
        #expect(following.origin == .coalesced)
        #expect(following.request.value(forHTTPHeaderField: "X-Request-ID") == "2")
        #expect(following.data == Data("ok".utf8))
    }

    @Test func aSharedResponseIsDecodedWithTheDecoderOfEachCall() async throws {
        struct Item: Decodable {
            let itemName: String
        }
        let stage = Stage { PulseResponse(statusCode: 200, data: Data(#"{"item_name":"tea"}"#.utf8), request: $0) }
        let snake = JSONResponseDecoder { $0.keyDecodingStrategy = .convertFromSnakeCase }
        let first = stage.start(Plain(), RequestOptions().with(\.decoder, value: snake))
        let second = stage.start(Plain())
        let third = stage.start(Plain(), RequestOptions().with(\.decoder, value: snake))
        #expect(stage.plugin.waiterCount == 3)
        stage.gate.open()
        let responses = (try await first.value, try await second.value, try await third.value)
        #expect(try responses.0.decode(Item.self).itemName == "tea")
        #expect(throws: PulseError.self) { try responses.1.decode(Item.self) }
        #expect(try responses.2.decode(Item.self).itemName == "tea")
    }

    @Test(arguments: [PulseResponse.Origin.cache, .stale, .revalidated])
    func aSharedResponseFromAStoreKeepsItsOrigin(origin: PulseResponse.Origin) async throws {
        let stage = Stage(inner: [Storing(origin: origin)])
        let calls = (0..<2).map { _ in stage.start(Plain()) }
        #expect(stage.plugin.waiterCount == 2)
        stage.gate.open()
        for call in calls { #expect(try await call.value.origin == origin) }
    }

    @Test func theSharedRequestHasTheTaskLocalValuesOfTheFirstCall() async throws {
        let stage = Stage(inner: [TracingPlugin()])
        let traces = try ["0af7651916cd43dd8448eb211c80319c", "1af7651916cd43dd8448eb211c80319c"].map { id in
            try #require(TraceContext(traceparent: "00-\(id)-b7ad6b7169203331-01"))
        }
        let calls = traces.map { trace in TraceContext.$current.withValue(trace) { stage.start(Plain()) } }
        #expect(stage.plugin.waiterCount == 2)
        stage.gate.open()
        for call in calls { _ = try await call.value }
        let sent = stage.transport.requests.map { $0.value(forHTTPHeaderField: "traceparent") ?? "" }
        #expect(sent.count == 1)
        #expect(sent.first?.contains(traces[0].traceID) == true)
    }

    @Test func theSharedRequestHasAHighPriorityWhicheverCallIsFirst() async throws {
        let priority = Locked<TaskPriority?>(nil)
        let stage = Stage(responding: { request in
            priority.withLock { $0 = Task.currentPriority }
            return PulseResponse(statusCode: 200, request: request)
        })
        let call = Task(priority: .background) { try await stage.start(Plain()).value }
        await stage.gate.arrivals(atLeast: 1)
        stage.gate.open()
        _ = try await call.value
        #expect((priority.withLock { $0 } ?? .background) >= .userInitiated)
    }

    /// Responds to a PUT at once.
    private struct Writing: PulsePlugin {
        let identifier = "com.pulse.tests.writing"
        let status: Int?

        func intercept(
            _ request: URLRequest, for context: PluginContext, next: PluginChain
        ) async throws -> PulseResponse {
            guard request.httpMethod == "PUT" else { return try await next(request) }
            guard let status else { throw TransportFailure(code: .networkConnectionLost, phase: .maybeSent) }
            return PulseResponse(statusCode: status, request: request)
        }
    }

    @Test(arguments: [200, 303, 400, nil], ["/a", "/b"])
    func aReadAfterAWriteDoesNotShareAnEarlierRequest(status: Int?, path: String) async throws {
        let stage = Stage(inner: [Writing(status: status)])
        let before = stage.start(Plain())
        _ = try? await stage.client.rawRequest(Plain(path: path, method: .put))
        let after = stage.start(Plain())
        stage.gate.open()
        _ = try await before.value
        let isShared = path != "/a" || status == 400
        #expect(try await after.value.origin == (isShared ? PulseResponse.Origin.coalesced : .mock))
        #expect(stage.transport.requests.count == (isShared ? 1 : 2))
    }

    /// It would wait for itself.
    @Test(arguments: [false, true])
    func aPluginThatIsTwiceInAChainDoesNotWaitForItself(isCache: Bool) async throws {
        let (coalescing, cache) = (CoalescingPlugin(), CachePlugin(policy: .rfc9111))
        let plugin: any PulsePlugin = isCache ? cache : coalescing
        let transport = MockTransport { PulseResponse(statusCode: 200, request: $0) }
        let client = ClientStage.client(.root, plugins: [plugin, plugin], retry: .default, over: transport)
        for _ in 0..<2 { #expect(try await client.rawRequest(Plain()).statusCode == 200) }
        #expect(transport.requests.count == 2)
        #expect(coalescing.runCount + cache.cache.flights.runCount == 0)
    }

    /// The owner of the other request may wait for the refresh.
    @Test func aCallWithinATokenRefreshIsNotShared() async throws {
        let stage = Stage()
        let first = stage.start(Plain())
        let refresh = await WorkScope.run(TokenRefresh(FakeSession())) { stage.start(Plain()) }
        #expect(stage.plugin.waiterCount == 1)
        stage.gate.open()
        for call in [first, refresh] { _ = try await call.value }
        #expect(stage.transport.requests.count == 2)
    }

    @Test func aCallWithinTheWorkOfAnotherIsNotShared() async throws {
        let sent = Locked(0)
        let client = Locked<PulseClient?>(nil)
        // The recovery sends the same request as the call that waits for it.
        let recovery = Validator.Recovery.task("renew") {
            _ = try await client.withLock { $0 }?.rawRequest(Plain())
        }
        let validator = Validator { _, response, _ in
            response.statusCode == 203 ? .recover(recovery, otherwise: PulseError.cancelled) : .accept
        }
        let made = ClientStage.client(
            .root, plugins: [CoalescingPlugin(), ValidatorPlugin([validator])], retry: .default,
            clock: TestClock()
        ) { request in
            let number = sent.withLock { sent in
                sent += 1
                return sent
            }
            return PulseResponse(statusCode: number == 1 ? 203 : 200, request: request)
        }
        client.withLock { $0 = made }
        #expect(try await made.rawRequest(Plain()).statusCode == 200)
        #expect(sent.withLock { $0 } == 3)
        client.withLock { $0 = nil }
        await made.shutdown()
    }

    @Test func allCallsGetTheSameFailure() async throws {
        let stage = Stage(responding: { _ in throw PulseError.noConnection })
        let calls = (0..<5).map { _ in stage.start(Plain()) }
        #expect(stage.plugin.waiterCount == 5)
        stage.gate.open()
        for call in calls {
            let error = await #expect(throws: PulseError.self) { try await call.value }
            #expect(error?.kind == .noConnection)
        }
        #expect(stage.transport.requests.count == 1)
    }

    // MARK: Which calls are identical

    @Test(arguments: ["traceparent", "tracestate", "baggage", "X-Request-ID", "Idempotency-Key", "x-request-id"])
    func perCallFieldsDoNotPreventSharing(name: String) async throws {
        let stage = Stage()
        let calls = ["1", "2"].map { (Plain(headers: [name: $0]), RequestOptions()) }
        #expect(try await stage.requests(for: calls, sharing: 2) == 1)
    }

    static let different: [(Plain, RequestOptions)] = [
        (Plain(path: "/b"), RequestOptions()),
        (Plain(path: "/a?b"), RequestOptions()),
        (Plain(method: .head), RequestOptions()),
        (Plain(method: .query, body: .text("x")), RequestOptions()),
        (Plain(method: .query, body: .text("y")), RequestOptions()),
        (Plain(headers: ["Accept-Language": "de"]), RequestOptions()),
        (Plain(headers: ["Authorization": "Bearer a"]), RequestOptions()),
        (Plain(headers: ["Authorization": "Bearer b"]), RequestOptions()),
        (Plain(headers: ["Cookie": "a=b"]), RequestOptions()),
        (Plain(), RequestOptions().with(\.cache, value: .reload)),
        (Plain(), RequestOptions().with(\.maxBufferedBodySize, value: 10)),
        (Plain(), RequestOptions().with(\.timeout, value: 1)),
        (Plain(), RequestOptions().with(\.connectTimeout, value: 1)),
        (Plain(), RequestOptions().with(\.poolTimeout, value: 1)),
        (Plain(), RequestOptions().with(\.retry, value: .default)),
        (Plain(), RequestOptions().with(\.acceptedStatuses, value: .any)),
        (Plain(), RequestOptions().with(\.retry, value: .immediate())),
        (Plain(), RequestOptions().with(\.retry, value: RetryPolicy(retryableStatusCodes: [503]))),
        (Plain(), RequestOptions().with(\.retry, value: RetryPolicy(retryOnTimeout: false))),
        (Plain(), RequestOptions().with(\.waitsForConnectivity, value: true)),
        (Plain(), RequestOptions().with(\.route, value: "another")),
        (Plain(), RequestOptions().with(\.auth, value: .anonymous)),
        (Plain(), RequestOptions().with(\.redirectPolicy, value: .refuse)),
        (Plain(), RequestOptions().with(\.priority, value: .high)),
        (Plain(), RequestOptions().with(\.tag, value: "feed")),
        // One string to Swift, and two to a server.
        (Plain(headers: ["X-A": "\u{E9}"]), RequestOptions()),
        (Plain(headers: ["X-A": "e\u{301}"]), RequestOptions()),
    ]

    @Test func callsThatDifferOtherwiseAreNotShared() async throws {
        let stage = Stage()
        let calls = [(Plain(), RequestOptions())] + Self.different
        #expect(try await stage.requests(for: calls + calls, sharing: 2 * calls.count) == calls.count)
    }

    static let alone: [(Plain, RequestOptions)] = [
        (Plain(method: .post), RequestOptions()),
        (Plain(method: .put), RequestOptions()),
        (Plain(method: .delete), RequestOptions()),
        (Plain(method: .query, body: .stream { ByteStream([]) }), RequestOptions()),
        (Plain(method: .query, body: .file(URL(fileURLWithPath: #filePath))), RequestOptions()),
        (Plain(plugins: [Marker(scope: .attempt)]), RequestOptions()),
        (Plain(plugins: [Marker(scope: .retry)]), RequestOptions()),
        (Plain(), RequestOptions().with(\.coalesces, value: false)),
        (Plain(), RequestOptions().with(\.retry, value: RetryPolicy(backoffStrategy: .custom { _ in 1 }))),
        (Plain(), RequestOptions().with(\.redirectPolicy, value: .custom { _, _ in nil })),
    ]

    @Test(arguments: alone.indices)
    func callsThatMustNotBeSharedSendTheirOwnRequests(index: Int) async throws {
        let stage = Stage()
        let call = Self.alone[index]
        #expect(try await stage.requests(for: [call, call], sharing: 0) == 2)
    }

    @Test func anOuterEndpointPluginDoesNotPreventSharing() async throws {
        let stage = Stage()
        let call = (Plain(plugins: [Marker(scope: .call)]), RequestOptions().with(\.coalesces, value: true))
        #expect(try await stage.requests(for: [call, call], sharing: 2) == 1)
    }

    @Test func onlyBufferedResponsesAreShared() async throws {
        let plugin = CoalescingPlugin()
        let gate = Gate()
        let calls = (0..<2).map { _ in
            Task {
                try await plugin.run(in: .mock(delivery: .streamed)) { request in
                    await gate.pass()
                    return PulseResponse(statusCode: 200, request: request)
                }
            }
        }
        await gate.arrivals(atLeast: 2)
        gate.open()
        for call in calls { #expect(try await call.value.origin == .network) }
    }

    @Test func usersOfOneAuthPluginAreSeparatedAndCallsOfOneUserAreShared() async throws {
        let session = FakeSession("t2", account: "ada")
        // One header for both users: only the account distinguishes them.
        let stage = Stage(outer: [AuthPlugin(tokenProvider: session)])
        let first = stage.start(Plain())
        #expect(stage.plugin.waiterCount == 1)
        let second = stage.start(Plain())
        #expect(stage.plugin.waiterCount == 2)
        session.set(\.account, "bob")
        let other = stage.start(Plain())
        #expect(stage.plugin.waiterCount == 3)
        stage.gate.open()
        #expect(try await first.value.origin == .mock)
        #expect(try await second.value.origin == .coalesced)
        #expect(try await other.value.origin == .mock)
        #expect(stage.transport.requests.count == 2)
    }

    @Test(arguments: URLCredentialPlugin.all.indices)
    func aCredentialThatAnInnerPluginAddsToTheURLPreventsSharing(index: Int) async throws {
        let stage = Stage(inner: [URLCredentialPlugin.all[index]])
        let calls = [(Plain, RequestOptions)](repeating: (Plain(), RequestOptions()), count: 3)
        #expect(try await stage.requests(for: calls, sharing: 3) == 3)
    }

    @Test func clientsThatShareThePluginShareNoRequest() async throws {
        let stage = Stage()
        let other = PulseClient(
            configuration: stage.client.configuration, plugins: [stage.plugin], transport: stage.transport,
            events: PulseEventBus())
        let calls = [stage.client, other].map { client in
            Task<PulseResponse, any Error>.startingNow { try await client.rawRequest(Plain()) }
        }
        #expect(stage.plugin.waiterCount == 2)
        stage.gate.open()
        for call in calls { #expect(try await call.value.origin == .mock) }
    }

    // MARK: Leaving

    @Test func aCancelledCallLeavesAtOnceWithoutTheOthers() async throws {
        let stage = Stage()
        let first = stage.start(Plain())
        #expect(stage.plugin.waiterCount == 1)
        let second = stage.start(Plain())
        #expect(stage.plugin.waiterCount == 2)
        first.cancel()
        let error = await #expect(throws: PulseError.self) { try await first.value }
        #expect(error?.kind == .cancelled)
        stage.gate.open()
        #expect(try await second.value.statusCode == 200)
        #expect(stage.transport.requests.count == 1)
    }

    @Test func theLastCancelledCallCancelsTheRequestAndTheNextCallStartsANewOne() async throws {
        let (isWaiting, isCancelled) = (Gate(isOpen: true), Gate(isOpen: true))
        let stage = Stage(gate: Gate(isOpen: true)) { request in
            guard request.value(forHTTPHeaderField: "X-Request-ID") != "new" else {
                return PulseResponse(statusCode: 200, request: request)
            }
            await isWaiting.pass()
            do {
                try await Task.sleep(nanoseconds: .max)
            } catch {
                await isCancelled.pass()
            }
            throw CancellationError()
        }
        let calls = (0..<3).map { _ in stage.start(Plain()) }
        #expect(stage.plugin.waiterCount == 3)
        await isWaiting.arrivals(atLeast: 1)
        for call in calls.dropLast() {
            call.cancel()
            await #expect(throws: PulseError.self) { try await call.value }
        }
        #expect(isCancelled.arrivals == 0)
        calls[2].cancel()
        await #expect(throws: PulseError.self) { try await calls[2].value }
        let next = try await stage.client.rawRequest(Plain(headers: ["X-Request-ID": "new"]))
        #expect(next.origin == .mock)
        await isCancelled.arrivals(atLeast: 1)
        #expect(stage.transport.requests.count == 2)
    }

    @Test func eachCallHasItsOwnDeadline() async throws {
        let stage = Stage()
        let hasty = stage.start(Plain(), RequestOptions().with(\.deadline, value: 5))
        #expect(stage.plugin.waiterCount == 1)
        let patient = stage.start(Plain())
        #expect(stage.plugin.waiterCount == 2)
        await stage.clock.sleepers(atLeast: 1, for: .deadline)
        await stage.clock.advance(by: 5)
        let error = await #expect(throws: PulseError.self) { try await hasty.value }
        #expect(error?.kind == .deadlineExceeded)
        stage.gate.open()
        #expect(try await patient.value.statusCode == 200)
    }

    @Test func shuttingDownOneClientDoesNotEndTheCallsOfAnother() async throws {
        let stage = Stage()
        let other = PulseClient(
            configuration: stage.client.configuration, plugins: [stage.plugin], transport: stage.transport,
            events: PulseEventBus())
        let calls = (0..<3).map { _ in stage.start(Plain()) }
        let left = Task.startingNow { try await other.rawRequest(Plain()) }
        #expect(stage.plugin.waiterCount == 4)
        let shutdown = Task.startingNow { await other.shutdown() }
        let error = await #expect(throws: PulseError.self) { try await left.value }
        #expect(error?.kind == .cancelled)
        #expect(stage.plugin.waiterCount == 3)
        stage.gate.open()
        _ = await shutdown.result
        for call in calls { #expect(try await call.value.statusCode == 200) }
        // One for each client.
        #expect(stage.transport.requests.count == 2)
    }

    @Test func aCancellationWhileARequestStartsCancelsIt() async throws {
        let client = Locked<PulseClient?>(nil)
        let isCancelled = Locked<Bool?>(nil)
        let hold = Gate()
        let stage = Stage(gate: Gate(isOpen: true)) { request in
            client.withLock { $0 }?.cancelAll()
            await hold.pass()
            isCancelled.withLock { $0 = Task.isCancelled }
            return PulseResponse(statusCode: 200, request: request)
        }
        client.withLock { $0 = stage.client }
        let error = await #expect(throws: PulseError.self) { try await stage.client.rawRequest(Plain()) }
        #expect(error?.kind == .cancelled)
        #expect(stage.plugin.runCount == 1)
        hold.open()
        await stage.client.shutdown()
        #expect(isCancelled.withLock { $0 } == true)
        #expect(stage.plugin.runCount == 0)
        client.withLock { $0 = nil }
    }

    @Test func aShutdownWaitsForARequestWithoutWaiters() async throws {
        let ended = Locked(false)
        let stage = Stage { request in
            ended.withLock { $0 = true }
            return PulseResponse(statusCode: 200, request: request)
        }
        let call = stage.start(Plain())
        await stage.gate.arrivals(atLeast: 1)
        call.cancel()
        await #expect(throws: PulseError.self) { try await call.value }
        #expect(stage.plugin.waiterCount == 0)
        #expect(stage.plugin.runCount == 1)
        let shutdown = Task.startingNow { await stage.plugin.shutdown() }
        stage.gate.open()
        _ = await shutdown.result
        #expect(ended.withLock { $0 })
        #expect(stage.plugin.runCount == 0)
    }

    @Test func innerPluginsSeeOneCallWhichCompletes() async throws {
        let seen = Locked<[String]>([])
        let stage = Stage(inner: [Completion(seen: seen)])
        let calls = (0..<4).map { _ in stage.start(Plain()) }
        #expect(stage.plugin.waiterCount == 4)
        stage.gate.open()
        for call in calls { _ = try await call.value }
        await stage.client.shutdown()
        #expect(seen.withLock { $0 } == ["entered", "completed"])
    }

    @Test func anEndedCallSendsNothing() async {
        let sent = Locked(0)
        let call = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await CoalescingPlugin().run(in: PluginContext.mock()) { request in
                sent.withLock { $0 += 1 }
                return PulseResponse(statusCode: 200, request: request)
            }
        }
        call.cancel()
        await #expect(throws: (any Error).self) { try await call.value }
        #expect(sent.withLock { $0 } == 0)
    }
}

struct Marker: PulsePlugin {
    let identifier = "test.marker"
    let scope: PluginScope
}

/// Responds as if from a store.
private struct Storing: PulsePlugin {
    let identifier = "test.storing"
    let origin: PulseResponse.Origin

    func didReceive(
        _ result: Result<PulseResponse, PulseError>, for context: PluginContext
    ) async throws -> Result<PulseResponse, PulseError>? {
        result.map { response in
            var response = response
            response.origin = origin
            return response
        }
    }
}

private struct Completion: PulsePlugin {
    let identifier = "test.completion"
    let seen: Locked<[String]>

    func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
        seen.withLock { $0.append("entered") }
    }

    func didComplete(_ context: PluginContext) async {
        seen.withLock { $0.append("completed") }
    }
}
