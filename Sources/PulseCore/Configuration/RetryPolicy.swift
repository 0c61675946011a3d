// SPDX-License-Identifier: MIT

/// Which failures are retried, how often and after which delay.
///
/// ```swift
/// configuration.retryPolicy = RetryPolicy(maxAttempts: 5, backoffStrategy: .exponential(base: 1, maxDelay: 30))
/// ```
///
/// Whatever the policy, a request is resent only if that is safe (RFC 9110, section 9.2.2): its method is idempotent,
/// it has an `Idempotency-Key`, or none of it was sent. Its body must also be replayable.
///
/// A policy of more than one attempt also resends a request at once if its connection turned out stale
/// (``PulseError/isStaleConnection``), at most once per attempt. It does so once for each request after a 421
/// (Misdirected Request), whatever the method. Plugins and events see the resend as an attempt. It does not count
/// toward ``maxAttempts``, and uses neither the budget nor the ``decider``.
///
/// Whatever the policy, the retries to one host are limited to 20 % of the client's calls to it in the last 10 seconds.
/// 30 retries in any 10 seconds are always allowed.
public struct RetryPolicy: Sendable {
    /// The maximum number of attempts, including the first; 3 by default. A number below 1 counts as 1. With one
    /// attempt, nothing is ever resent.
    public var maxAttempts: Int
    /// How long to wait before a retry; by default exponential with full jitter, from 0.25 up to 20 seconds.
    public var backoffStrategy: BackoffStrategy
    /// The statuses that count as transient failures; 408, 425, 429, 500, 502, 503 and 504 by default.
    public var retryableStatusCodes: Set<Int>
    /// Whether an idle timeout counts as a transient failure; true by default.
    public var retryOnTimeout: Bool
    /// Whether ``PulseError/noConnection`` counts as a transient failure; true by default.
    public var retryOnNoConnection: Bool
    /// Whether the last failure is wrapped in ``PulseError/retryExhausted(last:attempts:)`` instead of thrown
    /// unchanged; false by default.
    public var reportsExhaustion = false
    /// Whether requests without an idempotency key are retried whatever their method. Only for a server that is known
    /// to ignore duplicates. False by default.
    public var retriesUnsafeMethods = false
    /// The maximum `Retry-After` in seconds; if the server asks for more, the call fails at once. 60 by default.
    public var maxRetryAfter: TimeInterval = 60
    /// The decider with the last word on which failures are retried and after which delay; nil, the default, uses only
    /// the other fields.
    public var decider: (any Decider)?

    /// Creates a policy; without arguments, the ``default``.
    public init(
        maxAttempts: Int = 3,
        backoffStrategy: BackoffStrategy = .exponentialWithJitter(base: 0.25, maxDelay: 20),
        retryableStatusCodes: Set<Int> = [408, 425, 429, 500, 502, 503, 504],
        retryOnTimeout: Bool = true,
        retryOnNoConnection: Bool = true
    ) {
        self.maxAttempts = maxAttempts
        self.backoffStrategy = backoffStrategy
        self.retryableStatusCodes = retryableStatusCodes
        self.retryOnTimeout = retryOnTimeout
        self.retryOnNoConnection = retryOnNoConnection
    }

    /// Three attempts with full jitter.
    public static let `default` = RetryPolicy()

    /// A single attempt, no retries.
    public static let none = RetryPolicy(maxAttempts: 1)

    /// A single attempt, no retries. The same as ``none``, under a name that is not mistaken for `Optional.none`.
    public static let never = RetryPolicy.none

    /// Whether a failure counts as transient.
    package func counts(_ error: PulseError) -> Bool {
        switch error {
        case .http, .unauthorized, .rateLimited: error.statusCode.map(retryableStatusCodes.contains) ?? false
        // Another attempt would wait for the same slots, and the call would take a multiple of its limit.
        case .transport where error.isPoolTimeout: false
        case .timeout, .transport(.timedOut, _): retryOnTimeout
        case .noConnection: retryOnNoConnection
        case .transport(.cannotFindHost, _), .transport(.dnsLookupFailed, _), .transport(.cannotConnectToHost, _),
            .transport(.networkConnectionLost, _), .transport(.secureConnectionFailed, _):
            true
        case .retryExhausted(let last, _): counts(last)
        default: false
        }
    }
}

extension RetryPolicy: CustomStringConvertible {
    /// Attempts, backoff and statuses, plus the other fields that differ from the default.
    public var description: String {
        var parts = [
            "maxAttempts: \(maxAttempts)", "backoffStrategy: \(backoffStrategy)",
            "retryableStatusCodes: \(retryableStatusCodes.sorted())",
        ]
        if !retryOnTimeout { parts.append("retryOnTimeout: false") }
        if !retryOnNoConnection { parts.append("retryOnNoConnection: false") }
        if reportsExhaustion { parts.append("reportsExhaustion: true") }
        if retriesUnsafeMethods { parts.append("retriesUnsafeMethods: true") }
        if maxRetryAfter != 60 { parts.append("maxRetryAfter: \(maxRetryAfter)") }
        if let decider { parts.append("decider: \(type(of: decider))") }
        return "RetryPolicy(" + parts.joined(separator: ", ") + ")"
    }
}
