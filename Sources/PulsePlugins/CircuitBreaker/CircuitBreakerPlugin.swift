// SPDX-License-Identifier: MIT

public import PulseCore

/// Rejects calls to a host that keeps failing, so that the host can recover and callers need not wait. After too many
/// failures, calls fail at once with ``PulseCore/PulseError/circuitOpen(name:retryAfter:)``, until a probe succeeds.
///
/// ```swift
/// let breaker = CircuitBreakerPlugin(failureThreshold: 5, cooldownDuration: 30)
/// let client = PulseClient(configuration: configuration, plugins: [breaker])
/// print(breaker.state(for: "https://api.example.com"))
/// ```
///
/// - Failures are failed connection attempts and TLS handshakes, lost connections, timeouts, a deadline that passes
///   after the request was sent, and the statuses 500, 502, 503 and 504 that the call does not accept. Any other
///   response is a success, including a redirect. A 429, a cancelled call, a call without a connection, a call whose
///   deadline passes before it was sent, and a call that fails with a validator's recovery are not counted.
/// - An app error that an inner validator derives from a response is a success, like a 404: the host has responded. A
///   validator that considers the host to be failing replaces the response with a 503.
/// - A streamed response is judged by its head. A rejected call is not retried.
/// - The breaker runs around each attempt. Calls that an inner plugin makes as part of a probe pass with it.
///
/// Closed circuits are kept for the 1024 most recently used keys, others for the 4096 most recently used; circuits
/// isolated by name are never evicted. Every method may be called from any thread. Several clients may share one
/// breaker, and thus its circuits.
public final class CircuitBreakerPlugin: PulsePlugin {
    /// What a circuit does with the next call.
    public enum State: Sendable, Hashable {
        /// Calls pass.
        case closed
        /// Calls are rejected. After the cooldown, the next call is a probe, and the circuit becomes half-open.
        case open
        /// A few probes pass, and their outcomes decide; other calls are rejected.
        case halfOpen
        /// Calls are rejected until ``CircuitBreakerPlugin/reset(_:)``; the error's `retryAfter` is infinite.
        case isolated
    }

    let policy: Policy
    let circuits: Locked<Circuits>
    private let slowCallDuration: TimeInterval?

    public var identifier: String { "com.pulse.circuit-breaker" }

    /// Creates a breaker with a policy.
    public init(policy: Policy) {
        self.policy = policy
        circuits = Locked(Circuits(policy))
        slowCallDuration = if case .rate(let window) = policy.trip { window.slowCallDuration } else { nil }
    }

    /// Creates a breaker that opens after the given number of consecutive failures, 5 by default, for the given number
    /// of seconds, 30 by default.
    ///
    /// - Parameter key: which calls share a circuit; those to one origin by default.
    public convenience init(
        failureThreshold: Int = 5, cooldownDuration: TimeInterval = 30, key: Policy.Key = .origin
    ) {
        self.init(
            policy: Policy(
                trip: .consecutiveFailures(failureThreshold), cooldownDuration: cooldownDuration, key: key))
    }

    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        guard let key = key(of: request, context) else { return try await next(request, context: context) }
        guard let permit = try admit(key, at: context.clock.uptime, for: context) else {
            return try await next(request, context: context)
        }
        let sentBefore = context.call.sentCount
        let context = slowCallDuration == nil ? context : context.watchingSends()
        let result: Result<PulseResponse, PulseError>
        if permit.probe == nil {
            result = await next.result(request, context: context)
        } else {
            result = await ProbeScope.run(permit, of: self, key) { await next.result(request, context: context) }
        }
        settle(permit, of: key, result, sentBefore: sentBefore, for: context)
        return try result.get()
    }

    private func key(of request: URLRequest, _ context: PluginContext) -> CircuitKey? {
        switch policy.key {
        case .origin: request.url.flatMap { context.origin(of: $0) }.map { .origin($0) }
        case .route: .name(context.route)
        case .custom(let name): name(request, context).map { .name($0) }
        }
    }

    /// Admits a call with a permit; nil for a call that is part of a probe and is not counted.
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

    private func settle(
        _ permit: CircuitBreaker.Permit, of key: CircuitKey, _ result: Result<PulseResponse, PulseError>,
        sentBefore: Int, for context: PluginContext
    ) {
        let now = context.clock.uptime
        // Measured from the last send: time in a queue or before a resend does not count against the host.
        let latency = slowCallDuration == nil ? nil : context.sendWatch?.last.map { now - $0 }
        let verdict = CircuitBreaker.Verdict(
            result, in: context, sentBefore: sentBefore, latency: latency ?? 0, slow: slowCallDuration)
        let change = circuits.withLock { $0.settle(permit, of: key, verdict, at: now) }
        if let change { context.emit(change.event(of: key.name)) }
    }
}

// Waits only for the rest of the chain.
extension CircuitBreakerPlugin: HookDeclaring {}

extension PulsePlugin where Self == CircuitBreakerPlugin {
    /// A ``CircuitBreakerPlugin`` for consecutive failures:
    /// ``CircuitBreakerPlugin/init(failureThreshold:cooldownDuration:key:)``.
    public static func circuitBreaker(
        failureThreshold: Int = 5, cooldownDuration: TimeInterval = 30, key: CircuitBreakerPlugin.Policy.Key = .origin
    ) -> CircuitBreakerPlugin {
        CircuitBreakerPlugin(failureThreshold: failureThreshold, cooldownDuration: cooldownDuration, key: key)
    }

    /// A ``CircuitBreakerPlugin`` with a policy: ``CircuitBreakerPlugin/init(policy:)``.
    public static func circuitBreaker(policy: CircuitBreakerPlugin.Policy) -> CircuitBreakerPlugin {
        CircuitBreakerPlugin(policy: policy)
    }
}
