// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// The freshness lifetime and age of a stored response (RFC 9111, section 4.2), in seconds.
struct CacheFreshness: Sendable, Equatable {
    /// The response's own directives, as far as the policy obeys them.
    let control: CacheControl
    let lifetime: TimeInterval
    let age: TimeInterval
    /// Whether the wall clock is earlier than the response time, so that the age is unknown.
    let isAgeUnknown: Bool

    init(of head: CachedResponse.Head, by policy: CachePolicy, now: Date) {
        let resident = now.timeIntervalSince(head.responseTime)
        isAgeUnknown = !(resident >= 0)
        switch policy.rules {
        case .timeToLive(let seconds):
            control = CacheControl()
            lifetime = seconds
            age = max(0, resident)
        case .rfc9111:
            control = CacheControl(of: head.headers)
            let date = head.date
            lifetime = Self.lifetime(of: head, control, date)
            age = Self.initialAge(of: head, date) + max(0, resident)
        }
    }

    /// After the clock was set back, the response counts as stale.
    var isFresh: Bool { lifetime > age && !isAgeUnknown }

    /// Seconds past the lifetime; infinite if the age is unknown.
    var staleness: TimeInterval { isAgeUnknown ? .infinity : max(0, age - lifetime) }

    /// Whether the server forbids stale use, even without a connection (RFC 9111, sections 4.2.4, 5.2.2.2 and 5.2.2.4).
    var mustNotBeStale: Bool { control.mustRevalidate || control.noCache }

    /// The value of the `Age` field (RFC 9111, section 5.1).
    var ageInSeconds: Int { Int(min(max(0, age), TimeInterval(DeltaSeconds.most))) }

    /// Whether the response meets the request's `max-age` and `min-fresh` (RFC 9111, sections 5.2.1.1 and 5.2.1.3).
    func isAsYoung(as directives: CacheControl) -> Bool {
        // An immutable response is as good as a new one while it is fresh (RFC 8246).
        let isYoungEnough = age <= directives.maxAge.seconds(absent: .infinity) || control.immutable && isFresh
        guard isYoungEnough, directives.minFresh != nil else { return isYoungEnough }
        return age + directives.minFresh.seconds(missing: .infinity) <= lifetime
    }

    // MARK: RFC 9111

    /// RFC 9111, section 4.2.1: the first field present decides, even if it is invalid.
    private static func lifetime(of head: CachedResponse.Head, _ control: CacheControl, _ date: Date) -> TimeInterval {
        if let maxAge = control.maxAge {
            guard case .value(let seconds) = maxAge else { return 0 }
            return TimeInterval(seconds)
        }
        if let expires = head.headers["Expires"] {
            // RFC 9111, section 5.3: an invalid date, such as "0", is in the past.
            guard let expires = HTTPDate.parse(expires, now: head.responseTime) else { return 0 }
            // No lifetime may exceed the largest age.
            return min(expires.timeIntervalSince(date), TimeInterval(DeltaSeconds.most))
        }
        return heuristicLifetime(of: head, control, date)
    }

    /// RFC 9111, section 4.2.2: a tenth of the time since the last modification, at most a day.
    private static func heuristicLifetime(
        of head: CachedResponse.Head, _ control: CacheControl, _ date: Date
    ) -> TimeInterval {
        guard CachePolicy.isHeuristicallyCacheable(head.statusCode) || control.isPublic,
            let value = head.headers["Last-Modified"],
            let lastModified = HTTPDate.parse(value, now: head.responseTime)
        else { return 0 }
        return min(max(0, date.timeIntervalSince(lastModified) / 10), 86_400)
    }

    /// RFC 9111, section 4.2.3: `corrected_initial_age`.
    private static func initialAge(of head: CachedResponse.Head, _ date: Date) -> TimeInterval {
        let apparentAge = max(0, head.responseTime.timeIntervalSince(date))
        let responseDelay = max(0, head.responseTime.timeIntervalSince(head.requestTime))
        return max(apparentAge, ageField(of: head.headers) + responseDelay)
    }

    /// RFC 9111, section 5.1: the first member of a list; anything but a number is ignored.
    private static func ageField(of headers: HTTPHeaders) -> TimeInterval {
        guard let value = headers["Age"], let first = value.split(separator: ",", maxSplits: 1).first else { return 0 }
        return TimeInterval(DeltaSeconds.parse(first.trimmingCharacters(in: .whitespaces)) ?? 0)
    }
}
