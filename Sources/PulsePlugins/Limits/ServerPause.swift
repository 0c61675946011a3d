// SPDX-License-Identifier: MIT

import PulseCore

/// How long a server asks all calls to stay away.
enum ServerPause {
    /// Seconds: what a server says by mistake must not shut an app out for good.
    private static let longest: TimeInterval = 3600

    /// Seconds that an outcome asks for; nil if it does not ask.
    static func seconds(
        after result: Result<PulseResponse, PulseError>, in context: PluginContext
    ) -> TimeInterval? {
        let now = { context.clock.now }
        let seconds: TimeInterval?
        switch result {
        case .success(let response):
            seconds = asked(by: response, now)
        // A recovery's, which another server may have refused.
        case .failure where context.call.isFailureOfOtherWork:
            seconds = nil
        case .failure(.rateLimited(let retryAfter)):
            // A validator may make this error of an answer that hides its status; a limiter's own refusal does not
            // count.
            seconds = result.isLocalRefusal(in: context) ? nil : retryAfter
        case .failure(let error):
            seconds = error.response.flatMap { asked(by: $0, now) }
        }
        return seconds.flatMap { $0 > 0 ? min($0, longest) : nil }
    }

    private static func asked(by response: PulseResponse, _ now: () -> Date) -> TimeInterval? {
        // A redirect's `Retry-After` is about where it leads, and a success has nothing to try again.
        if response.statusCode >= 400 {
            if response.statusCode == 429 { return RetryAfter.seconds(in: response.headers, now: now()) }
            if response.headers.contains("Retry-After"),
                let seconds = RetryAfter.seconds(in: response.headers, now: now())
            {
                return seconds
            }
        }
        guard response.headers.reportsRemaining else { return nil }
        return RetryAfter.resetOfNone(in: response.headers, now: now())
    }
}

extension Result<PulseResponse, PulseError> {
    fileprivate func isLocalRefusal(in context: PluginContext) -> Bool {
        guard case .failure(let error) = self else { return false }
        return LocalRefusals.include(error, in: context)
    }
}

extension HTTPHeaders {
    /// Whether the server says how many requests are left. Few servers do, and every answer is asked.
    fileprivate var reportsRemaining: Bool {
        contains { field in
            let name = field.name.utf8.count
            guard name == 19 || name == 21 else { return false }
            return field.name.equalsIgnoringASCIICase("RateLimit-Remaining")
                || field.name.equalsIgnoringASCIICase("X-RateLimit-Remaining")
        }
    }
}
