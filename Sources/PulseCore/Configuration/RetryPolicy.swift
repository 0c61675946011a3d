// SPDX-License-Identifier: MIT

/// Which failures of which requests are tried again, how often and after how long.
///
/// Whatever the policy, a request is repeated only if that is safe: its method is idempotent, or it has an
/// `Idempotency-Key`, or nothing of it was sent; and only if its body can be sent again (RFC 9110, section 9.2.2). And
/// whatever the policy, a client's retries to one host are at most 20 % of its calls there in the last 10 seconds, where
/// 30 in any 10 seconds are always allowed.
public struct RetryPolicy: Sendable {
    /// Tries in all, the first included; less than 1 counts as 1.
    public var maxAttempts: Int
    public var backoffStrategy: BackoffStrategy
    public var retryableStatusCodes: Set<Int>
    /// Whether an idle timeout counts as a failure that may pass.
    public var retryOnTimeout: Bool
    /// Whether ``PulseError/noConnection`` does.
    public var retryOnNoConnection: Bool
    /// Whether the last failure is thrown inside ``PulseError/retryExhausted(last:attempts:)`` rather than as it is.
    public var reportsExhaustion = false
    /// Lifts the rule on methods and keys: only for a server that is known to ignore duplicates.
    public var retriesUnsafeMethods = false
    /// Seconds: a server that asks for a longer wait is not waited for.
    public var maximumRetryAfter: TimeInterval = 60
    /// Has the last word on which failures are tried again and after how long; nil leaves it to the other fields.
    public var decider: (any RetryDecider)?

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

    /// Three tries with full jitter.
    public static let `default` = RetryPolicy()

    /// One try.
    public static let none = RetryPolicy(maxAttempts: 1)

    /// One try: ``none`` under a name that an optional does not take for nil.
    public static let never = RetryPolicy.none

    /// Whether a failure is of the kind that may pass.
    package func counts(_ error: PulseError) -> Bool {
        switch error {
        case .http, .unauthorized, .rateLimited: error.statusCode.map(retryableStatusCodes.contains) ?? false
        case .timeout, .transport(.timedOut, _): retryOnTimeout
        case .noConnection: retryOnNoConnection
        case .transport(.cannotFindHost, _), .transport(.dnsLookupFailed, _), .transport(.cannotConnectToHost, _),
            .transport(.networkConnectionLost, _):
            true
        case .retryExhausted(let last, _): counts(last)
        default: false
        }
    }
}
