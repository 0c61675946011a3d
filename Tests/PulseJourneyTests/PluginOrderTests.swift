// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import TestSupport
import Testing

/// The nesting of each pair of plugins, as `Plugins.md` promises: each test fails if the two are swapped.
@Suite(.throttled)
struct PluginOrderTests {
    private struct Broken: Error {}

    private final class Store: TokenProvider {
        private let token = Locked("old")
        private let count = Locked(0)
        private let onRefresh: @Sendable () async -> Void

        init(onRefresh: @escaping @Sendable () async -> Void = {}) {
            self.onRefresh = onRefresh
        }

        var refreshes: Int { count.withLock { $0 } }

        func accessToken() async -> String? { token.withLock { $0 } }

        func refreshToken() async throws -> String {
            count.withLock { $0 += 1 }
            await onRefresh()
            token.withLock { $0 = "new" }
            return "new"
        }

        func handleAuthenticationFailure() async {}
    }

    private struct Scene {
        let client: PulseClient
        let transport: MockTransport
        let clock: TestClock

        var requests: [URLRequest] { transport.requests }

        func header(_ name: String) -> [String?] {
            requests.map { $0.value(forHTTPHeaderField: name) }
        }

        func get(_ path: PathTemplate = "/a", _ options: RequestOptions = RequestOptions()) async throws -> String {
            try await client.request(Request<String>(.get, path), options: options)
        }

        func post(_ body: String = "body") async throws -> String {
            try await client.request(Request<String>(.post, "/a").body(.text(body)))
        }
    }

    /// A client whose server responds by the number of the request, from 0.
    private func scene(
        _ plugins: [any PulsePlugin], retry: RetryPolicy = .immediate(),
        clock: TestClock = TestClock(),
        _ respond: @escaping @Sendable (Int, URLRequest) async throws -> (status: Int, body: String)
    ) -> Scene {
        let count = Locked(0)
        let transport = MockTransport { request in
            let number = count.withLock { count in
                defer { count += 1 }
                return count
            }
            let (status, body) = try await respond(number, request)
            return PulseResponse(statusCode: status, data: Data(body.utf8), request: request)
        }
        let client = ClientStage.client(.root, plugins: plugins, retry: retry, clock: clock, over: transport)
        return Scene(client: client, transport: transport, clock: clock)
    }

    // MARK: Around the retry loop

    @Test func theRetryLoopIsInsideAuthentication() async throws {
        let store = Store()
        let scene = scene([.auth(store)]) { number, request in
            if number == 0 { return (503, "") }
            return request.value(forHTTPHeaderField: "Authorization") == "Bearer new" ? (200, "ok") : (401, "")
        }
        #expect(try await scene.get() == "ok")
        #expect(scene.header("Authorization") == ["Bearer old", "Bearer old", "Bearer new"])
        #expect(store.refreshes == 1)
    }

    @Test func theRetryLoopIsInsideTheIdempotencyKey() async throws {
        let scene = scene([.idempotency()]) { number, _ in number == 0 ? (503, "") : (200, "ok") }
        #expect(try await scene.post() == "ok")
        #expect(try await scene.post() == "ok")
        let keys = scene.header("Idempotency-Key")
        #expect(keys.count == 3)
        #expect(keys[0] != nil && keys[0] == keys[1])
        #expect(keys[2] != nil && keys[2] != keys[0])
    }

    @Test func coalescingIsInsideAuthentication() async throws {
        // Each call has its own user: none may get another's response, although all send the same request at once.
        let users = Locked(0)
        let plugin = AuthPlugin {
            users.withLock { users in
                users += 1
                return "user-\(users)"
            }
        }
        let arrived = AsyncStream<Void>.makeStream()
        let released = AsyncStream<Void>.makeStream()
        let scene = scene([plugin, .coalescing()]) { _, request in
            arrived.continuation.yield()
            for await _ in released.stream { break }
            return (200, request.value(forHTTPHeaderField: "Authorization") ?? "")
        }
        async let one = scene.get()
        async let other = scene.get()
        var arrivals = arrived.stream.makeAsyncIterator()
        _ = await arrivals.next()
        _ = await arrivals.next()
        released.continuation.finish()
        #expect(try await Set([one, other]) == ["Bearer user-1", "Bearer user-2"])
    }

    @Test func theCacheIsInsideAuthentication() async throws {
        let users = Locked(["a", "b", "a"])
        let plugin = AuthPlugin { users.withLock { $0.removeFirst() } }
        let scene = scene([plugin, .cache(ttl: 300)]) { _, request in
            (200, request.value(forHTTPHeaderField: "Authorization") ?? "")
        }
        #expect(try await scene.get() == "Bearer a")
        #expect(try await scene.get() == "Bearer b")
        #expect(try await scene.get() == "Bearer a")
        #expect(scene.requests.count == 2)
    }

    @Test func theRetryLoopIsInsideTheCache() async throws {
        let scene = scene([.cache(ttl: 300)]) { number, _ in number == 0 ? (503, "") : (200, "ok") }
        #expect(try await scene.get() == "ok")
        #expect(try await scene.get() == "ok")
        #expect(scene.requests.count == 2)
    }

    @Test func aCachedResponseUsesNoRateLimit() async throws {
        let scene = scene([.rateLimit(requests: 1, per: 3600, maxWait: 0), .cache(ttl: 300)]) { _, _ in (200, "ok")
        }
        for _ in 0..<3 { #expect(try await scene.get() == "ok") }
        #expect(scene.requests.count == 1)
    }

    @Test func aCachedResponseIsServedWhileTheCircuitIsOpen() async throws {
        let breaker = CircuitBreakerPlugin()
        let scene = scene([breaker, .cache(ttl: 300)]) { _, _ in (200, "ok") }
        #expect(try await scene.get() == "ok")
        breaker.isolate()
        #expect(try await scene.get() == "ok")
        let error = await #expect(throws: PulseError.self) { try await scene.get("/b") }
        #expect(error?.kind == .circuitOpen)
        #expect(scene.requests.count == 1)
    }

    // MARK: Inside the retry loop

    @Test func theCircuitBreakerIsInsideTheRetryLoopAndEndsIt() async throws {
        let scene = scene(
            [.circuitBreaker(failureThreshold: 2)], retry: .immediate(5)
        ) {
            _, _ in (503, "")
        }
        let error = await #expect(throws: PulseError.self) { try await scene.get() }
        #expect(error?.kind == .circuitOpen)
        #expect(scene.requests.count == 2)
    }

    @Test func aCallRefusedByTheCircuitBreakerTakesNoRateToken() async throws {
        let scene = scene(
            [
                .circuitBreaker(failureThreshold: 1, cooldownDuration: 30),
                .rateLimit(requests: 2, per: 3600, maxWait: 0),
            ],
            retry: .none
        ) { number, _ in number == 0 ? (500, "") : (200, "ok") }
        await #expect(throws: PulseError.self) { try await scene.get() }
        for _ in 0..<5 { await #expect(throws: PulseError.self) { try await scene.get() } }
        await scene.clock.advance(by: 31)
        // The second token is still there.
        #expect(try await scene.get() == "ok")
    }

    @Test func aCallWaitingForTheRateLimitHoldsNoPermit() async throws {
        let scene = scene([.rateLimit(requests: 1, per: 60, by: .route), .concurrencyLimit(1)], retry: .none) { _, _ in
            (200, "ok")
        }
        func options(_ route: String) -> RequestOptions { RequestOptions().with(\.route, value: route) }
        #expect(try await scene.get("/a", options("a")) == "ok")
        async let waiting = scene.get("/a", options("a"))
        await scene.clock.sleepers(atLeast: 1)
        #expect(try await scene.get("/b", options("b")) == "ok")
        #expect(scene.requests.count == 2)
        await scene.clock.advance(by: 60)
        #expect(try await waiting == "ok")
    }

    private struct Fault: Error, Decodable {
        let code: Int
    }

    /// The host has responded: the circuit breaker treats this like a 404.
    @Test func anAppErrorFoundByAValidatorIsASuccessForTheCircuitBreaker() async throws {
        let breaker = CircuitBreakerPlugin(failureThreshold: 2, cooldownDuration: 30)
        let scene = scene(
            [breaker, .validator(.errorBody(Fault.self) { $0.code == 0 ? nil : $0 })], retry: .none
        ) { number, _ in
            number == 1 || number == 4 ? (200, #"{"code": 7}"#) : (503, "")
        }
        for kind in [PulseError.Kind.http, .custom, .http] {
            let error = await #expect(throws: PulseError.self) { try await scene.get() }
            #expect(error?.kind == kind)
        }
        #expect(breaker.state(for: "https://api.example.com") == .closed)
        await #expect(throws: PulseError.self) { try await scene.get() }
        #expect(breaker.state(for: "https://api.example.com") == .open)
        await scene.clock.advance(by: 30)
        let error = await #expect(throws: PulseError.self) { try await scene.get() }
        #expect(error?.kind == .custom)
        #expect(breaker.state(for: "https://api.example.com") == .closed)
    }

    @Test func aStatusReplacedByAValidatorCountsForTheCircuitBreaker() async throws {
        let hidden = Validator { request, response, _ in
            response.data == Data("fault".utf8) ? .replace(PulseResponse(statusCode: 503, request: request)) : .accept
        }
        let scene = scene([.circuitBreaker(failureThreshold: 1), .validator(hidden)], retry: .none) { _, _ in
            (200, "fault")
        }
        await #expect(throws: PulseError.self) { try await scene.get() }
        let error = await #expect(throws: PulseError.self) { try await scene.get() }
        #expect(error?.kind == .circuitOpen)
        #expect(scene.requests.count == 1)
    }

    @Test func aLosingHedgeIsNoFailureForTheCircuitBreaker() async throws {
        let breaker = CircuitBreakerPlugin(failureThreshold: 1)
        let clock = TestClock()
        let scene = scene([.hedging(delay: .fixed(1)), breaker], retry: .none, clock: clock) { number, _ in
            if number == 20 { try await clock.sleep(3600) }
            return (200, "copy \(number)")
        }
        // Hedges are limited to 5 % of the calls.
        for _ in 0..<20 { _ = try await scene.get() }
        async let body = scene.get()
        await clock.sleepers(atLeast: 2)
        await clock.advance(by: 1)
        #expect(try await body == "copy 21")
        #expect(try await scene.get() == "copy 22")
    }

    /// A circuit breaker outside the hedge would see only the winner.
    @Test func aFailingHedgeIsAFailureForTheCircuitBreaker() async throws {
        let breaker = CircuitBreakerPlugin(failureThreshold: 1)
        let clock = TestClock()
        let scene = scene([.hedging(delay: .fixed(1)), breaker], retry: .none, clock: clock) { number, _ in
            if number == 20 { try await clock.sleep(2) }
            return number == 21 ? (500, "") : (200, "copy \(number)")
        }
        for _ in 0..<20 { _ = try await scene.get() }
        async let body = scene.get()
        await clock.sleepers(atLeast: 2)
        await clock.advance(by: 1)
        while breaker.state(for: "https://api.example.com") == .closed { await Task.yield() }
        await clock.advance(by: 1)
        #expect(try await body == "copy 20")
        let error = await #expect(throws: PulseError.self) { try await scene.get() }
        #expect(error?.kind == .circuitOpen)
    }

    @Test func eachAttemptIsASpanOfOneTrace() async throws {
        let scene = scene([.tracing()]) { number, _ in number == 0 ? (503, "") : (200, "ok") }
        #expect(try await scene.get() == "ok")
        let parts = scene.header("traceparent").map { ($0 ?? "").split(separator: "-").map(String.init) }
        try #require(parts.count == 2 && parts.allSatisfy { $0.count == 4 })
        #expect(parts[0][1] == parts[1][1])
        #expect(parts[0][2] != parts[1][2])
    }

    @Test func eachAttemptIsSignedAgainAndLast() async throws {
        let clock = TestClock(autoAdvances: true)
        let compressible = String(repeating: "a", count: 5000)
        let scene = scene(
            [.signing(secret: "s3cret"), .compression(), .idempotency()],
            retry: RetryPolicy(backoffStrategy: .constant(10)), clock: clock
        ) { number, _ in number == 0 ? (503, "") : (200, "ok") }
        #expect(try await scene.post(compressible) == "ok")
        let verifier = SignatureVerifier(secret: "s3cret", clock: clock)
        for request in scene.requests {
            #expect(request.value(forHTTPHeaderField: "Content-Encoding") == "gzip")
            #expect(verifier.verdict(on: request).isAccepted)
        }
        let times = scene.header("X-Pulse-Timestamp").compactMap { $0.flatMap(Int.init) }
        #expect(times.count == 2)
        #expect(times.last.map { $0 - (times.first ?? 0) } == 10)
    }

    @Test func aRequestWithARefreshedTokenIsSignedAgain() async throws {
        let clock = TestClock()
        let store = Store(onRefresh: { await clock.advance(by: 10) })
        let scene = scene([.signing(secret: "s3cret"), .auth(store)], retry: .none, clock: clock) { _, request in
            request.value(forHTTPHeaderField: "Authorization") == "Bearer new" ? (200, "ok") : (401, "")
        }
        #expect(try await scene.get() == "ok")
        let times = scene.header("X-Pulse-Timestamp").compactMap { $0.flatMap(Int.init) }
        #expect(times.count == 2)
        #expect(times.last.map { $0 - (times.first ?? 0) } == 10)
        let last = try #require(scene.requests.last)
        #expect(SignatureVerifier(secret: "s3cret", clock: clock).verdict(on: last).isAccepted)
    }

    /// The logger shows requests right before they are sent, wherever it is in the list, and responses as it gets them.
    @Test func theLoggerSeesTheFinalRequestAndTheReceivedResponse() async throws {
        let lines = Locked("")
        let logger = LoggerPlugin(
            options: .init(verbosity: .verbose, output: { line in lines.withLock { $0 += line + "\n" } }))
        let hiding = Validator { _, response, context in
            .replace(PulseResponse(statusCode: 202, data: Data("made up".utf8), request: response.request))
        }
        let scene = scene(
            [.auth(Store()), .validator(hiding), .tracing(), .signing(secret: "s3cret"), logger], retry: .none
        ) { _, _ in (200, "as it came") }
        #expect(try await scene.get() == "made up")
        let text = lines.withLock { $0 }
        for name in ["authorization", "traceparent", "x-signature-256", "x-pulse-timestamp"] {
            #expect(text.lowercased().contains(name), "\(name) is missing")
        }
        #expect(!text.contains("Bearer old"))
        #expect(text.contains("<-- 200 for") && !text.contains("<-- 202"))
    }

    // MARK: The list

    /// The scopes order the chain, whatever the order of the list: the caller only orders plugins of the same scope.
    @Test func theScopesOrderAnyListOfPlugins() async throws {
        let store = Store()
        let scene = scene([
            .circuitBreaker(failureThreshold: 9), .retry(maxAttempts: 2, strategy: .immediate), .auth(store),
        ]) {
            number, request in
            if number == 0 { return (503, "") }
            return request.value(forHTTPHeaderField: "Authorization") == "Bearer new" ? (200, "ok") : (401, "")
        }
        #expect(try await scene.get() == "ok")
        #expect(scene.requests.count == 3)
    }
}
