// SPDX-License-Identifier: MIT

public import PulseCore

/// Lets validators judge each answer before plugins further out see it: accept it, fail, put another in its place, send
/// the request again, or put things right and then send it again.
///
/// They are asked in their order. They see answers of every status; a failure of the wire, and a redirect that the
/// client is going to follow, pass untouched. An attempt sends its request again at most `maxRepeats` times.
///
/// A server that has answered may have done the work, so a repeat follows the rule of every retry (RFC 9110, section
/// 9.2.2): the method is idempotent, or the call has an `Idempotency-Key`, and the body can be sent again. A validator
/// that knows better says `repeatsUnsafe`, which lifts the first half of the rule and never the second. A repeat that
/// is not allowed, whose wait would pass the deadline, or for which the host's retry budget has nothing left, is a
/// failure with the verdict's own error. A repeat after a recovery takes nothing of the budget.
public struct ValidatorPlugin: PulsePlugin {
    private let validators: [Validator]
    private let maxRepeats: Int
    let recoverer: Recoverer

    public var identifier: String { "com.pulse.validator" }

    /// A plugin with those validators.
    ///
    /// - Parameter maxRepeats: repeats of the request within one attempt, whichever validators ask for them; 2 by
    ///   default.
    /// - Parameter recoveryTimeout: seconds after which a ``Recovery`` is cancelled and the calls that wait fail with a
    ///   timeout; 30 by default, and for anything but a positive number. While work that ignores its cancellation goes
    ///   on, no other of its name begins: a call that waits for it has as long again.
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

    /// Ends the recoveries that nobody waits for any more. Those that calls wait for, perhaps another client's, go on.
    /// The plugin stays usable.
    public func shutdown() async {
        await recoverer.shutdown()
    }

    // MARK: Judging

    private enum Judgement {
        case response(PulseResponse)
        case resend(Resend)
    }

    /// What a validator asks for before the request is sent again.
    private struct Resend {
        let kind: Kind
        let repeatsUnsafe: Bool
        let otherwise: any Error

        enum Kind {
            case wait(BackoffStrategy)
            case recovery(Recovery)
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
                    // The other answer's stream may be made of this one; without one nobody reads it.
                    if other.bytes == nil { response.bytes?.cancel() }
                    response = other
                case .retry(let strategy, let repeatsUnsafe, let otherwise):
                    response.bytes?.cancel()
                    return .resend(Resend(kind: .wait(strategy), repeatsUnsafe: repeatsUnsafe, otherwise: otherwise))
                case .recover(let recovery, let repeatsUnsafe, let otherwise):
                    response.bytes?.cancel()
                    return .resend(
                        Resend(kind: .recovery(recovery), repeatsUnsafe: repeatsUnsafe, otherwise: otherwise))
                }
            }
        } catch {
            response.bytes?.cancel()
            throw error
        }
        return .response(response)
    }

    // MARK: Repeating

    // Not inlined, as most calls do without it: it would take room in the frame of each.
    @inline(never)
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
                context.emit(.retryGivenUp(context.summary, ErrorSummary(error)))
                throw error
            }
        }
        context.emit(
            .requestRetrying(
                context.summary(retryDelay: delay), ErrorSummary(PulseError(wrapping: demand.otherwise)),
                attempt: context.attempt))
        switch demand.kind {
        case .wait: if delay > 0 { try await context.call.sleep(delay, for: .backoff) }
        case .recovery(let recovery):
            do {
                try await recoverer.recover(recovery, sentAt: sentAt, in: context, next: next)
            } catch {
                context.call.isFailureOfOtherWork = true
                throw error
            }
        }
    }

    /// The rule of every retry (RFC 9110, section 9.2.2). A validator may lift it, but not for a body that can be sent
    /// only once.
    private func mayRepeat(_ request: URLRequest, _ demand: Resend, in context: PluginContext) -> Bool {
        context.body.isReplayable && (context.mayRepeat(request, sent: context.call.sent) || demand.repeatsUnsafe)
    }
}

// Validators do not wait, and every wait for what they ask for ends with the call.
extension ValidatorPlugin: EndsWithItsCall, TellsItsHooks {}

extension PulsePlugin where Self == ValidatorPlugin {
    /// A ``ValidatorPlugin`` with those validators: ``ValidatorPlugin/init(_:maxRepeats:recoveryTimeout:)``.
    public static func validator(
        _ validators: Validator..., maxRepeats: Int = 2, recoveryTimeout: TimeInterval = 30
    ) -> ValidatorPlugin {
        ValidatorPlugin(validators, maxRepeats: maxRepeats, recoveryTimeout: recoveryTimeout)
    }
}
