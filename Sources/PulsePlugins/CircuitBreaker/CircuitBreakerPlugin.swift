// SPDX-License-Identifier: MIT

public import PulseCore

/// Spares a host that fails, and its callers the wait: after too many failures calls end at once with
/// ``PulseCore/PulseError/circuitOpen(name:retryAfter:)``, until a probe succeeds.
///
/// Connect errors, timeouts and the statuses 500, 502, 503 and 504 are failures; other answers, redirects among them, are
/// successes; a cancelled call, one without a connection and a 429 count nowhere. An error of the app's that a validator
/// further in makes of an answer is a success too, as a 404 is: the host has answered. A validator to which it means that
/// the host fails puts a 503 in the answer's place. A streamed answer is judged at its head, and that verdict spends its
/// permit. A refused call is not retried. It stands around each attempt. What a plugin further in calls for the sake of a
/// probe passes with it.
///
/// Circuits are kept for the 1024 keys that were used last, those that are not closed for 4096, and those that were isolated by
/// name in any case. Every method may be
/// called from any thread. Several clients may share one breaker, and so its circuits.
public final class CircuitBreakerPlugin: PulsePlugin {
    /// What a circuit does with the next call.
    public enum State: Sendable, Hashable {
        /// It passes.
        case closed
        /// It is refused; after the cooldown it becomes a probe, and the circuit half-open.
        case open
        /// It passes if it is one of the few probes.
        case halfOpen
        /// It is refused until ``CircuitBreakerPlugin/reset(_:)``; the error's `retryAfter` is infinite.
        case isolated
    }

    let policy: CircuitBreakerPolicy
    let circuits: Locked<Circuits>
    private let slowCallDuration: TimeInterval?

    public var identifier: String { "com.pulse.circuit-breaker" }

    /// A breaker by a policy: a rate window unless it says otherwise.
    public init(policy: CircuitBreakerPolicy) {
        self.policy = policy
        circuits = Locked(Circuits(policy))
        slowCallDuration = if case .rate(let window) = policy.trip { window.slowCallDuration } else { nil }
    }

    /// A breaker that opens after that many failures in a row, for that many seconds.
    public convenience init(failureThreshold: Int = 5, cooldownDuration: TimeInterval = 30) {
        self.init(
            policy: CircuitBreakerPolicy(
                trip: .consecutiveFailures(failureThreshold), cooldownDuration: cooldownDuration))
    }

    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        guard let key = key(of: request, context) else { return try await next(request, context: context) }
        guard let permit = try admit(key, at: context.clock.uptime, for: context) else {
            return try await next(request, context: context)
        }
        let departed = context.call.departures
        let context = slowCallDuration == nil ? context : context.watchingDepartures()
        let result: Result<PulseResponse, PulseError>
        if permit.probe == nil {
            result = await next.result(request, context: context)
        } else {
            result = await ProbeScope.run(permit, of: self, key) { await next.result(request, context: context) }
        }
        settle(permit, of: key, result, departed: departed, for: context)
        return try result.get()
    }

    private func key(of request: URLRequest, _ context: PluginContext) -> CircuitKey? {
        switch policy.key {
        case .origin: request.url.flatMap { context.origin(of: $0) }.map { .origin($0) }
        case .route: .name(context.route)
        case .custom(let name): name(request, context).map { .name($0) }
        }
    }

    /// Nil for a call that goes along with the probe whose work it is, and counts nowhere.
    private func admit(
        _ key: CircuitKey, at now: TimeInterval, for context: PluginContext
    ) throws -> CircuitBreaker.Permit? {
        let events = context.call.environment.events
        let (admission, change) = circuits.withLock { $0.admit(key, at: now, events) }
        if let change { context.emit(change.event(of: key.name)) }
        switch admission {
        case .admitted(let permit): return permit
        case .refused(let retryAfter):
            let permits = ProbeScope.permits(of: self, key)
            if !permits.isEmpty, circuits.withLock({ $0.isProbing(key, permits) }) { return nil }
            throw PulseError.circuitOpen(name: key.name, retryAfter: retryAfter)
        }
    }

    // Not inlined: its temporaries would take room in the frame of each attempt.
    @inline(never)
    private func settle(
        _ permit: CircuitBreaker.Permit, of key: CircuitKey, _ result: Result<PulseResponse, PulseError>,
        departed: Int, for context: PluginContext
    ) {
        let now = context.clock.uptime
        // Of the request that was answered: what came before it, in a line or before a repeat, is not the host's.
        let latency = slowCallDuration == nil ? nil : context.departures?.last.map { now - $0 }
        let verdict = CircuitBreaker.Verdict(
            result, in: context, departed: departed, latency: latency ?? 0, slow: slowCallDuration)
        let change = circuits.withLock { $0.settle(permit, of: key, verdict, at: now) }
        if let change { context.emit(change.event(of: key.name)) }
    }
}

// Its every wait is the rest of the chain.
extension CircuitBreakerPlugin: EndsWithItsCall, TellsItsHooks {}

extension PulsePlugin where Self == CircuitBreakerPlugin {
    /// ``CircuitBreakerPlugin/init(failureThreshold:cooldownDuration:)``
    public static func circuitBreaker(
        failureThreshold: Int = 5, cooldownDuration: TimeInterval = 30
    ) -> CircuitBreakerPlugin {
        CircuitBreakerPlugin(failureThreshold: failureThreshold, cooldownDuration: cooldownDuration)
    }

    /// ``CircuitBreakerPlugin/init(policy:)``
    public static func circuitBreaker(policy: CircuitBreakerPolicy) -> CircuitBreakerPlugin {
        CircuitBreakerPlugin(policy: policy)
    }
}
