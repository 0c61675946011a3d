// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

/// A request whose server responded with 421 is resent once over another connection (RFC 9110, section 15.5.20).
@Suite(.throttled)
struct RetryLoopMisdirectedTests {
    private typealias Outcome = ChainUnderTest.Outcome

    private static let misdirected = Outcome.success(.sample(421))
    private static let stale = Outcome.failure(
        TransportFailure(code: .networkConnectionLost, phase: .maybeSent, isStaleConnection: true))

    /// Waits of 1, 2, 4 … seconds.
    private let policy = RetryPolicy(backoffStrategy: .exponential(base: 1, maxDelay: 64))

    // MARK: How often

    /// The transport's outcomes, the waits, the last status, and the attempts: `+` follows a stale connection, `*` a
    /// 421.
    @Test(
        arguments: [
            ([misdirected, .success(.sample())], [], 200, "-*"),
            // Once for each request: the second one is the response.
            ([misdirected], [], 421, "-*"),
            ([stale, misdirected, .success(.sample())], [], 200, "-+*"),
            // It does not count as an attempt of the policy, which does not repeat it either.
            ([misdirected, .success(.sample(503))], [1, 2], 503, "-*--"),
            ([misdirected, .success(.sample(503)), misdirected], [1], 421, "-*-"),
            ([.success(.sample(503)), misdirected, .success(.sample())], [1], 200, "--*"),
        ] as [([Outcome], [TimeInterval], Int, String)])
    private func aMisdirectedRequestIsResentOnce(
        outcomes: [Outcome], waits: [TimeInterval], status: Int, attempts: String
    ) async throws {
        let chain = ChainUnderTest(outcomes)
        let result = await chain.run(try request(), through: chain.pipeline(configured: policy))
        #expect(result.status == status)
        let seen = chain.sent.map { sent in
            switch sent.context.resend {
            case nil: "-"
            case .staleConnection?: "+"
            case .misdirected?: "*"
            }
        }
        #expect(seen.joined() == attempts)
        #expect(chain.clock.sleeps == waits)
        #expect(chain.sent.map(\.context.attempt) == Array(1...attempts.count))
    }

    @Test func aPolicyOfOneAttemptSendsAMisdirectedRequestOnce() async throws {
        for once in [RetryPolicy.never, RetryPolicy(maxAttempts: 1)] {
            let chain = ChainUnderTest([Self.misdirected, .success(.sample())])
            let result = await chain.run(try request(), through: chain.pipeline(configured: once))
            #expect(result.status == 421)
            #expect(chain.sent.count == 1 && chain.sink.events.isEmpty)
        }
    }

    @Test func aMisdirectedRequestIsNotResentAfterTheDeadline() async throws {
        let chain = ChainUnderTest([Self.misdirected, .success(.sample())])
        let request = try request()
        let context = chain.context(for: request, deadline: 0)
        #expect(await chain.run(request, in: context, through: chain.pipeline(configured: policy)).status == 421)
        #expect(chain.sent.count == 1)
    }

    // MARK: Which requests

    /// The server has not processed it.
    @Test(arguments: [HTTPMethod.get, .head, .put, .delete, .options, .trace, .query, .post, .patch])
    func aMisdirectedRequestIsResentWhateverItsMethod(method: HTTPMethod) async throws {
        let chain = ChainUnderTest([Self.misdirected, .success(.sample())])
        #expect(await chain.run(try request(method), through: chain.pipeline(configured: policy)).status == 200)
        #expect(chain.sent.count == 2)
    }

    /// The 421 says nothing of the second attempt.
    @Test func aPOSTThatFailsAfterA421IsNotRepeated() async throws {
        let lost = Outcome.failure(TransportFailure(code: .networkConnectionLost, phase: .maybeSent))
        for second in [lost, .success(.sample(503))] {
            let chain = ChainUnderTest([Self.misdirected, second, .success(.sample())])
            _ = await chain.run(try request(.post), through: chain.pipeline(configured: policy))
            #expect(chain.sent.count == 2)
        }
    }

    @Test(arguments: [true, false])
    func aMisdirectedBodyIsResentUnlessItIsOneShot(isOneShot: Bool) async throws {
        let body = PluginContext.Body.stream(RequestBody.Stream(length: nil, isOneShot: isOneShot) { ByteStream([]) })
        let chain = ChainUnderTest([Self.misdirected, .success(.sample())])
        let request = try request(.put)
        let context = chain.context(for: request, body: body)
        let result = await chain.run(request, in: context, through: chain.pipeline(configured: policy))
        #expect(result.status == (isOneShot ? 421 : 200))
        #expect(chain.sent.count == (isOneShot ? 1 : 2))
    }

    @Test func anAccepted421IsNotResent() async throws {
        let chain = ChainUnderTest([Self.misdirected, .success(.sample())])
        let request = try request()
        let options = RequestOptions().with(\.acceptedStatuses, value: .successful(and: 421))
        let context = chain.context(for: request, options: options)
        #expect(await chain.run(request, in: context, through: chain.pipeline(configured: policy)).status == 421)
    }

    /// No connection gave it.
    @Test func aStored421IsNotResent() async throws {
        var stored = PulseResponse.sample(421)
        stored.origin = .cache
        let chain = ChainUnderTest([.success(stored), .success(.sample())])
        #expect(await chain.run(try request(), through: chain.pipeline(configured: policy)).status == 421)
    }

    // MARK: Budget, deciders and events

    @Test func aResendAfterA421UsesNoBudgetAndAsksNoDecider() async throws {
        let request = try request()
        let chain = ChainUnderTest([Self.misdirected, .success(.sample())])
        let context = chain.context(for: request)
        let budgets = context.call.environment.retryBudgets
        for _ in 0..<30 { #expect(budgets.takeRetry(of: context.host, at: 0)) }
        let loop = RetryLoop(policy) { _ in
            Issue.record("the resend was judged")
            return false
        }
        #expect(await chain.run(request, in: context, through: chain.pipeline([loop])).status == 200)
    }

    @Test func aResendAfterA421EmitsTheEventOfARetry() async throws {
        let chain = ChainUnderTest([Self.misdirected, .success(.sample())])
        _ = await chain.run(try request(.post), through: chain.pipeline(configured: policy))
        let events = chain.sink.events.compactMap { event -> String? in
            guard case .requestRetrying(let call, let error, let attempt) = event else { return nil }
            return "\(attempt) in \(call.retryDelay) after \(call.attempt) \(error.kind)"
        }
        #expect(events == ["2 in 0.0 after 1 http"])
    }
}
