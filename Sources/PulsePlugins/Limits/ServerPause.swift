// SPDX-License-Identifier: MIT

import PulseCore

/// How long a server asks all calls to pause.
enum ServerPause {
    /// In seconds: a server's mistake must not block an app forever.
    private static let longest: TimeInterval = 3600

    /// How many requests a call had sent when a limiter of the client last rejected it. Until it sends another one, a
    /// ``PulseError/rateLimited(retryAfter:)`` is that rejection, and no server's.
    enum LocalRefusal: PluginContext.Key {
        typealias Value = Int
    }

    /// The pause that an outcome asks for, in seconds; nil if it asks for none.
    static func seconds(
        after result: Result<PulseResponse, PulseError>, in context: PluginContext
    ) -> TimeInterval? {
        let now = { context.clock.now }
        let seconds: TimeInterval?
        switch result {
        case .success(let response):
            seconds = asked(by: response, now)
        // The failure of a recovery may come from another server.
        case .failure where context.call.failsForOtherWork:
            seconds = nil
        // A validator may derive this error from a response without a 429.
        case .failure(.rateLimited(let retryAfter)):
            seconds = context.store[LocalRefusal.self] == context.call.sentCount ? nil : retryAfter
        case .failure(let error):
            seconds = error.response.flatMap { asked(by: $0, now) }
        }
        return seconds.flatMap { $0 > 0 ? min($0, longest) : nil }
    }

    private static func asked(by response: PulseResponse, _ now: () -> Date) -> TimeInterval? {
        // A redirect's `Retry-After` concerns its target, and a success needs no retry.
        if response.statusCode >= 400 {
            if response.statusCode == 429 { return RetryAfter.seconds(in: response.headers, now: now()) }
            if response.headers.contains("Retry-After"),
                let seconds = RetryAfter.seconds(in: response.headers, now: now())
            {
                return seconds
            }
        }
        guard response.headers.reportsRemaining else { return nil }
        return RetryAfter.resetIfExhausted(in: response.headers, now: now())
    }
}

extension HTTPHeaders {
    /// Whether the server states how many requests remain. Few servers do, and every response is checked.
    fileprivate var reportsRemaining: Bool {
        contains { field in
            let name = field.name.utf8.count
            guard name == 19 || name == 21 else { return false }
            return field.name.equalsIgnoringASCIICase("RateLimit-Remaining")
                || field.name.equalsIgnoringASCIICase("X-RateLimit-Remaining")
        }
    }
}
