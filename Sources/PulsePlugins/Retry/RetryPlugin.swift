// SPDX-License-Identifier: MIT

public import PulseCore

/// Retries failed attempts, in place of the configuration's retry policy.
///
/// ```swift
/// let retry = RetryPlugin(maxAttempts: 5, strategy: .exponentialWithJitter(base: 0.5, maxDelay: 30))
/// let client = PulseClient(configuration: configuration, plugins: [retry])
/// ```
///
/// Its defaults are those of the configuration's default policy: three attempts, with full jitter from 0.25 s up to 20
/// s, for the same statuses and errors. A request is resent only if that is safe (RFC 9110, section 9.2.2): see
/// ``RetryPolicy``.
public struct RetryPlugin: PulsePlugin {
    private let loop: RetryLoop

    public var identifier: String { loop.identifier }
    public var scope: PluginScope { .retry }

    /// Retries with a backoff strategy.
    ///
    /// - Parameter maxAttempts: the maximum number of attempts, including the first; 3 by default.
    /// - Parameter strategy: how long to wait before each retry.
    /// - Parameter shouldRetry: decides which failures are retried; never lifts the rule on methods and idempotency
    ///   keys. Called concurrently.
    public init(
        maxAttempts: Int = 3,
        strategy: BackoffStrategy = .exponentialWithJitter(base: 0.25, maxDelay: 20),
        shouldRetry: (@Sendable (PulseError) -> Bool)? = nil
    ) {
        self.init(
            policy: RetryPolicy(maxAttempts: maxAttempts, backoffStrategy: strategy), shouldRetry: shouldRetry)
    }

    /// Retries by a complete policy: statuses, exhaustion report, unsafe methods.
    public init(policy: RetryPolicy, shouldRetry: (@Sendable (PulseError) -> Bool)? = nil) {
        loop = RetryLoop(policy, counts: shouldRetry)
    }

    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        try await loop.intercept(request, for: context, next: next)
    }
}

extension RetryPlugin: HookDeclaring {}

extension PulsePlugin where Self == RetryPlugin {
    /// A ``RetryPlugin`` with a backoff strategy: ``RetryPlugin/init(maxAttempts:strategy:shouldRetry:)``.
    public static func retry(
        maxAttempts: Int = 3,
        strategy: BackoffStrategy = .exponentialWithJitter(base: 0.25, maxDelay: 20),
        shouldRetry: (@Sendable (PulseError) -> Bool)? = nil
    ) -> RetryPlugin {
        RetryPlugin(maxAttempts: maxAttempts, strategy: strategy, shouldRetry: shouldRetry)
    }

    /// A ``RetryPlugin`` with a complete policy: ``RetryPlugin/init(policy:shouldRetry:)``.
    public static func retry(
        policy: RetryPolicy, shouldRetry: (@Sendable (PulseError) -> Bool)? = nil
    ) -> RetryPlugin {
        RetryPlugin(policy: policy, shouldRetry: shouldRetry)
    }
}
