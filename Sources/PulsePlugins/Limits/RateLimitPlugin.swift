// SPDX-License-Identifier: MIT

public import PulseCore

/// Keeps requests to a host under a rate, and holds them back while the host asks for a pause.
///
/// A token bucket: so many requests in a period, and after a rest a burst at once. A call that finds no token waits in
/// line, first come, first served. An answer that asks for a pause (`Retry-After` of any error status,
/// `RateLimit-Reset` or `X-RateLimit-Reset` of a 429 or of any answer with nothing remaining; RFC 9110, section 10.2.3)
/// holds back the *other* requests under the same key for that long, an hour at most.
///
/// No call waits in vain: one whose turn cannot come before its deadline, or within the longest wait, fails at once
/// with ``PulseError/rateLimited(retryAfter:)``, and nothing of it is sent. A cancelled call leaves the line, and those
/// behind it move up. One limiter may stand within another: neither takes the other's refusal for the server's word.
///
/// Every attempt of the retry loop takes a token. What a validator further in sends again, or sends for a recovery,
/// takes none, and what a recovery fails with makes nobody wait. A refusal has the error and the ``PulseError/phase``
/// of a 429, though nothing was sent. The buckets of the 4096 keys used last are kept. Clients that share a plugin
/// share its buckets, and must have the same clock.
public struct RateLimitPlugin: PulsePlugin {
    private let limiter: RateLimiter
    private let key: LimitKey

    public var identifier: String { "com.pulse.rate-limit" }

    /// Limits requests to a rate.
    ///
    /// - Parameter requests: in each period; less than 1 counts as 1.
    /// - Parameter period: in seconds; anything but a positive number is no limit.
    /// - Parameter burst: how many requests may leave at once after a rest; `requests` by default.
    /// - Parameter key: which calls share a bucket; those to one host by default.
    /// - Parameter maximumWait: seconds in line, 60 by default; a call that would wait longer fails at once.
    public init(
        requests: Int, per period: TimeInterval, burst: Int? = nil, by key: LimitKey = .host,
        maximumWait: TimeInterval = 60
    ) {
        self.init(
            Rate(requests: requests, per: period, burst: burst ?? requests), by: key, maximumWait: maximumWait)
    }

    /// Sets no rate: heeds what the server asks for, and nothing else.
    public init(by key: LimitKey = .host, maximumWait: TimeInterval = 60) {
        self.init(.unlimited, by: key, maximumWait: maximumWait)
    }

    private init(_ rate: Rate, by key: LimitKey, maximumWait: TimeInterval) {
        self.key = key
        limiter = RateLimiter(rate, maximumWait: maximumWait > 0 ? maximumWait : 0)
    }

    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        guard let key = key.value(request, context) else { return try await next(request) }
        do {
            if let pending = try limiter.admit(key, for: context) { try await limiter.wait(key, pending, for: context) }
        } catch {
            LocalRefusals.note(error, in: context)
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

// Finding a key takes no waiting, and the one wait here ends with the call.
extension RateLimitPlugin: EndsWithItsCall, TellsItsHooks {}

extension PulsePlugin where Self == RateLimitPlugin {
    /// A ``RateLimitPlugin`` with a rate: ``RateLimitPlugin/init(requests:per:burst:by:maximumWait:)``.
    public static func rateLimit(
        requests: Int, per period: TimeInterval, burst: Int? = nil, by key: LimitKey = .host,
        maximumWait: TimeInterval = 60
    ) -> RateLimitPlugin {
        RateLimitPlugin(requests: requests, per: period, burst: burst, by: key, maximumWait: maximumWait)
    }

    /// A ``RateLimitPlugin`` that only heeds the server: ``RateLimitPlugin/init(by:maximumWait:)``.
    public static func rateLimit(by key: LimitKey = .host, maximumWait: TimeInterval = 60) -> RateLimitPlugin {
        RateLimitPlugin(by: key, maximumWait: maximumWait)
    }
}
