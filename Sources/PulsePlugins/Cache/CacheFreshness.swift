// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// How long a stored answer may be used, and how old it is (RFC 9111, section 4.2). In seconds.
struct CacheFreshness: Sendable, Equatable {
    /// What the answer itself says, as far as the policy heeds it.
    let control: CacheControl
    let lifetime: TimeInterval
    let age: TimeInterval
    /// Whether the wall clock is before the moment at which the answer came, so that its age cannot be told.
    let isAgeUnknown: Bool

    init(of head: CachedHead, by policy: CachePolicy, now: Date) {
        let resident = now.timeIntervalSince(head.responseTime)
        isAgeUnknown = !(resident >= 0)
        switch policy.rules {
        case .timeToLive(let seconds):
            control = CacheControl()
            lifetime = seconds
            age = max(0, resident)
        case .rfc9111:
            control = CacheControl(of: head.headers)
            let date = Self.date(of: head)
            lifetime = Self.lifetime(of: head, control, date)
            age = Self.initialAge(of: head, date) + max(0, resident)
        }
    }

    /// A clock that was set back makes no answer younger: it counts as stale.
    var isFresh: Bool { lifetime > age && !isAgeUnknown }

    /// Seconds past the lifetime; infinite if nobody can tell.
    var staleness: TimeInterval { isAgeUnknown ? .infinity : max(0, age - lifetime) }

    /// Whether the server forbids stale use even without a connection (RFC 9111, sections 4.2.4, 5.2.2.2 and 5.2.2.4).
    var mustNotBeStale: Bool { control.mustRevalidate || control.noCache }

    /// For the `Age` field (RFC 9111, section 5.1).
    var ageInSeconds: Int { Int(min(max(0, age), TimeInterval(DeltaSeconds.most))) }

    // MARK: RFC 9111

    /// The `Date` field; without a valid one the answer counts as made when it came (RFC 9110, section 6.6.1).
    private static func date(of head: CachedHead) -> Date {
        head.headers["Date"].flatMap { HTTPDate.parse($0, now: head.responseTime) } ?? head.responseTime
    }

    /// RFC 9111, section 4.2.1: the first that is there counts, also if it is invalid.
    private static func lifetime(of head: CachedHead, _ control: CacheControl, _ date: Date) -> TimeInterval {
        if let maxAge = control.maxAge {
            guard case .value(let seconds) = maxAge else { return 0 }
            return TimeInterval(seconds)
        }
        if let expires = head.headers["Expires"] {
            // RFC 9111, section 5.3: what is no date, "0" above all, lies in the past.
            guard let expires = HTTPDate.parse(expires, now: head.responseTime) else { return 0 }
            return expires.timeIntervalSince(date)
        }
        return heuristicLifetime(of: head, control, date)
    }

    /// RFC 9111, section 4.2.2: a tenth of the time since the last change, a day at most.
    private static func heuristicLifetime(
        of head: CachedHead, _ control: CacheControl, _ date: Date
    ) -> TimeInterval {
        guard CachePolicy.isHeuristicallyCacheable(head.statusCode) || control.isPublic,
            let value = head.headers["Last-Modified"],
            let lastModified = HTTPDate.parse(value, now: head.responseTime)
        else { return 0 }
        return min(max(0, date.timeIntervalSince(lastModified) / 10), 86_400)
    }

    /// RFC 9111, section 4.2.3: `corrected_initial_age`.
    private static func initialAge(of head: CachedHead, _ date: Date) -> TimeInterval {
        let apparentAge = max(0, head.responseTime.timeIntervalSince(date))
        let responseDelay = max(0, head.responseTime.timeIntervalSince(head.requestTime))
        return max(apparentAge, ageField(of: head.headers) + responseDelay)
    }

    /// RFC 9111, section 5.1: of a list the first member; anything but a number is ignored.
    private static func ageField(of headers: HTTPHeaders) -> TimeInterval {
        guard let value = headers["Age"], let first = value.split(separator: ",", maxSplits: 1).first else { return 0 }
        return TimeInterval(DeltaSeconds.parse(first.trimmingCharacters(in: .whitespaces)) ?? 0)
    }
}
