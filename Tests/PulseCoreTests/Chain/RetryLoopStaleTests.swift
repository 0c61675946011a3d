// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

/// A request whose kept-alive connection turned out stale is resent once at once, as a normal attempt.
@Suite(.throttled)
struct RetryLoopStaleTests {
    private typealias Outcome = ChainUnderTest.Outcome

    private static let stale = Outcome.failure(
        TransportFailure(code: .networkConnectionLost, phase: .maybeSent, isStaleConnection: true))
    private static let refused = Outcome.failure(
        TransportFailure(code: .networkConnectionLost, phase: .beforeSend, isStaleConnection: true))
    private static let lost = Outcome.failure(TransportFailure(code: .networkConnectionLost, phase: .maybeSent))

    /// Waits of 1, 2, 4 … seconds.
    private let policy = RetryPolicy(backoffStrategy: .exponential(base: 1, maxDelay: 64))

    private func policy(attempts: Int) -> RetryPolicy {
        var policy = policy
        policy.maxAttempts = attempts
        return policy
    }

    // MARK: How often

    /// The transport's outcomes, the attempts of the policy, the waits, and which requests follow a stale connection.
    @Test(
        arguments: [
            ([stale, .success(.sample())], 3, [], "-+"),
            ([refused, .success(.sample())], 3, [], "-+"),
            ([stale, .success(.sample())], 2, [], "-+"),
            // It does not count as an attempt of the policy.
            ([stale, .success(.sample(503))], 3, [1, 2], "-+--"),
            ([stale, lost], 2, [1], "-+-"),
            // A second one in a row is a normal failure, and so is a loss of a new connection.
            ([stale], 3, [1, 2], "-+-+-+"),
            ([stale, stale, .success(.sample())], 3, [1], "-+-"),
            ([stale, lost, .success(.sample())], 3, [1], "-+-"),
            // Once for each attempt of the policy.
            ([.success(.sample(503)), stale, .success(.sample())], 3, [1], "--+"),
            ([stale, .success(.sample(503)), stale, .success(.sample())], 3, [1], "-+-+"),
            ([lost, stale, .success(.sample())], 2, [1], "--+"),
        ] as [([Outcome], Int, [TimeInterval], String)])
    private func aStaleRequestIsResentOncePerAttempt(
        outcomes: [Outcome], attempts: Int, waits: [TimeInterval], resends: String
    ) async throws {
        let chain = ChainUnderTest(outcomes)
        _ = await chain.run(try request(), through: chain.pipeline(configured: policy(attempts: attempts)))
        #expect(chain.sent.map { $0.context.isResend ? "+" : "-" }.joined() == resends)
        #expect(chain.clock.sleeps == waits)
        let numbers = Array(1...resends.count)
        #expect(chain.sent.map(\.context.attempt) == numbers)
        #expect(chain.sent.map(\.context.wireAttempt) == numbers)
        // The transport knows which of them the client would resend.
        #expect(chain.sent.map(\.context.isResentIfStale) == resends.map { $0 == "-" })
    }

    @Test(arguments: [1, 0, -3])
    func aPolicyOfOneAttemptSendsOnce(attempts: Int) async throws {
        for outcome in [Self.stale, Self.refused] {
            let chain = ChainUnderTest([outcome, .success(.sample())])
            let result = await chain.run(try request(), through: chain.pipeline(configured: policy(attempts: attempts)))
            #expect(result.error?.isStaleConnection == true)
            #expect(chain.sent.map(\.context.isResentIfStale) == [false])
            #expect(chain.sink.events.isEmpty)
        }
        let never = ChainUnderTest([Self.stale, .success(.sample())])
        _ = await never.run(try request(), through: never.pipeline(retry: .never, configured: policy))
        #expect(never.sent.count == 1)
    }

    /// Both ways to install the loop are covered.
    @Test(arguments: [false, true])
    func aRetryPluginResendsAStaleRequest(isPlugin: Bool) async throws {
        let chain = ChainUnderTest([Self.stale, .success(.sample())])
        let pipeline = isPlugin ? chain.pipeline([RetryLoop(policy)]) : chain.pipeline(configured: policy)
        #expect(await chain.run(try request(), through: pipeline).status == 200)
        #expect(chain.sent.map(\.context.isResentIfStale) == [true, false])
    }

    // MARK: Which requests

    @Test(arguments: [HTTPMethod.get, .head, .put, .delete, .options, .trace, .query, .post, .patch])
    func onlyARepeatableRequestIsResent(method: HTTPMethod) async throws {
        for (outcome, key, isRepeated) in [
            (Self.stale, nil, method.isIdempotent), (Self.stale, "k", true), (Self.refused, nil, true),
        ] as [(Outcome, String?, Bool)] {
            let chain = ChainUnderTest([outcome, .success(.sample())])
            let headers = key.map { ["Idempotency-Key": $0] } ?? [:]
            let request = try request(method, headers: headers)
            _ = await chain.run(request, through: chain.pipeline(configured: policy))
            #expect(chain.sent.count == (isRepeated ? 2 : 1), "\(method) \(outcome) \(key ?? "")")
        }
    }

    @Test func aOneShotBodyIsNotResent() async throws {
        let body = PluginContext.Body.stream(RequestBody.Stream(length: nil, isOneShot: true) { ByteStream([]) })
        for outcome in [Self.stale, Self.refused] {
            let chain = ChainUnderTest([outcome, .success(.sample())])
            let request = try request(.put)
            let context = chain.context(for: request, body: body)
            _ = await chain.run(request, in: context, through: chain.pipeline(configured: policy))
            #expect(chain.sent.count == 1)
        }
    }

    @Test func anEarlierRefusalDoesNotMakeASentRequestRepeatable() async throws {
        let chain = ChainUnderTest([Self.refused, Self.lost, .success(.sample())])
        _ = await chain.run(try request(.post), through: chain.pipeline(configured: policy))
        #expect(chain.sent.count == 2)
    }

    // MARK: Budget and deciders

    @Test func aResendUsesNoBudget() async throws {
        let request = try request()
        let chain = ChainUnderTest([Self.stale, .success(.sample(503))])
        let context = chain.context(for: request)
        let budgets = context.call.environment.retryBudgets
        for _ in 0..<30 { #expect(budgets.takeRetry(of: context.host, at: 0)) }
        #expect(await chain.run(request, in: context, through: chain.pipeline(configured: policy)).status == 503)
        #expect(chain.sent.count == 2, "a retry has none")

        let free = ChainUnderTest([Self.stale, .success(.sample())])
        let other = free.context(for: request)
        _ = await free.run(request, in: other, through: free.pipeline(configured: policy))
        let granted = (0..<40).count { _ in other.call.environment.retryBudgets.takeRetry(of: other.host, at: 0) }
        #expect(granted == 30)
    }

    @Test func noDeciderIsAskedAboutAResend() async throws {
        struct Never: RetryPolicy.Decider {
            func delay(
                after failure: PulseError, attempt: Int, proposed: TimeInterval?, in context: PluginContext
            ) -> TimeInterval? { nil }
        }
        var declining = policy
        declining.decider = Never()
        for loop in [RetryLoop(declining), RetryLoop(policy) { _ in false }] {
            let chain = ChainUnderTest([Self.stale, .success(.sample(503))])
            #expect(await chain.run(try request(), through: chain.pipeline([loop])).status == 503)
            #expect(chain.sent.count == 2)
        }
    }

    @Test func aRequestIsNotResentAfterTheDeadline() async throws {
        let chain = ChainUnderTest([Self.stale, .success(.sample())])
        let request = try request()
        let context = chain.context(for: request, deadline: 0)
        let result = await chain.run(request, in: context, through: chain.pipeline(configured: policy))
        #expect(result.error?.isStaleConnection == true)
        #expect(chain.sent.count == 1)
    }

    // MARK: Plugins and events

    @Test func attemptPluginsRunForAResend() async throws {
        let trace = Trace()
        let chain = ChainUnderTest([Self.stale, .success(.sample())])
        let plugins = [ScriptedPlugin("call", .call, trace), ScriptedPlugin("attempt", .attempt, trace)]
        _ = await chain.run(try request(), through: chain.pipeline(plugins, configured: policy))
        #expect(trace.all.filter { $0 == "prepare attempt" }.count == 2)
        #expect(trace.all.filter { $0 == "prepare call" }.count == 1)
    }

    @Test func aResendEmitsTheEventsOfARetry() async throws {
        let chain = ChainUnderTest([Self.stale, .success(.sample(503)), .success(.sample())])
        _ = await chain.run(try request(), through: chain.pipeline(configured: policy))
        let events = chain.sink.events.compactMap { event -> String? in
            guard case .requestRetrying(let call, let error, let attempt) = event else { return nil }
            return "\(attempt) in \(call.retryDelay) after \(call.attempt) \(error.kind)"
        }
        #expect(events == ["2 in 0.0 after 1 transport", "3 in 1.0 after 2 http"])
    }

    @Test func exhaustionCountsResendsAsAttempts() async throws {
        var policy = policy(attempts: 2)
        policy.reportsExhaustion = true
        let chain = ChainUnderTest([Self.stale, Self.lost])
        let error = await chain.run(try request(), through: chain.pipeline(configured: policy)).error
        guard case .retryExhausted(let last, attempts: 3) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(!last.isStaleConnection)
    }
}
