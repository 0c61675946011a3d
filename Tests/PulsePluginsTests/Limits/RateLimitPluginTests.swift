// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

@Suite(.throttled)
struct RateLimitPluginTests {
    private typealias Sent = (name: String, at: TimeInterval)

    /// A plugin, its clock, and the requests that reached the wire.
    private struct Bench: Sendable {
        let plugin: RateLimitPlugin
        let clock = TestClock()
        let events = RecordingSink()
        let sent = Locked<[Sent]>([])
        var respond: @Sendable (URLRequest) -> PulseResponse = { PulseResponse(statusCode: 200, request: $0) }

        init(_ plugin: RateLimitPlugin) {
            self.plugin = plugin
        }

        var names: [String] { sent.withLock { $0.map(\.name) } }
        var times: [TimeInterval] { sent.withLock { $0.map(\.at) } }

        func send(
            _ target: String = "/", deadline: TimeInterval? = nil, route: String? = nil
        ) async throws -> PulseResponse {
            let request = URLRequest.mock(.get, target)
            let options = RequestOptions().with(\.route, value: route)
            let context = PluginContext.mock(
                for: request, options: options, deadline: deadline, clock: clock, events: events)
            return try await plugin.run(request, in: context) { request in
                sent.withLock { $0.append((request.url?.path ?? "", clock.uptime)) }
                return respond(request)
            }
        }

        /// Starts a call and lets it run until it is queued or has ended.
        func start(
            _ target: String = "/", deadline: TimeInterval? = nil, route: String? = nil
        ) async -> Task<PulseResponse, any Error> {
            let task = Task.startingNow { try await send(target, deadline: deadline, route: route) }
            await clock.advance(by: 0)
            return task
        }
    }

    private static func kind(_ task: Task<PulseResponse, any Error>) async -> PulseError.Kind? {
        do {
            _ = try await task.value
            return nil
        } catch {
            return PulseError(wrapping: error).kind
        }
    }

    // MARK: The rate

    @Test func aBurstPassesAndThenCallsGoAtTheRateInOrder() async throws {
        let bench = Bench(RateLimitPlugin(requests: 2, per: 1))
        var calls: [Task<PulseResponse, any Error>] = []
        for index in 0..<6 { calls.append(await bench.start("/\(index)")) }
        #expect(bench.names == ["/0", "/1"])
        for index in 2..<6 {
            await bench.clock.sleepers(atLeast: 1)
            await bench.clock.advance(by: 0.5)
            _ = try await calls[index].value
            #expect(bench.names == (0...index).map { "/\($0)" })
        }
        for call in calls.prefix(2) { _ = try await call.value }
        #expect(bench.times == [0, 0, 0.5, 1, 1.5, 2])
    }

    @Test func oneTimerServesAllWaitersAndNoneIsLeft() async throws {
        let bench = Bench(RateLimitPlugin(requests: 1, per: 1))
        _ = try await bench.send()
        #expect(bench.clock.sleeps.isEmpty)
        var calls: [Task<PulseResponse, any Error>] = []
        for _ in 0..<10 { calls.append(await bench.start()) }
        await bench.clock.sleepers(atLeast: 1)
        #expect(bench.clock.sleeperCount == 1)
        for call in calls.prefix(9) { call.cancel() }
        await bench.clock.advance(by: 0)
        #expect(bench.clock.sleeperCount == 1)
        calls[9].cancel()
        for call in calls { #expect(await Self.kind(call) == .cancelled) }
        await bench.clock.advance(by: 0)
        #expect(bench.clock.sleeperCount == 0)
        // The bucket is as if none of them had come.
        await bench.clock.advance(by: 1)
        _ = try await bench.send()
        #expect(bench.times == [0, 1])
    }

    @Test func aCancelledCallLeavesTheQueueAndLaterOnesMoveUp() async throws {
        let bench = Bench(RateLimitPlugin(requests: 1, per: 1))
        _ = try await bench.send("/0")
        let first = await bench.start("/1")
        let second = await bench.start("/2")
        first.cancel()
        #expect(await Self.kind(first) == .cancelled)
        await bench.clock.sleepers(atLeast: 1)
        await bench.clock.advance(by: 1)
        _ = try await second.value
        #expect(bench.names == ["/0", "/2"])
        #expect(bench.times == [0, 1])
    }

    @Test func hostsRoutesAndNamesHaveSeparateBuckets() async throws {
        let host = Bench(RateLimitPlugin(requests: 1, per: 1, maxWait: 0))
        for target in ["https://a.example/", "https://b.example/", "https://a.example:8443/", "http://a.example/"] {
            _ = try await host.send(target)
        }
        await #expect(throws: PulseError.self) { try await host.send("https://A.example:443/other") }

        let route = Bench(RateLimitPlugin(requests: 1, per: 1, by: .route, maxWait: 0))
        _ = try await route.send("https://a.example/", route: "one")
        _ = try await route.send("https://a.example/", route: "two")
        await #expect(throws: PulseError.self) { try await route.send("https://b.example/", route: "one") }

        let all = Bench(RateLimitPlugin(requests: 1, per: 1, by: .all, maxWait: 0))
        _ = try await all.send("https://a.example/")
        await #expect(throws: PulseError.self) { try await all.send("https://b.example/") }

        let custom = Bench(
            RateLimitPlugin(
                requests: 1, per: 1, by: .custom { request, _ in request.url?.query }, maxWait: 0))
        _ = try await custom.send("/?a")
        _ = try await custom.send("/?b")
        await #expect(throws: PulseError.self) { try await custom.send("/other?a") }
        for _ in 0..<3 { _ = try await custom.send("/") }
    }

    // MARK: Calls that cannot go in time

    @Test func aCallThatCannotGoBeforeItsDeadlineFailsAtOnce() async throws {
        let bench = Bench(RateLimitPlugin(requests: 1, per: 10))
        _ = try await bench.send()
        do {
            _ = try await bench.send(deadline: 10)
            Issue.record("no error")
        } catch PulseError.rateLimited(let retryAfter) {
            #expect(retryAfter == 10)
        }
        #expect(bench.clock.sleeps.isEmpty)
        #expect(bench.events.rateLimits == [10])
        let call = await bench.start(deadline: 10.5)
        await bench.clock.sleepers(atLeast: 1)
        await bench.clock.advance(by: 10)
        _ = try await call.value
        #expect(bench.times == [0, 10])
    }

    @Test func aCallBeyondTheLongestWaitFailsAtOnce() async throws {
        let bench = Bench(RateLimitPlugin(requests: 1, per: 1, maxWait: 2))
        _ = try await bench.send()
        let calls = [await bench.start(), await bench.start()]
        await #expect(throws: PulseError.self) { try await bench.send() }
        for call in calls {
            await bench.clock.sleepers(atLeast: 1)
            await bench.clock.advance(by: 1)
            _ = try await call.value
        }
        #expect(bench.times == [0, 1, 2])
    }

    @Test func aPauseFailsQueuedCallsThatCannotGoInTime() async throws {
        let bench = Bench(RateLimitPlugin(requests: 2, per: 2, burst: 1))
        let gate = Turnstile()
        let plugin = bench.plugin
        let first = Task { [clock = bench.clock] in
            try await plugin.run(in: .mock(clock: clock)) { request in
                try await gate.pass("first")
                return PulseResponse(statusCode: 503, headers: ["Retry-After": "5"], request: request)
            }
        }
        await gate.arrived(1)
        let impatient = await bench.start("/impatient", deadline: 4)
        let patient = await bench.start("/patient")
        gate.open()
        _ = try await first.value
        #expect(await Self.kind(impatient) == .rateLimited)
        await bench.clock.advance(by: 5)
        _ = try await patient.value
        #expect(bench.names == ["/patient"])
        #expect(bench.times == [5])
    }

    // MARK: Server pauses

    @Test(arguments: [
        (429, ["Retry-After": "5"], 5.0),
        (503, ["Retry-After": "5"], 5),
        (403, ["retry-after": "5"], 5),
        (429, ["Retry-After": "Thu, 01 Jan 2026 00:00:07 GMT"], 7),
        (429, ["Retry-After": "Thu, 01 Jan 2026 00:01:07 GMT", "Date": "Thu, 01 Jan 2026 00:01:00 GMT"], 7),
        (429, ["RateLimit-Reset": "4"], 4),
        (429, ["X-RateLimit-Reset": "1767225603"], 3),
        (200, ["RateLimit-Remaining": "0", "RateLimit-Reset": "6"], 6),
        (200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1767225608"], 8),
        (404, ["X-RateLimit-Remaining": " 0 ", "X-RateLimit-Reset": "6"], 6),
        (429, ["Retry-After": "999999999"], 3600),
        (200, ["RateLimit-Remaining": "1", "RateLimit-Reset": "6"], 0),
        (200, ["RateLimit-Remaining": "10", "RateLimit-Reset": "6"], 0),
        // As Reddit sends it.
        (200, ["X-Ratelimit-Remaining": "98.0", "X-Ratelimit-Reset": "421"], 0),
        (200, ["X-Ratelimit-Remaining": "0.0", "X-Ratelimit-Reset": "6"], 6),
        (200, ["RateLimit-Remaining": "100;w=60", "RateLimit-Reset": "6"], 0),
        (200, ["RateLimit-Remaining": "10, 10", "RateLimit-Reset": "6"], 0),
        (200, ["RateLimit-Remaining": "0, 0", "RateLimit-Reset": "6"], 6),
        (200, ["RateLimit-Remaining": "many0", "RateLimit-Reset": "6"], 0),
        (200, ["X-RateLimit-Remaining": "10", "RateLimit-Reset": "6"], 0),
        (429, ["X-RateLimit-Remaining": "many", "X-RateLimit-Reset": "6"], 6),
        (200, ["RateLimit-Reset": "6"], 0),
        (500, ["RateLimit-Reset": "6"], 0),
        (200, ["RateLimit-Remaining": "0"], 0),
        (200, ["Retry-After": "5"], 0),
        (301, ["Retry-After": "5"], 0),
        (429, ["Retry-After": "soon"], 0),
        (429, ["Retry-After": "-5"], 0),
        (429, [:], 0),
        (503, [:], 0),
    ])
    func otherRequestsWaitForTheServersPause(
        _ status: Int, _ headers: [String: String], _ wait: TimeInterval
    ) async throws {
        var bench = Bench(RateLimitPlugin(maxWait: 7200))
        bench.respond = { PulseResponse(statusCode: status, headers: HTTPHeaders(headers), request: $0) }
        #expect(try await bench.send("/first").statusCode == status)
        let other = await bench.start("/other")
        #expect(bench.names.count == (wait == 0 ? 2 : 1))
        if wait > 0 { await bench.clock.sleepers(atLeast: 1) }
        await bench.clock.advance(by: wait)
        _ = try await other.value
        #expect(bench.times == [0, wait])
        let elsewhere = await bench.start("https://elsewhere.example/")
        _ = try await elsewhere.value
    }

    @Test func anErrorOfAnInnerValidatorPausesOtherCalls() async throws {
        let bench = Bench(RateLimitPlugin(maxWait: 0))
        await #expect(throws: PulseError.self) {
            try await bench.plugin.run(in: .mock(clock: bench.clock)) { _ in
                throw PulseError.rateLimited(retryAfter: 3)
            }
        }
        await #expect(throws: PulseError.self) { try await bench.send() }
        await bench.clock.advance(by: 3)
        _ = try await bench.send()
        #expect(bench.times == [3])
    }

    /// The pause may be another server's, which other calls do not use.
    @Test(arguments: [429, 503])
    func aRateLimitOfARecoveryPausesNoOtherCall(status: Int) async throws {
        let (plugin, clock) = (RateLimitPlugin(), TestClock())
        let login = URLRequest.mock(.post, "https://login.example.com/")
        let validator = Validator { _, _, _ in .recover(.request(login), otherwise: PulseError.emptyBody) }
        let plugins: [any PulsePlugin] = [plugin, ValidatorPlugin([validator])]
        let chain = PluginChain.mock(plugins, context: .mock(clock: clock)) { request in
            let isLogin = request.url == login.url
            return PulseResponse(
                statusCode: isLogin ? status : 200, headers: isLogin ? ["Retry-After": "5"] : [:], request: request)
        }
        let error = await #expect(throws: PulseError.self) { try await chain(.mock()) }
        #expect(error?.retryAfter == 5)
        let response = try await plugin.run(in: .mock(deadline: 1, clock: clock)) {
            PulseResponse(statusCode: 200, request: $0)
        }
        #expect(response.statusCode == 200)
    }

    @Test func aRejectionByAnInnerLimiterPausesNoOtherCall() async throws {
        let clock = TestClock()
        let outer = RateLimitPlugin(by: .origin)
        let inner = RateLimitPlugin(requests: 1, per: 100, by: .route, maxWait: 1)
        func send(_ route: String) async throws -> PulseResponse {
            let context = PluginContext.mock(options: RequestOptions().with(\.route, value: route), clock: clock)
            return try await PluginChain.mock([outer, inner], context: context) {
                PulseResponse(statusCode: 200, request: $0)
            }(.mock())
        }
        _ = try await send("a")
        let error = await #expect(throws: PulseError.self) { try await send("a") }
        #expect(error?.kind == .rateLimited)
        // The outer limiter delays no other call.
        #expect(try await send("b").statusCode == 200)
    }

    @Test func eventsReportWaitingCallsAndServerRejections() async throws {
        var bench = Bench(RateLimitPlugin())
        bench.respond = { PulseResponse(statusCode: 429, headers: ["Retry-After": "5"], request: $0) }
        _ = try await bench.send()
        #expect(bench.events.rateLimits == [5])
        let other = await bench.start()
        #expect(bench.events.rateLimits == [5, 5])
        other.cancel()
        #expect(await Self.kind(other) == .cancelled)
    }

    // MARK: Bounds

    @Test func theNumberOfBucketsIsBounded() async throws {
        let limiter = RateLimiter(Rate(requests: 1, per: 3600, burst: 1), maxWait: 60)
        let clock = TestClock()
        for index in 0..<6_000 {
            try await limiter.enter(.name("\(index)"), for: .mock(clock: clock))
        }
        #expect(limiter.bucketCount == 4096)
        await #expect(throws: PulseError.self) { try await limiter.enter(.name("5999"), for: .mock(clock: clock)) }
    }

    @Test func aBucketWithWaitersIsNotEvicted() async throws {
        let limiter = RateLimiter(Rate(requests: 1, per: 1, burst: 1), maxWait: 60, maxKeys: 2)
        let clock = TestClock()
        try await limiter.enter(.name("waited for"), for: .mock(clock: clock))
        let waiter = Task { try await limiter.enter(.name("waited for"), for: .mock(clock: clock)) }
        await clock.sleepers(atLeast: 1)
        for index in 0..<10 { try await limiter.enter(.name("\(index)"), for: .mock(clock: clock)) }
        #expect(limiter.waiterCount(.name("waited for")) == 1)
        await clock.advance(by: 1)
        try await waiter.value
    }

    // MARK: In a client

    @Test func theRetryOfA429PassesTheLimiterAfterItsWait() async throws {
        let clock = TestClock()
        let stub = Stub(.get, "/").reply(.status(429, headers: ["Retry-After": "5"]), .text("at last"))
        let client = ClientStage.client(
            .root, plugins: [.rateLimit(requests: 10, per: 1)], retry: .immediate(), clock: clock,
            over: MockTransport(stubs: [stub]))
        let call = Task { try await client.request(Request<String>(.get, "/")) }
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: 5)
        #expect(try await call.value == "at last")
        #expect(clock.sleeps == [5])
        await client.shutdown()
    }

    @Test func aCallWithATooNearDeadlineFailsAtOnceAndIsNotRetried() async throws {
        let clock = TestClock()
        let stub = Stub(.get, "/").reply(.status(204))
        let client = ClientStage.client(
            .root, plugins: [.rateLimit(requests: 1, per: 10)], retry: .default, clock: clock,
            over: MockTransport(stubs: [stub]))
        _ = try await client.request(Request<EmptyResponse>(.get, "/"))
        let result = await client.result(of: Request<EmptyResponse>(.get, "/").option(\.deadline, 5))
        guard case .failure(.rateLimited(let retryAfter)) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(retryAfter == 10)
        #expect(stub.count == 1)
        await client.shutdown()
    }

    /// The first failure of the call is the inner limiter's, and the second one, with the same wait, the server's.
    @Test func aServerThatAsksForAsLongAsAnInnerLimiterPausesOtherCalls() async throws {
        let clock = TestClock()
        let stub = Stub(.get, "/").reply(.status(204))
        let inner = RateLimitPlugin(requests: 1, per: 10, by: .route, maxWait: 1)
        let validator = Validator { _, _, _ in
            stub.count == 2 ? .fail(PulseError.rateLimited(retryAfter: 10)) : .accept
        }
        let client = ClientStage.client(
            .root, plugins: [.rateLimit(maxWait: 1), inner, ValidatorPlugin([validator])], retry: .immediate(2),
            clock: clock, over: MockTransport(stubs: [stub]))
        let call = Request<EmptyResponse>(.get, "/")
        _ = try await client.request(call.option(\.route, "a"))
        let second = Task { try await client.request(call.option(\.route, "a")) }
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: 10)
        let error = await #expect(throws: PulseError.self) { try await second.value }
        #expect(error?.kind == .rateLimited && stub.count == 2)
        let result = await client.result(of: call.option(\.route, "b").option(\.retry, .never))
        guard case .failure(.rateLimited(retryAfter: 10)) = result else {
            Issue.record("\(result)")
            return
        }
        await client.shutdown()
    }

    @Test func cancellingAllCallsEmptiesTheQueue() async throws {
        let clock = TestClock()
        let client = ClientStage.client(
            .root, plugins: [.rateLimit(requests: 1, per: 8)], retry: .default, clock: clock,
            over: MockTransport(stubs: [Stub().reply(.status(204))]))
        _ = try await client.request(Request<EmptyResponse>(.get, "/"))
        let waiting = Task { await client.result(of: Request<EmptyResponse>(.get, "/").option(\.deadline, 20)) }
        await clock.sleepers(atLeast: 1)  // the bucket's timer
        await clock.sleepers(atLeast: 1, for: .deadline)
        client.cancelAll()
        guard case .failure(.cancelled) = await waiting.value else {
            Issue.record("not cancelled")
            return
        }
        await client.shutdown()
        await clock.advance(by: 0)
        #expect(clock.sleeperCount == 0)
    }
}

extension RecordingSink {
    /// The seconds of each `.rateLimited`, in order.
    fileprivate var rateLimits: [TimeInterval?] {
        events.compactMap { event -> TimeInterval?? in
            guard case .rateLimited(_, let seconds) = event else { return nil }
            return .some(seconds)
        }
    }
}
