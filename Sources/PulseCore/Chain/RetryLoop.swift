// SPDX-License-Identifier: MIT

/// Repeats what is further in, as a policy says. The one loop that the configuration's policy and the retry plugin use.
package struct RetryLoop: PulsePlugin {
    private let policy: RetryPolicy
    private let counts: @Sendable (PulseError) -> Bool

    /// - Parameter counts: which failures may pass; the policy's own judgement by default. It never lifts the rule on
    ///   methods and keys.
    package init(_ policy: RetryPolicy, counts: (@Sendable (PulseError) -> Bool)? = nil) {
        self.policy = policy
        self.counts = counts ?? { policy.counts($0) }
    }

    package var identifier: String { "com.pulse.retry" }
    package var scope: PluginScope { .retry }

    package func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        var attempt = 1
        while true {
            let result = await next.result(request, context: attempt == 1 ? context : context.with(attempt: attempt))
            guard let failure = failure(of: result, in: context) else {
                // Overcome: no later deadline is due to it.
                if attempt > 1 { context.call.lastFailure = nil }
                return try result.get()
            }
            if failure.kind != .deadlineExceeded, failure.kind != .cancelled { context.call.lastFailure = failure }
            switch decision(after: failure, attempt: attempt, of: context, request) {
            case .stop:
                return try result.get()
            case .giveUp:
                return try giveUp(result, failure, attempt: attempt, in: context)
            case .retry(let delay):
                (try? result.get())?.bytes?.cancel()
                context.emit(
                    .requestRetrying(
                        context.with(attempt: attempt).summary(retryDelay: delay), ErrorSummary(failure),
                        attempt: attempt + 1))
                try await context.clock.sleep(delay)
                attempt += 1
            }
        }
    }

    private enum Decision {
        /// Not a failure to retry, or not a request to repeat.
        case stop
        /// It would be retried, and must not be any more.
        case giveUp
        case retry(after: TimeInterval)
    }

    private func decision(
        after failure: PulseError, attempt: Int, of context: PluginContext, _ request: URLRequest
    ) -> Decision {
        // Whatever a judgement says: these are verdicts on the call, not on the attempt.
        guard failure.kind != .cancelled, failure.kind != .deadlineExceeded, counts(failure),
            mayRepeat(request, after: failure, in: context)
        else { return .stop }
        guard attempt < policy.maxAttempts else { return policy.maxAttempts > 1 ? .giveUp : .stop }
        let asked = failure.retryAfter(now: context.clock.now) ?? 0
        guard asked <= policy.maximumRetryAfter else { return .giveUp }
        let own = policy.backoffStrategy.delay(beforeRetry: attempt, randomness: context.randomness)
        let delay = max(asked, own)
        if let deadline = context.deadline, context.clock.uptime + delay >= deadline { return .giveUp }
        return .retry(after: delay)
    }

    /// The rule that no policy lifts by accident: idempotent, or keyed, or nothing was sent (RFC 9110, section 9.2.2).
    private func mayRepeat(_ request: URLRequest, after failure: PulseError, in context: PluginContext) -> Bool {
        guard context.body.isReplayable else { return false }
        // A plugin may have changed the method since the client built the request.
        let isIdempotent = context.method.isIdempotent && request.isIdempotent
        return isIdempotent || policy.retriesUnsafeMethods || failure.phase == .beforeSend
            || context.idempotencyKey != nil || request.value(forHTTPHeaderField: "Idempotency-Key") != nil
    }

    private func failure(of result: Result<PulseResponse, PulseError>, in context: PluginContext) -> PulseError? {
        switch result {
        case .failure(let error):
            return error
        case .success(let response):
            let accepted = context.call.options.acceptedStatuses ?? .successful
            guard !accepted.contains(response.statusCode), !context.willFollow(response) else { return nil }
            return PulseError(validating: response, accepted: accepted, now: context.clock.now)
        }
    }

    private func giveUp(
        _ result: Result<PulseResponse, PulseError>, _ failure: PulseError, attempt: Int, in context: PluginContext
    ) throws -> PulseResponse {
        context.emit(.retryGivenUp(context.with(attempt: attempt).summary, ErrorSummary(failure)))
        guard policy.reportsExhaustion, attempt >= policy.maxAttempts else { return try result.get() }
        (try? result.get())?.bytes?.cancel()
        throw PulseError.retryExhausted(last: failure, attempts: attempt)
    }
}

extension URLRequest {
    package var isIdempotent: Bool {
        HTTPMethod(rawValue: httpMethod ?? "GET")?.isIdempotent ?? false
    }
}
