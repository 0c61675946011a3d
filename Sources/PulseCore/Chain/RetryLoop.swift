// SPDX-License-Identifier: MIT

/// Repeats what is further in, as a policy says. The one loop that the configuration's policy and the retry plugin use.
package final class RetryLoop: PulsePlugin, EndsWithItsCall, TellsItsHooks {
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
        let departed = Self.countCall(in: context)
        let result = await next.result(request, context: context)
        guard let failure = failure(of: result, in: context) else { return try result.get() }
        return try await goOn(after: result, failure, departed: departed, request, for: context, next: next).get()
    }

    /// The call is one of those that the budget's share is taken of. Gives what had left before its first attempt.
    // Not inlined: its temporaries would take room in the frame of each link.
    @inline(never)
    static func countCall(in context: PluginContext) -> Int {
        let call = context.call
        // The time of the call's start is known, and near enough for its first hop.
        call.environment.retryBudgets.countCall(
            to: context.host, at: context.hop == 0 ? call.startUptime : call.environment.clock.uptime)
        return call.departures
    }

    /// What follows a first attempt that failed: most calls never get here, nor pay for the room that it takes.
    ///
    /// - Parameter departed: the call's departures before that attempt.
    func goOn(
        after result: Result<PulseResponse, PulseError>, _ failure: PulseError, departed: Int, _ request: URLRequest,
        for context: PluginContext, next: PluginChain
    ) async -> Result<PulseResponse, PulseError> {
        // Waits for a connection, whose attempts the policy does not count.
        var waits = 0
        var (result, failure, attempt) = (result, failure, 1)
        while true {
            if failure.kind != .deadlineExceeded, failure.kind != .cancelled { context.call.lastFailure = failure }
            do {
                let isUnsent = context.call.departures == departed
                switch decision(
                    after: failure, of: result, isUnsent: isUnsent, attempt: attempt - waits, in: context, request)
                {
                case .stop:
                    return result
                case .giveUp:
                    return giveUp(result, failure, attempt: attempt, tries: attempt - waits, in: context)
                case .retry(let delay):
                    (try? result.get())?.bytes?.cancel()
                    emitRetry(attempt + 1, after: failure, delay: delay, in: context)
                    try await context.call.sleep(delay)
                case .reconnect(let monitor):
                    guard try await hasWaited(for: monitor, waits: waits, in: context) else {
                        return giveUp(result, failure, attempt: attempt, tries: attempt - waits, in: context)
                    }
                    waits += 1
                    emitRetry(attempt + 1, after: failure, delay: 0, in: context)
                }
            } catch {
                return .failure(PulseError(wrapping: error, request: request))
            }
            attempt += 1
            result = await next.result(request, context: context.with(attempt: attempt))
            guard let another = self.failure(of: result, in: context) else {
                // Overcome: no later deadline is due to it.
                context.call.lastFailure = nil
                return result
            }
            failure = another
        }
    }

    private func emitRetry(
        _ attempt: Int, after failure: PulseError, delay: TimeInterval, in context: PluginContext
    ) {
        context.emit(
            .requestRetrying(
                context.with(attempt: attempt - 1).summary(retryDelay: delay), ErrorSummary(failure), attempt: attempt))
    }

    private enum Decision {
        /// Not a failure to retry, or not a request to repeat.
        case stop
        /// It would be retried, and must not be any more.
        case giveUp
        case retry(after: TimeInterval)
        /// As soon as that monitor shows a way.
        case reconnect(any ConnectivityMonitor)
    }

    /// - Parameters:
    ///   - isUnsent: No attempt so far has sent anything, by the count of the wire: an error proves nothing, since a plugin
    ///     further in may throw any after an answer, and before one what looks like a server's, as a limit does.
    ///   - attempt: of those that the policy counts.
    private func decision(
        after failure: PulseError, of result: Result<PulseResponse, PulseError>, isUnsent: Bool, attempt: Int,
        in context: PluginContext, _ request: URLRequest
    ) -> Decision {
        guard isVerdictOnTheAttempt(failure, result), mayRepeat(request, isUnsent: isUnsent, in: context) else {
            return .stop
        }
        if let monitor = monitor(after: failure, in: context) { return .reconnect(monitor) }
        guard let own = ownDelay(after: failure, attempt: attempt, in: context) else { return .stop }
        guard attempt < policy.maxAttempts else { return policy.maxAttempts > 1 ? .giveUp : .stop }
        let asked = failure.retryAfter(now: context.clock.now) ?? 0
        guard asked <= policy.maximumRetryAfter else { return .giveUp }
        let delay = max(asked, own)
        let now = context.clock.uptime
        guard now + delay < context.deadline ?? .infinity,
            context.call.environment.retryBudgets.takeRetry(of: context.host, at: now)
        else { return .giveUp }
        return .retry(after: delay)
    }

    /// Some are verdicts on the call, or none of the server's, whatever a judgement says: there is nothing to try again.
    private func isVerdictOnTheAttempt(_ failure: PulseError, _ result: Result<PulseResponse, PulseError>) -> Bool {
        switch failure.kind {
        case .cancelled, .deadlineExceeded, .circuitOpen: false
        // A stored or made answer, such as the 504 to `only-if-cached`, stays what it is.
        default: (try? result.get())?.origin != .cache
        }
    }

    /// Seconds that this side wants to wait, or nil if the failure does not count as one that may pass.
    private func ownDelay(after failure: PulseError, attempt: Int, in context: PluginContext) -> TimeInterval? {
        let proposed =
            counts(failure)
            ? policy.backoffStrategy.delay(beforeRetry: attempt, randomness: context.randomness) : nil
        guard let decider = policy.decider else { return proposed }
        let decided = decider.delay(after: failure, attempt: attempt, proposed: proposed, in: context)
        return decided.map { $0 > 0 ? $0 : 0 }
    }

    /// The rule that no policy lifts by accident: idempotent, or keyed, or nothing was sent (RFC 9110, section 9.2.2).
    private func mayRepeat(_ request: URLRequest, isUnsent: Bool, in context: PluginContext) -> Bool {
        guard context.body.isReplayable else { return false }
        // A plugin may have changed the method since the client built the request.
        let isIdempotent = context.method.isIdempotent && request.isIdempotent
        return isIdempotent || policy.retriesUnsafeMethods || isUnsent || request.hasIdempotencyKey
    }

    /// Why an outcome counts as failed, whether or not it will be retried; nil if it does not.
    func failure(of result: Result<PulseResponse, PulseError>, in context: PluginContext) -> PulseError? {
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
        _ result: Result<PulseResponse, PulseError>, _ failure: PulseError, attempt: Int, tries: Int,
        in context: PluginContext
    ) -> Result<PulseResponse, PulseError> {
        context.emit(.retryGivenUp(context.with(attempt: attempt).summary, ErrorSummary(failure)))
        guard policy.reportsExhaustion, tries >= policy.maxAttempts else { return result }
        (try? result.get())?.bytes?.cancel()
        return .failure(.retryExhausted(last: failure, attempts: attempt))
    }
}

extension URLRequest {
    package var isIdempotent: Bool {
        HTTPMethod(rawValue: httpMethod ?? "GET")?.isIdempotent ?? false
    }

    /// A server that knows the header does the work once. What only the call knows of, and no header says, protects nothing;
    /// nor does an empty one.
    package var hasIdempotencyKey: Bool {
        !(header("Idempotency-Key") ?? "").isEmpty
    }
}
