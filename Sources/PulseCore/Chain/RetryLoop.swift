// SPDX-License-Identifier: MIT

/// The plugin that retries a request according to a policy. The configuration's policy and the retry plugin both use
/// it.
package final class RetryLoop: PulsePlugin, HookDeclaring {
    private let policy: RetryPolicy
    private let counts: @Sendable (PulseError) -> Bool

    /// Creates a loop that follows a policy.
    ///
    /// - Parameter counts: whether a failure may be temporary; by default the policy decides. It never lifts the rule
    ///   on methods and idempotency keys.
    package init(_ policy: RetryPolicy, counts: (@Sendable (PulseError) -> Bool)? = nil) {
        self.policy = policy
        self.counts = counts ?? { policy.counts($0) }
    }

    package var identifier: String { "com.pulse.retry" }
    package var scope: PluginScope { .retry }

    /// Whether a request is resent once after a stale connection or a 421: true for every policy that allows more than
    /// one attempt.
    private var resends: Bool { policy.maxAttempts > 1 }

    package func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        let call = context.call
        // The time of the call's start is already known, and close enough for its first hop.
        call.environment.retryBudgets.countCall(
            to: context.host, at: context.hop == 0 ? call.startUptime : call.environment.clock.uptime)
        let sentBefore = call.sentCount
        var course = Course()
        var context = context
        context.isResentIfStale = resends
        var attempt = context
        while true {
            let result = await next.result(request, context: attempt)
            guard let failure = failure(of: result, in: context) else {
                // The failure is overcome: it is not the cause of a later exceeded deadline.
                if course.attempt > 1 { call.record(.failure(nil)) }
                return try result.get()
            }
            if failure.kind != .deadlineExceeded, failure.kind != .cancelled { call.record(.failure(failure)) }
            let isUnsent = call.sentCount == sentBefore
            switch decision(after: failure, of: result, isUnsent: isUnsent, course, in: context, request) {
            case .stop:
                return try result.get()
            case .giveUp:
                return try giveUp(result, failure, course, in: context).get()
            case .resend(let reason):
                course.resends += 1
                course.resend = reason
                if reason == .misdirected { course.wasMisdirected = true }
                (try? result.get())?.discard()
                emitRetry(course.attempt + 1, after: failure, delay: 0, in: context)
            case .retry(let delay):
                course.resend = nil
                (try? result.get())?.discard()
                emitRetry(course.attempt + 1, after: failure, delay: delay, in: context)
                try await context.clock.sleep(delay, for: .backoff)
            case .reconnect(let monitor):
                course.resend = nil
                guard try await hasWaited(for: monitor, waits: course.waits, in: context) else {
                    return try giveUp(result, failure, course, in: context).get()
                }
                course.waits += 1
                emitRetry(course.attempt + 1, after: failure, delay: 0, in: context)
            }
            course.attempt += 1
            call.record(.failsForOtherWork(false))
            attempt = context.with(attempt: course.attempt, resend: course.resend)
        }
    }

    /// The attempts of a request so far.
    private struct Course {
        /// The number of the latest attempt, counted from 1.
        var attempt = 1
        /// The number of waits for a connection. The policy does not count the attempts that follow them.
        var waits = 0
        /// The number of resends, which the policy does not count either.
        var resends = 0
        /// Why the latest attempt is a resend; nil if it is none.
        var resend: PluginContext.Resend?
        /// Whether the request was resent after a 421.
        var wasMisdirected = false

        /// The attempts that the policy counts.
        var counted: Int { attempt - waits - resends }
    }

    private func emitRetry(
        _ attempt: Int, after failure: PulseError, delay: TimeInterval, in context: PluginContext
    ) {
        context.emit(
            .requestRetrying(
                context.with(attempt: attempt - 1).summary(retryDelay: delay), PulseError.Summary(failure),
                attempt: attempt))
    }

    private enum Decision {
        /// The failure is not retryable, or the request must not be resent.
        case stop
        /// The failure is retryable, but no further attempt is allowed.
        case giveUp
        /// The connection was stale or misdirected: the request is resent at once over another one.
        case resend(PluginContext.Resend)
        case retry(after: TimeInterval)
        /// The attempt is retried as soon as the monitor reports a network path.
        case reconnect(any ConnectivityMonitor)
    }

    /// Decides what to do after a failed attempt.
    ///
    /// - Parameters:
    ///   - isUnsent: whether no attempt so far has sent anything, by the sent count of the wire. An error is not proof.
    ///     An inner plugin may throw any error after a response. It may also throw an error that looks like a server's
    ///     before a request is sent, as a rate limit does.
    private func decision(
        after failure: PulseError, of result: Result<PulseResponse, PulseError>, isUnsent: Bool, _ course: Course,
        in context: PluginContext, _ request: URLRequest
    ) -> Decision {
        let safety = ReplaySafety(of: request, sent: context.call.sent, in: context)
        let isMisdirected = isMisdirected(result, course, in: context)
        guard isVerdictOnTheAttempt(failure, result),
            safety.allowsRepeat(isUnsent: isUnsent || isMisdirected, allowsUnsafe: policy.retriesUnsafeMethods)
        else { return .stop }
        if isMisdirected { return .resend(.misdirected) }
        if mayResend(after: failure, course, in: context) { return .resend(.staleConnection) }
        let attempt = course.counted
        if let monitor = monitor(after: failure, in: context) { return .reconnect(monitor) }
        if isForTheQueue(failure, in: context) { return .stop }
        guard let own = ownDelay(after: failure, attempt: attempt, in: context) else { return .stop }
        guard attempt < policy.maxAttempts else { return policy.maxAttempts > 1 ? .giveUp : .stop }
        let asked = failure.retryAfter(now: context.clock.now) ?? 0
        guard asked <= policy.maxRetryAfter else { return .giveUp }
        let delay = max(asked, own)
        let now = context.clock.uptime
        guard now + delay < context.deadline ?? .infinity,
            context.call.environment.retryBudgets.takeRetry(of: context.host, at: now)
        else { return .giveUp }
        return .retry(after: delay)
    }

    /// Whether the request is resent because its reused connection was stale. Such a failure says nothing against the
    /// server. So the loop does not wait, and does not use the retry budget, which protects a failing server. Each
    /// attempt of the policy gets one resend: a server that ends every connection does not get requests without end.
    private func mayResend(after failure: PulseError, _ course: Course, in context: PluginContext) -> Bool {
        resends && failure.isStaleConnection && course.resend == nil
            && context.clock.uptime < context.deadline ?? .infinity
    }

    /// Whether the request is resent because of a 421: the server does not process it on this connection, whatever its
    /// method, and may do so on another one (RFC 9110, section 15.5.20). Each request gets one such resend, on the same
    /// terms as one after a stale connection.
    private func isMisdirected(
        _ result: Result<PulseResponse, PulseError>, _ course: Course, in context: PluginContext
    ) -> Bool {
        resends && !course.wasMisdirected && (try? result.get())?.statusCode == 421
            && context.clock.uptime < context.deadline ?? .infinity
    }

    /// Whether the failure is a verdict on the attempt. Some failures are verdicts on the call, or do not come from a
    /// server, whatever the policy says. Then a retry cannot help.
    private func isVerdictOnTheAttempt(_ failure: PulseError, _ result: Result<PulseResponse, PulseError>) -> Bool {
        switch failure.kind {
        case .cancelled, .deadlineExceeded, .circuitOpen: false
        // A stored or generated response, such as the 504 for `only-if-cached`, will not change.
        default: (try? result.get())?.origin != .cache
        }
    }

    /// Whether the offline queue takes the call now, and sends it when there is a connection.
    private func isForTheQueue(_ failure: PulseError, in context: PluginContext) -> Bool {
        failure.kind == .noConnection && policy.decider == nil && context.call.lastStatus == nil
            && context.store[ImmediateQueueingKey.self] == true
    }

    /// The delay that the client wants, in seconds; nil if the failure does not count as temporary.
    private func ownDelay(after failure: PulseError, attempt: Int, in context: PluginContext) -> TimeInterval? {
        let proposed =
            counts(failure)
            ? policy.backoffStrategy.delay(beforeRetry: attempt, randomness: context.randomness) : nil
        guard let decider = policy.decider else { return proposed }
        let decided = decider.delay(after: failure, attempt: attempt, proposed: proposed, in: context)
        return decided.map { $0 > 0 ? $0 : 0 }
    }

    /// The failure that an outcome counts as, whether or not it will be retried; nil if it is not a failure.
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
        _ result: Result<PulseResponse, PulseError>, _ failure: PulseError, _ course: Course, in context: PluginContext
    ) -> Result<PulseResponse, PulseError> {
        context.emit(.retryGivenUp(context.with(attempt: course.attempt).summary, PulseError.Summary(failure)))
        guard policy.reportsExhaustion, course.counted >= policy.maxAttempts else { return result }
        (try? result.get())?.discard()
        return .failure(.retryExhausted(last: failure, attempts: course.attempt))
    }
}
