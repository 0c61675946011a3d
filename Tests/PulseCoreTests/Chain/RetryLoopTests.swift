// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct RetryLoopTests {
    private typealias Outcome = ChainUnderTest.Outcome

    /// Waits of 1, 2, 4 … 8 seconds.
    private let policy = RetryPolicy(backoffStrategy: .exponential(base: 1, maxDelay: 8))

    private func oneShot() -> PluginContext.Body {
        .stream(RequestBody.Stream(length: nil, isOneShot: true) { ByteStream([]) })
    }

    // MARK: Waits and attempts

    @Test
    func theWaitsBetweenAttemptsFollowThePolicy() async throws {
        let chain = ChainUnderTest(failing: PulseError.noConnection)
        var policy = policy
        policy.maxAttempts = 6
        #expect(
            await chain.run(try request(), through: chain.pipeline(configured: policy)).error?.kind == .noConnection)
        #expect(chain.clock.sleeps == [1, 2, 4, 8, 8])
        #expect(chain.sent.map(\.context.attempt) == [1, 2, 3, 4, 5, 6])
        #expect(chain.sent.map(\.context.wireAttempt) == [1, 2, 3, 4, 5, 6])
    }

    @Test
    func theDefaultPolicyTriesThreeTimesWithFullJitter() async throws {
        let chain = ChainUnderTest(failing: PulseError.noConnection)
        _ = await chain.run(try request(), through: chain.pipeline(configured: .default))
        #expect(chain.sent.count == 3)
        let waits = chain.clock.sleeps
        #expect(waits.count == 2)
        #expect(zip(waits, [0.25, 0.5]).allSatisfy { $0 >= 0 && $0 < $1 })
        let again = ChainUnderTest(failing: PulseError.noConnection)
        _ = await again.run(try request(), through: again.pipeline(configured: .default))
        #expect(again.clock.sleeps == waits, "jitter comes from the client's randomness")
    }

    @Test
    func theLoopStopsAtTheFirstSuccess() async throws {
        let chain = ChainUnderTest([.failure(PulseError.noConnection), .success(.sample(503)), .success(.sample(204))])
        var policy = policy
        policy.maxAttempts = 9
        #expect(await chain.run(try request(), through: chain.pipeline(configured: policy)).status == 204)
        #expect(chain.clock.sleeps == [1, 2])
    }

    @Test(arguments: [1, 0, -3, Int.min])
    func lessThanTwoAttemptsAreOne(maxAttempts: Int) async throws {
        let chain = ChainUnderTest(failing: PulseError.noConnection)
        var policy = policy
        policy.maxAttempts = maxAttempts
        policy.reportsExhaustion = true
        #expect(
            await chain.run(try request(), through: chain.pipeline(configured: policy)).error?.kind == .noConnection)
        #expect(chain.sent.count == 1)
        #expect(chain.sink.events.isEmpty)
    }

    // MARK: What is repeated

    @Test(arguments: SampleErrors.all)
    func onlyTransientFailuresAreRetried(sample: SampleErrors.Sample) async throws {
        for method in [HTTPMethod.get, .head, .put, .delete, .options, .trace, .query, .post, .patch, .connect] {
            let chain = ChainUnderTest(failing: sample.error)
            let result = await chain.run(try request(method), through: chain.pipeline(configured: policy))
            #expect(result.error?.kind == sample.kind)
            // An unsent request may be repeated whatever its method.
            let isRepeated = sample.isRetryable && (method.isIdempotent || sample.phase == .beforeSend)
            #expect(chain.sent.count == (isRepeated ? 3 : 1), "\(method)")
        }
    }

    @Test
    func onlyTransientStatusesAreRetried() async throws {
        let retryable: Set<Int> = [408, 425, 429, 500, 502, 503, 504]
        for status in [100, 200, 204, 301, 304, 400, 401, 403, 404, 409, 501, 505, 599] + Array(retryable) {
            for method in [HTTPMethod.get, .post] {
                let chain = ChainUnderTest([.success(.sample(status))])
                let result = await chain.run(try request(method), through: chain.pipeline(configured: policy))
                #expect(result.status == status, "a status stays a response inside the chain")
                let isRepeated = retryable.contains(status) && method == .get
                #expect(chain.sent.count == (isRepeated ? 3 : 1), "\(status) \(method)")
            }
        }
    }

    @Test
    func anIdempotencyKeyMakesAnyMethodRepeatable() async throws {
        for method in [HTTPMethod.post, .patch] {
            let header = ChainUnderTest([.success(.sample(503))])
            let keyed = try request(method, headers: ["idempotency-key": "k"])
            _ = await header.run(keyed, through: header.pipeline(configured: policy))
            #expect(header.sent.count == 3)

            // A key that only the call knows, or an empty one, does not reach the server.
            let stored = ChainUnderTest([.success(.sample(503))])
            let plain = try request(method)
            let context = stored.context(for: plain)
            context.idempotencyKey = "k"
            _ = await stored.run(plain, in: context, through: stored.pipeline(configured: policy))
            #expect(stored.sent.count == 1)

            let empty = ChainUnderTest([.success(.sample(503))])
            let blank = try request(method, headers: ["Idempotency-Key": ""])
            _ = await empty.run(blank, through: empty.pipeline(configured: policy))
            #expect(empty.sent.count == 1)
        }
    }

    /// An error tells where it occurred, not whether the request was sent before.
    @Test(arguments: [false, true])
    func aPluginErrorAfterAResponseDoesNotMakeTheRequestUnsent(isDetached: Bool) async throws {
        for method in [HTTPMethod.post, .get] {
            let chain = ChainUnderTest([.success(.sample(201))])
            let plugin = ThrowsAfterTheResponse(isDetached: isDetached)
            let result = await chain.run(
                try request(method), through: chain.pipeline([plugin], configured: policy))
            #expect(result.error?.kind == .noConnection)
            #expect(chain.sent.count == (method == .post ? 1 : 3), "\(method)")
        }
    }

    @Test
    func anUnsentRequestIsRetriedUntilItWasSent() async throws {
        let lost = PulseError.transport(
            .networkConnectionLost, underlying: TransportFailure(code: .networkConnectionLost, phase: .maybeSent))
        let chain = ChainUnderTest([
            .failure(PulseError.noConnection), .failure(PulseError.noConnection), .failure(lost),
            .failure(PulseError.noConnection),
        ])
        var policy = policy
        policy.maxAttempts = 9
        _ = await chain.run(try request(.post), through: chain.pipeline(configured: policy))
        #expect(chain.sent.count == 3)
    }

    @Test
    func aPluginsRefusalBeforeSendingIsRetried() async throws {
        let chain = ChainUnderTest([.success(.sample(201))])
        let result = await chain.run(
            try request(.post), through: chain.pipeline([RefusesOnce()], configured: policy))
        #expect(result.status == 201)
        #expect(chain.sent.count == 1)
    }

    /// As in a replay after a 401 or a redirect: the loop considers only what its own attempts have sent.
    @Test
    func requestsSentBeforeTheLoopDoNotCount() async throws {
        let chain = ChainUnderTest([.success(.sample(401)), .failure(PulseError.noConnection), .success(.sample(201))])
        let result = await chain.run(
            try request(.post), through: chain.pipeline([ReplaysOnce()], configured: policy))
        #expect(result.status == 201)
        #expect(chain.sent.count == 3)
    }

    @Test
    func retriesUnsafeMethodsAllowsAnyMethod() async throws {
        var policy = policy
        policy.retriesUnsafeMethods = true
        let chain = ChainUnderTest([.success(.sample(503))])
        _ = await chain.run(try request(.post), through: chain.pipeline(configured: policy))
        #expect(chain.sent.count == 3)
    }

    @Test
    func aMethodChangedByAPluginCounts() async throws {
        let chain = ChainUnderTest([.success(.sample(503))])
        let rewriting = ScriptedPlugin("a", .call).with(\.preparing) { request, _ in request.httpMethod = "POST" }
        _ = await chain.run(try request(.get), through: chain.pipeline([rewriting], configured: policy))
        #expect(chain.sent.count == 1)
    }

    @Test
    func aOneShotBodyIsSentOnce() async throws {
        for error in [PulseError.noConnection, .timeout(try request())] {
            for method in [HTTPMethod.put, .post] {
                let chain = ChainUnderTest(failing: error)
                let request = try request(method, headers: ["Idempotency-Key": "k"])
                let context = chain.context(for: request, body: oneShot())
                _ = await chain.run(request, in: context, through: chain.pipeline(configured: policy))
                #expect(chain.sent.count == 1)
            }
        }
        let chain = ChainUnderTest(failing: PulseError.noConnection)
        let request = try request(.put)
        let replayable = PluginContext.Body.stream(RequestBody.Stream(length: nil) { ByteStream([]) })
        _ = await chain.run(
            request, in: chain.context(for: request, body: replayable), through: chain.pipeline(configured: policy))
        #expect(chain.sent.count == 3)
    }

    @Test
    func anAcceptedStatusIsNotRetried() async throws {
        let chain = ChainUnderTest([.success(.sample(503))])
        let request = try request()
        let options = RequestOptions().with(\.acceptedStatuses, value: .successful(and: 503))
        let context = chain.context(for: request, options: options)
        _ = await chain.run(request, in: context, through: chain.pipeline(configured: policy))
        #expect(chain.sent.count == 1)
    }

    @Test
    func aFollowedRedirectIsNotRetried() async throws {
        var policy = policy
        policy.retryableStatusCodes = [302]
        for (redirects, count) in [(RedirectPolicy.default, 1), (.refuse, 3)] {
            let chain = ChainUnderTest([.success(.sample(302, headers: ["Location": "/next"]))])
            let request = try request()
            let context = chain.context(
                for: request, options: RequestOptions().with(\.redirectPolicy, value: redirects))
            _ = await chain.run(request, in: context, through: chain.pipeline(configured: policy))
            #expect(chain.sent.count == count)
            #expect(chain.sink.events.isEmpty == (count == 1))
        }
    }

    // MARK: A custom rule

    private struct Loop: PulsePlugin {
        let loop: RetryLoop
        let identifier = "loop"
        let scope = PluginScope.retry

        func intercept(
            _ request: URLRequest, for context: PluginContext, next: PluginChain
        ) async throws -> PulseResponse {
            try await loop.intercept(request, for: context, next: next)
        }
    }

    private func count(
        _ error: PulseError, _ method: HTTPMethod = .get, countingIf counts: @escaping @Sendable (PulseError) -> Bool
    ) async throws -> Int {
        let chain = ChainUnderTest(failing: error)
        let pipeline = chain.pipeline([Loop(loop: RetryLoop(policy, counts: counts))])
        _ = await chain.run(try request(method), through: pipeline)
        return chain.sent.count
    }

    @Test
    func aCustomRuleDecidesOnlyWhichErrorsCount() async throws {
        let notFound = PulseError.http(.sample(404))
        #expect(try await count(notFound) { _ in true } == 3)
        #expect(try await count(.noConnection) { _ in false } == 1)
        #expect(try await count(notFound, .post) { _ in true } == 1)
        #expect(try await count(.cancelled) { _ in true } == 1)
        #expect(try await count(.deadlineExceeded(last: nil)) { _ in true } == 1)
        #expect(try await count(.noConnection) { $0.isRetryable } == 3)
    }

    // MARK: Retry-After

    @Test(
        arguments: [
            ("10", [10, 10]), ("1", [1, 2]), ("0", [1, 2]), ("1.5", [1, 2]), ("60", [60, 60]), ("61", []),
            ("99999999999999999999", []),
            ("Thu, 01 Jan 2026 00:00:30 GMT", [30, 2]), ("Thu, 01 Jan 2026 01:00:00 GMT", []), ("soon", [1, 2]),
        ] as [(String, [TimeInterval])])
    func theWaitIsTheLongerOfRetryAfterAndBackoff(header: String, waits: [TimeInterval]) async throws {
        for status in [429, 503] {
            let chain = ChainUnderTest([.success(.sample(status, headers: ["Retry-After": header]))])
            let result = await chain.run(try request(), through: chain.pipeline(configured: policy))
            #expect(result.status == status)
            #expect(chain.clock.sleeps == waits)
            #expect(chain.sent.count == waits.count + 1)
        }
    }

    @Test
    func aRateLimitReportedByAPluginIsWaitedFor() async throws {
        let chain = ChainUnderTest(failing: PulseError.rateLimited(retryAfter: 7))
        _ = await chain.run(try request(), through: chain.pipeline(configured: policy))
        #expect(chain.clock.sleeps == [7, 7])
    }

    @Test
    func thePolicyCapsRetryAfter() async throws {
        var policy = policy
        policy.maxRetryAfter = 5
        let chain = ChainUnderTest([.success(.sample(503, headers: ["Retry-After": "6"]))])
        _ = await chain.run(try request(), through: chain.pipeline(configured: policy))
        #expect(chain.clock.sleeps.isEmpty)
        #expect(chain.sink.summaries == ["given up 1 http"])
    }

    // MARK: The deadline

    @Test(arguments: [(0.5, []), (1, []), (1.5, [1.0]), (3, [1]), (3.5, [1, 2])] as [(TimeInterval, [TimeInterval])])
    func theLoopNeverSleepsPastTheDeadline(deadline: TimeInterval, waits: [TimeInterval]) async throws {
        let chain = ChainUnderTest(failing: PulseError.noConnection)
        let request = try request()
        let context = chain.context(for: request, deadline: deadline)
        let result = await chain.run(request, in: context, through: chain.pipeline(configured: policy))
        #expect(result.error?.kind == .noConnection, "the last error itself")
        #expect(chain.clock.sleeps == waits)
    }

    @Test
    func aRetryAfterBeyondTheDeadlineIsNotWaitedFor() async throws {
        let chain = ChainUnderTest([.success(.sample(503, headers: ["Retry-After": "20"]))])
        let request = try request()
        let context = chain.context(for: request, deadline: 20)
        #expect(await chain.run(request, in: context, through: chain.pipeline(configured: policy)).status == 503)
        #expect(chain.clock.sleeps.isEmpty)
        #expect(chain.sent.count == 1)
    }

    @Test
    func theDeadlineErrorCarriesThePreviousFailure() async throws {
        let chain = ChainUnderTest([.success(.sample(503)), .failure(PulseError.deadlineExceeded(last: nil))])
        let request = try request()
        let context = chain.context(for: request, deadline: 9)
        let result = await chain.run(request, in: context, through: chain.pipeline(configured: policy))
        #expect(result.error?.kind == .deadlineExceeded)
        #expect(context.call.lastFailure?.statusCode == 503)
    }

    // MARK: The end

    @Test
    func exhaustionIsReportedOnlyIfConfigured() async throws {
        var policy = policy
        policy.reportsExhaustion = true
        let chain = ChainUnderTest([.success(.sample(503))])
        let error = await chain.run(try request(), through: chain.pipeline(configured: policy)).error
        guard case .retryExhausted(.http(let response), attempts: 3) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(response.statusCode == 503)
        for (failure, method) in [(PulseError.emptyBody, HTTPMethod.get), (.timeout(try request()), .post)] {
            let chain = ChainUnderTest(failing: failure)
            let result = await chain.run(try request(method), through: chain.pipeline(configured: policy))
            #expect(result.error?.kind == failure.kind, "nothing was exhausted")
        }
    }

    @Test
    func aStreamedResponseIsFreedBeforeTheNextAttempt() async throws {
        let streams = (0..<3).map { _ in ByteStream([Data("x".utf8)]) }
        let ended = Locked<[Int]>([])
        for (index, stream) in streams.enumerated() { stream.onEnd { _ in ended.withLock { $0.append(index) } } }
        let chain = ChainUnderTest(streams.map { .success(.sample(503, bytes: $0)) })
        let result = await chain.run(try request(), through: chain.pipeline(configured: policy))
        #expect(ended.withLock { $0 } == [0, 1])
        #expect((try? result.get())?.bytes === streams[2], "the last one is the caller's")
    }

    @Test
    func aCancellationEndsTheBackoff() async throws {
        let clock = TestClock()
        let chain = ChainUnderTest([.success(.sample(503))], clock: clock)
        let request = try request()
        let task = Task { await chain.run(request, through: chain.pipeline(configured: policy)) }
        await clock.sleepers(atLeast: 1)
        task.cancel()
        #expect(await task.value.error?.kind == .cancelled)
        #expect(chain.sent.count == 1)
    }

    // MARK: Events

    @Test
    func retryEventsHaveTheNextAttemptAndItsDelay() async throws {
        let chain = ChainUnderTest(failing: PulseError.noConnection)
        _ = await chain.run(try request(), through: chain.pipeline(configured: policy))
        #expect(
            chain.sink.summaries == [
                "retry 2 in 1.0 after 1 noConnection", "retry 3 in 2.0 after 2 noConnection", "given up 3 noConnection",
            ])
    }

    @Test
    func aFailureThatIsNotRetriedEmitsNoRetryEvent() async throws {
        for (error, method) in [(PulseError.emptyBody, HTTPMethod.get), (.timeout(try request()), .post)] {
            let chain = ChainUnderTest(failing: error)
            _ = await chain.run(try request(method), through: chain.pipeline(configured: policy))
            #expect(chain.sink.events.isEmpty)
        }
    }
}

extension RecordingSink {
    fileprivate var summaries: [String] {
        events.map { event in
            switch event {
            case .requestRetrying(let call, let error, let attempt):
                "retry \(attempt) in \(call.retryDelay) after \(call.attempt) \(error.kind)"
            case .retryGivenUp(let call, let error): "given up \(call.attempt) \(error.kind)"
            default: "\(event)"
            }
        }
    }
}

private struct ThrowsAfterTheResponse: PulsePlugin {
    let isDetached: Bool
    var identifier: String { "thrower" }
    var scope: PluginScope { .attempt }

    func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        _ = try await isDetached ? next.detached()(request) : next(request)
        throw PulseError.noConnection
    }
}

/// Refuses like a rate limiter, with the error of a server.
private struct RefusesOnce: PulsePlugin {
    var identifier: String { "refuses" }
    var scope: PluginScope { .attempt }

    func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        guard context.attempt > 1 else { throw PulseError.rateLimited(retryAfter: 1) }
        return try await next(request)
    }
}

private struct ReplaysOnce: PulsePlugin {
    var identifier: String { "replays" }
    var scope: PluginScope { .call }

    func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        let first = try await next(request)
        return first.statusCode == 401 ? try await next(request) : first
    }
}
