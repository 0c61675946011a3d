// SPDX-License-Identifier: MIT

public import PulseCore

/// Lets validators judge each response before outer plugins see it. A validator can accept the response, fail, replace
/// it, resend the request, or run a recovery and then resend it.
///
/// ```swift
/// let faults = Validator.errorBody(Fault.self) { $0.code == 0 ? nil : $0 }
/// let client = PulseClient(configuration: configuration, plugins: [.validator(faults)])
/// ```
///
/// Validators run in order. They see responses of every status; network errors, and redirects that the client will
/// follow, pass unchanged. An attempt resends its request at most `maxRepeats` times.
///
/// A server that has responded may have performed the request, so a resend follows the rule of every retry (RFC 9110,
/// section 9.2.2). The method must be idempotent, or the call must have an `Idempotency-Key`; and the body must be
/// replayable. A validator can lift the first condition with `retriesUnsafeMethods`, but never the second. The
/// verdict's own error is thrown if a resend is not allowed, if its delay would pass the deadline, or if the host's
/// retry budget is exhausted. A resend after a recovery takes nothing from the budget.
public struct ValidatorPlugin: PulsePlugin {
    private let validators: [Validator]
    private let maxRepeats: Int
    let recoverer: Recoverer

    public var identifier: String { "com.pulse.validator" }

    /// Creates a plugin with the given validators.
    ///
    /// - Parameter maxRepeats: the maximum number of resends within one attempt, for all validators together; 2 by
    ///   default.
    /// - Parameter recoveryTimeout: seconds after which a ``Validator/Recovery`` is cancelled and the waiting calls
    ///   fail with a timeout; 30 by default, and for anything but a positive number. While work that ignores its
    ///   cancellation continues, no other work with its name starts: a call that waits for it gets the full timeout
    ///   again.
    public init(_ validators: [Validator], maxRepeats: Int = 2, recoveryTimeout: TimeInterval = 30) {
        self.validators = validators
        self.maxRepeats = max(0, maxRepeats)
        recoverer = Recoverer(timeout: recoveryTimeout)
    }

    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        guard !recoverer.isWorking else { return try await next(request) }
        let sentAt = recoverer.time
        switch try judge(await next(request), in: context) {
        case .response(let response):
            return response
        case .resend(let demand):
            return try await resend(demand, sentAt: sentAt, request, in: context, next: next)
        }
    }

    /// Cancels the recoveries that no call waits for. Other recoveries continue; their calls may belong to another
    /// client. The plugin stays usable.
    public func shutdown() async {
        await recoverer.shutdown()
    }

    // MARK: Judging

    private enum Judgement {
        case response(PulseResponse)
        case resend(Resend)
    }

    /// A validator's demand to resend the request.
    private struct Resend {
        let kind: Kind
        let retriesUnsafeMethods: Bool
        let otherwise: any Error

        enum Kind {
            case wait(BackoffStrategy)
            case recovery(Validator.Recovery)
        }
    }

    private func judge(_ response: PulseResponse, in context: PluginContext) throws -> Judgement {
        guard !context.willFollow(response) else { return .response(response) }
        var response = response
        do {
            for validator in validators {
                switch try validator.judge(response.request, response, context) {
                case .accept:
                    break
                case .fail(let error):
                    throw error
                case .replace(let other):
                    response.discard(replacedBy: other)
                    response = other
                case .retry(let strategy, let retriesUnsafeMethods, let otherwise):
                    response.discard()
                    return .resend(
                        Resend(kind: .wait(strategy), retriesUnsafeMethods: retriesUnsafeMethods, otherwise: otherwise))
                case .recover(let recovery, let retriesUnsafeMethods, let otherwise):
                    response.discard()
                    return .resend(
                        Resend(
                            kind: .recovery(recovery), retriesUnsafeMethods: retriesUnsafeMethods, otherwise: otherwise)
                    )
                }
            }
        } catch {
            response.discard()
            throw error
        }
        return .response(response)
    }

    // MARK: Resending

    private func resend(
        _ demand: Resend, sentAt: UInt64, _ request: URLRequest, in context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        var (demand, sentAt) = (demand, sentAt)
        for number in 0..<maxRepeats {
            guard mayRepeat(request, demand, in: context) else { break }
            try await prepare(demand, number, sentAt: sentAt, in: context, next: next)
            sentAt = recoverer.time
            let again = context.with(attempt: context.attempt)
            switch try judge(await next(request, context: again), in: again) {
            case .response(let response): return response
            case .resend(let another): demand = another
            }
        }
        throw demand.otherwise
    }

    private func prepare(
        _ demand: Resend, _ number: Int, sentAt: UInt64, in context: PluginContext, next: PluginChain
    ) async throws {
        var delay: TimeInterval = 0
        if case .wait(let strategy) = demand.kind {
            delay = strategy.delay(beforeRetry: number + 1, randomness: context.randomness)
            let now = context.clock.uptime
            guard now + delay < context.deadline ?? .infinity,
                context.call.environment.retryBudgets.takeRetry(of: context.host, at: now)
            else {
                let error = PulseError(wrapping: demand.otherwise)
                context.emit(.retryGivenUp(context.summary, PulseError.Summary(error)))
                throw error
            }
        }
        context.emit(
            .requestRetrying(
                context.summary(retryDelay: delay), PulseError.Summary(PulseError(wrapping: demand.otherwise)),
                attempt: context.attempt))
        switch demand.kind {
        case .wait: if delay > 0 { try await context.clock.sleep(delay, for: .backoff) }
        case .recovery(let recovery):
            do {
                try await recoverer.recover(recovery, sentAt: sentAt, in: context, next: next)
            } catch {
                context.call.record(.failsForOtherWork(true))
                throw error
            }
        }
    }

    /// The rule of every retry (RFC 9110, section 9.2.2). A validator may lift it, but not for a one-shot body.
    private func mayRepeat(_ request: URLRequest, _ demand: Resend, in context: PluginContext) -> Bool {
        ReplaySafety(of: request, sent: context.call.sent, in: context).allowsRepeat(
            allowsUnsafe: demand.retriesUnsafeMethods)
    }
}

// Validators do not wait, and every wait for a resend or recovery ends with the call.
extension ValidatorPlugin: HookDeclaring {}

extension PulsePlugin where Self == ValidatorPlugin {
    /// A ``ValidatorPlugin`` with the given validators: ``ValidatorPlugin/init(_:maxRepeats:recoveryTimeout:)``.
    public static func validator(
        _ validators: Validator..., maxRepeats: Int = 2, recoveryTimeout: TimeInterval = 30
    ) -> ValidatorPlugin {
        ValidatorPlugin(validators, maxRepeats: maxRepeats, recoveryTimeout: recoveryTimeout)
    }
}
