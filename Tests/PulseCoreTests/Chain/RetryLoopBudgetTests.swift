// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

/// The retry loop with the client's budget, with a decider, and with failures that must never be retried.
@Suite(.throttled)
struct RetryLoopBudgetTests {
    private let policy = RetryPolicy(maxAttempts: 2, backoffStrategy: .immediate)

    /// A call of a client; all calls share one environment.
    private func run(
        _ environment: CallEnvironment, host: String = "a", responding outcome: ChainUnderTest.Outcome,
        pipeline: (ChainUnderTest) -> PluginPipeline
    ) async throws -> (sent: Int, Result<PulseResponse, PulseError>) {
        let chain = ChainUnderTest([outcome])
        let request = try request(.get, "https://\(host)/v1")
        let call = Call(
            endpointPath: "/v1", routeType: nil, method: .get, host: host, options: RequestOptions(),
            delivery: .buffered(limit: 1), environment: environment)
        let context = PluginContext(call: call, url: try url("https://\(host)/v1"), method: .get, request: request)
        let result = await chain.run(request, in: context, through: pipeline(chain))
        return (chain.sent.count, result)
    }

    @Test func anEmptyBudgetFailsAtOnceWithTheOriginalError() async throws {
        let sink = RecordingSink()
        let environment = CallEnvironment(clock: TestClock(autoAdvances: false), events: sink)
        let configured = { (chain: ChainUnderTest) in chain.pipeline(configured: policy) }
        for call in 0..<40 {
            let (sent, result) = try await run(environment, responding: .success(.sample(503)), pipeline: configured)
            #expect(sent == (call < 30 ? 2 : 1))
            #expect(result.status == 503)
        }
        let givenUp = sink.events.count { if case .retryGivenUp = $0 { true } else { false } }
        // 30 after their last attempt, 10 for lack of budget.
        #expect(givenUp == 40)
        let (sent, _) = try await run(environment, host: "b", responding: .success(.sample(503)), pipeline: configured)
        #expect(sent == 2, "another host has a separate budget")
    }

    @Test func callsThatSucceedEarnRetries() async throws {
        let environment = CallEnvironment(clock: TestClock(autoAdvances: false))
        let configured = { (chain: ChainUnderTest) in chain.pipeline(configured: policy) }
        for _ in 0..<200 { _ = try await run(environment, responding: .success(.sample(200)), pipeline: configured) }
        var retried = 0
        for _ in 0..<60 {
            retried += try await run(environment, responding: .success(.sample(503)), pipeline: configured).sent - 1
        }
        // A fifth of the 200 and of the 60 that fail.
        #expect(retried == 52)
    }

    @Test func aRetryPluginUsesTheClientsBudget() async throws {
        let environment = CallEnvironment(clock: TestClock(autoAdvances: false))
        let inPlugin = { (chain: ChainUnderTest) in chain.pipeline([RetryLoop(policy)]) }
        let configured = { (chain: ChainUnderTest) in chain.pipeline(configured: policy) }
        for _ in 0..<15 {
            _ = try await run(environment, responding: .success(.sample(503)), pipeline: inPlugin)
            _ = try await run(environment, responding: .success(.sample(503)), pipeline: configured)
        }
        #expect(try await run(environment, responding: .success(.sample(503)), pipeline: inPlugin).sent == 1)
        #expect(try await run(environment, responding: .success(.sample(503)), pipeline: configured).sent == 1)
    }

    @Test func theBudgetRefillsOverTime() async throws {
        let clock = TestClock(autoAdvances: false)
        let environment = CallEnvironment(clock: clock)
        let configured = { (chain: ChainUnderTest) in chain.pipeline(configured: policy) }
        for _ in 0..<31 { _ = try await run(environment, responding: .success(.sample(503)), pipeline: configured) }
        await clock.advance(by: 10)
        #expect(try await run(environment, responding: .success(.sample(503)), pipeline: configured).sent == 2)
    }

    // MARK: Failures that are never retried

    @Test func anOpenCircuitIsNeverRetried() async throws {
        let chain = ChainUnderTest(failing: PulseError.circuitOpen(name: "a", retryAfter: 0))
        _ = await chain.run(try request(), through: chain.pipeline([RetryLoop(policy) { _ in true }]))
        #expect(chain.sent.count == 1)
        #expect(chain.sink.events.isEmpty)
    }

    @Test func theCachesOwn504IsNeverRetried() async throws {
        var made = PulseResponse.sample(504)
        made.origin = .cache
        let chain = ChainUnderTest([.success(made)])
        _ = await chain.run(try request(), through: chain.pipeline(configured: policy))
        #expect(chain.sent.count == 1)
    }

    @Test func aFailureWhileReadingTheBodyIsNotRetried() async throws {
        let stream = ByteStream { throw TransportFailure(code: .networkConnectionLost, phase: .responseStarted) }
        let chain = ChainUnderTest([.success(.sample(200, bytes: stream))])
        let response = try await chain.run(try request(), through: chain.pipeline(configured: policy)).get()
        let body = try #require(response.bytes)
        await #expect(throws: PulseError.self) { try await body.collect(upTo: 10) }
        #expect(chain.sent.count == 1)
    }

    @Test func anInfiniteWaitIsNotStarted() async throws {
        let chain = ChainUnderTest([.success(.sample(503))])
        let endless = RetryPolicy(backoffStrategy: .constant(.infinity))
        #expect(await chain.run(try request(), through: chain.pipeline(configured: endless)).status == 503)
        #expect(chain.clock.sleeps.isEmpty)
    }

    // MARK: Deciders

    private struct Decider: RetryPolicy.Decider {
        let decide: @Sendable (PulseError, Int, TimeInterval?) -> TimeInterval?

        func delay(
            after failure: PulseError, attempt: Int, proposed: TimeInterval?, in context: PluginContext
        ) -> TimeInterval? {
            decide(failure, attempt, proposed)
        }
    }

    private func waits(
        _ outcome: ChainUnderTest.Outcome, _ method: HTTPMethod = .get, body: PluginContext.Body = .inRequest,
        deadline: TimeInterval? = nil, decide: @escaping @Sendable (PulseError, Int, TimeInterval?) -> TimeInterval?
    ) async throws -> [TimeInterval] {
        let chain = ChainUnderTest([outcome])
        var policy = RetryPolicy(backoffStrategy: .exponential(base: 1, maxDelay: 8))
        policy.decider = Decider(decide: decide)
        let request = try request(method)
        let context = chain.context(for: request, body: body, deadline: deadline)
        _ = await chain.run(request, in: context, through: chain.pipeline(configured: policy))
        return chain.clock.sleeps
    }

    @Test func aDeciderDecidesWhichFailuresAreRetried() async throws {
        #expect(try await waits(.success(.sample(503))) { $2 } == [1, 2])
        #expect(try await waits(.success(.sample(503))) { _, _, _ in nil } == [])
        #expect(
            try await waits(.success(.sample(409))) { $0.statusCode == 409 ? TimeInterval($1) * 5 : $2 } == [5, 10])
        #expect(try await waits(.success(.sample(409))) { $2 } == [])
        #expect(try await waits(.success(.sample(503))) { _, _, _ in .nan } == [0, 0])
        #expect(try await waits(.success(.sample(503))) { _, _, _ in -3 } == [0, 0])
    }

    @Test func aDeciderCannotOverrideTheRules() async throws {
        let always = { @Sendable (_: PulseError, _: Int, _: TimeInterval?) -> TimeInterval? in 3 }
        #expect(try await waits(.success(.sample(503)), .post, decide: always) == [])
        #expect(try await waits(.failure(PulseError.cancelled), decide: always) == [])
        #expect(try await waits(.failure(PulseError.circuitOpen(name: "", retryAfter: 0)), decide: always) == [])
        let oneShot = PluginContext.Body.stream(RequestBody.Stream(length: nil, isOneShot: true) { ByteStream([]) })
        #expect(try await waits(.success(.sample(503)), .put, body: oneShot, decide: always) == [])
        #expect(try await waits(.success(.sample(503)), deadline: 4, decide: always) == [3])
        let asking = ChainUnderTest.Outcome.success(.sample(503, headers: ["Retry-After": "20"]))
        #expect(try await waits(asking, decide: always) == [20, 20])
        let askingTooMuch = ChainUnderTest.Outcome.success(.sample(503, headers: ["Retry-After": "61"]))
        #expect(try await waits(askingTooMuch, decide: always) == [])
    }
}
