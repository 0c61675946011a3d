// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// The rules by which responses are stored and reused. A pure value: it decides, and ``CachePlugin`` acts.
public struct CachePolicy: Sendable, Hashable {
    enum Rules: Sendable, Hashable {
        case rfc9111
        case timeToLive(TimeInterval)
    }

    let rules: Rules
    /// Whether the cache evaluates the caller's own conditions.
    private(set) var answersConditionalRequests = false

    private init(rules: Rules) {
        self.rules = rules
    }

    /// HTTP's own rules for a private cache: RFC 9111, with `stale-while-revalidate` and `stale-if-error` (RFC 5861)
    /// and `immutable` (RFC 8246).
    public static let rfc9111 = CachePolicy(rules: .rfc9111)

    /// Keeps responses of status 200 to GET fresh for the given number of seconds, whatever the server says, except
    /// `no-store`. With zero, a negative number or NaN, nothing is fresh.
    public static func timeToLive(_ seconds: TimeInterval) -> CachePolicy {
        CachePolicy(rules: .timeToLive(seconds > 0 ? seconds : 0))
    }

    /// The same rules, which also serve requests with the caller's own `If-None-Match` or `If-Modified-Since` (RFC
    /// 9111, section 4.3.2). If the stored response is fresh and matches the caller's copy, the response is a 304,
    /// otherwise the whole response.
    ///
    /// For apps with their own store on top of the client. Without this option such requests bypass the cache. Under
    /// any policy they bypass it if they also have `If-Match`, `If-Unmodified-Since` or a range.
    public func respondingToConditionalRequests() -> CachePolicy {
        var policy = self
        policy.answersConditionalRequests = true
        return policy
    }
}

extension CachePolicy {
    /// Whether a stored response could serve the request at all.
    func canServe(_ request: CachedRequest) -> Bool {
        guard !request.isForServerAlone else { return false }
        // A cache cannot evaluate a condition on a request that is not a plain read.
        if request.conditions != nil, !answersConditionalRequests || request.method == .query { return false }
        switch request.method {
        case .get: return true
        case .head, .query: return rules == .rfc9111
        case .unsafe, .other: return false
        }
    }

    /// The most recent of the matching responses, by `Date` and then by response time (RFC 9111, section 4). A response
    /// without `Vary` matches every request, but yields to one with matching fields (section 4.1).
    func select(from stored: [CachedResponse.Head], for request: CachedRequest) -> Int? {
        var matching = stored.indices.filter { matches(stored[$0], request) }
        guard matching.count > 1 else { return matching.first }
        let chosen = matching.filter { !stored[$0].selectingFields.isEmpty }
        if !chosen.isEmpty { matching = chosen }
        return matching.max { left, right in
            let (left, right) = (stored[left], stored[right])
            return (left.date, left.responseTime) < (right.date, right.responseTime)
        }
    }

    /// Whether every field named by `Vary` has the stored value (RFC 9111, section 4.1). A `*` never matches.
    private func matches(_ head: CachedResponse.Head, _ request: CachedRequest) -> Bool {
        head.selectingFields.allSatisfy { $0.name != "*" && $0 == request.selectingField($0.name) }
    }
}

extension CachedResponse.Head {
    /// The `Date` field, or the response time if there is no valid one (RFC 9110, section 6.6.1).
    var date: Date {
        headers["Date"].flatMap { HTTPDate.parse($0, now: responseTime) } ?? responseTime
    }
}
