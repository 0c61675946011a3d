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
    /// For apps with a store of their own on top of the client. Without this option such requests bypass the cache.
    /// Under any policy they bypass it if they also have `If-Match`, `If-Unmodified-Since` or a range.
    public func respondingToConditionalRequests() -> CachePolicy {
        var policy = self
        policy.answersConditionalRequests = true
        return policy
    }
}

/// The plan for a request.
enum CachePlan: Sendable, Equatable {
    /// The cache does not apply.
    case bypass
    /// Serves the stored response at this index, perhaps with a background validation.
    case serve(Int, CacheUse)
    /// Sends the request to the server.
    case forward(CacheConditions?)
    /// No stored response may be served, and the request's own `only-if-cached` forbids the network.
    case gatewayTimeout
    /// No stored response may be served, and the call's options forbid the network: the call throws.
    case cacheMiss
}

/// How a stored response is served.
struct CacheUse: Sendable, Equatable {
    /// `.cache` while fresh, else `.stale`.
    let origin: PulseResponse.Origin
    /// In seconds, for the `Age` field (RFC 9111, section 5.1).
    let age: Int
    let revalidates: Bool

    init(origin: PulseResponse.Origin, age: Int, revalidates: Bool = false) {
        self.origin = origin
        self.age = age
        self.revalidates = revalidates
    }
}

/// The verdict on a response of the server.
enum CacheVerdict: Sendable, Equatable {
    /// The response concerns no stored entry.
    case pass
    /// The response is stored under this head: a whole response, or a part (RFC 9111, section 3.3).
    case store(CachedHead)
    /// The stored response at this index is confirmed and served with this head; stored only if `mayStore`.
    case confirm(Int, CachedHead, mayStore: Bool)
    /// The stored response at this index counts as stale from now on: it is stored with this head.
    case outdate(Int, CachedHead)
    /// The response completes the stored parts at this index. The whole is served with this head; stored only if
    /// `mayStore`.
    case complete(Int, CachedHead, mayStore: Bool)
    /// The stored response at this index is valid and served unchanged: the 304 may not update it.
    case reuse(Int)
    /// The server failed; the stored response at this index may be served.
    case serveStale(Int, CacheUse)
    /// The response may not be stored, and the stored one is removed.
    case replace
    /// The response fits no stored entry: the request is resent without the cache's conditions.
    case refetch
}
