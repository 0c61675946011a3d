// SPDX-License-Identifier: MIT

public import PulseCore

/// Limits the rate of requests to a host, and delays them while the host asks for a pause.
///
/// ```swift
/// let search = RateLimitPlugin(requests: 30, per: 60, burst: 1, by: .route)
/// let client = PulseClient(configuration: configuration, plugins: [search])
/// ```
///
/// A token bucket allows a number of requests in each period, and a burst after a pause. A call that finds no token
/// waits in a queue, first come, first served. A response may ask for a pause: with `Retry-After` on any error status,
/// or with `RateLimit-Reset` or `X-RateLimit-Reset` on a 429 or if nothing remains (RFC 9110, section 10.2.3). It
/// delays the *other* requests under the same key for that long, at most an hour.
///
/// No call waits in vain: a call that cannot proceed before its deadline, or within `maxWait`, fails at once with
/// ``PulseError/rateLimited(retryAfter:)``, and is not sent. A cancelled call leaves the queue, and later ones move up.
/// Limiters may be nested: neither mistakes the other's rejection for a response of the server.
///
/// Every attempt of the retry loop takes a token. Requests that an inner validator resends, or sends for a recovery,
/// take none, and the failure of a recovery pauses no other call. A rejection has the error and the
/// ``PulseError/phase`` of a 429, though nothing was sent. The buckets of the 4096 most recently used keys are kept.
/// Clients that share a plugin share its buckets, and must have the same clock.
public struct RateLimitPlugin: PulsePlugin {
    private let limiter: RateLimiter
    private let key: Key

    public var identifier: String { "com.pulse.rate-limit" }

    /// Limits requests to a rate.
    ///
    /// - Parameter requests: the maximum number of requests in each period; less than 1 counts as 1.
    /// - Parameter period: in seconds; anything but a positive number means no limit.
    /// - Parameter burst: how many requests may be sent at once after a pause; `requests` by default.
    /// - Parameter key: which calls share a bucket; those to one host by default.
    /// - Parameter maxWait: the maximum number of seconds in the queue, 60 by default; a call that would wait
    ///   longer fails at once.
    public init(
        requests: Int, per period: TimeInterval, burst: Int? = nil, by key: Key = .origin,
        maxWait: TimeInterval = 60
    ) {
        self.init(
            Rate(requests: requests, per: period, burst: burst ?? requests), by: key, maxWait: maxWait)
    }

    /// Sets no rate: obeys only the server's pauses.
    public init(by key: Key = .origin, maxWait: TimeInterval = 60) {
        self.init(.unlimited, by: key, maxWait: maxWait)
    }

    private init(_ rate: Rate, by key: Key, maxWait: TimeInterval) {
        self.key = key
        limiter = RateLimiter(rate, maxWait: maxWait > 0 ? maxWait : 0)
    }

    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        guard let key = key.value(request, context) else { return try await next(request) }
        do {
            if let pending = try limiter.admit(key, for: context) { try await limiter.wait(key, pending, for: context) }
        } catch {
            context.store[ServerPause.LocalRefusal.self] = context.call.sentCount
            throw error
        }
        let result = await next.result(request)
        if let seconds = ServerPause.seconds(after: result, in: context) {
            if case .success(let response) = result, response.statusCode == 429 {
                context.emit(.rateLimited(context.summary, retryAfter: seconds))
            }
            limiter.pause(key, for: seconds, context.clock)
        }
        return try result.get()
    }
}

// Finding a key does not wait, and waiting for a token ends with the call.
extension RateLimitPlugin: HookDeclaring {}

extension PulsePlugin where Self == RateLimitPlugin {
    /// A ``RateLimitPlugin`` with a rate: ``RateLimitPlugin/init(requests:per:burst:by:maxWait:)``.
    public static func rateLimit(
        requests: Int, per period: TimeInterval, burst: Int? = nil, by key: RateLimitPlugin.Key = .origin,
        maxWait: TimeInterval = 60
    ) -> RateLimitPlugin {
        RateLimitPlugin(requests: requests, per: period, burst: burst, by: key, maxWait: maxWait)
    }

    /// A ``RateLimitPlugin`` that only obeys the server: ``RateLimitPlugin/init(by:maxWait:)``.
    public static func rateLimit(by key: RateLimitPlugin.Key = .origin, maxWait: TimeInterval = 60)
        -> RateLimitPlugin
    {
        RateLimitPlugin(by: key, maxWait: maxWait)
    }
}
