// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// The rules by which answers are stored and used again. A pure value: it decides, and ``CachePlugin`` acts.
public struct CachePolicy: Sendable, Hashable {
    enum Rules: Sendable, Hashable {
        case rfc9111
        case timeToLive(TimeInterval)
    }

    let rules: Rules
    /// Whether a caller's own conditions are judged here.
    private(set) var answersConditionalRequests = false

    private init(rules: Rules) {
        self.rules = rules
    }

    /// HTTP's own rules for a private cache: RFC 9111, with `stale-while-revalidate` and `stale-if-error` (RFC 5861)
    /// and `immutable` (RFC 8246).
    public static let rfc9111 = CachePolicy(rules: .rfc9111)

    /// Keeps answers of status 200 to GET fresh for that many seconds, whatever the server says, except `no-store`.
    /// Zero, a negative number and NaN keep nothing fresh.
    public static func timeToLive(_ seconds: TimeInterval) -> CachePolicy {
        CachePolicy(rules: .timeToLive(seconds > 0 ? seconds : 0))
    }

    /// The same rules, which also answer a request with an `If-None-Match` or `If-Modified-Since` of the caller's own:
    /// with a 304 if the stored response is fresh and is what the caller has, else with the whole response (RFC 9111,
    /// section 4.3.2). For apps that have a store of their own behind the client. Without this such requests pass by
    /// the cache, as they do under any policy if they have `If-Match`, `If-Unmodified-Since` or a range as well.
    public func answeringConditionalRequests() -> CachePolicy {
        var policy = self
        policy.answersConditionalRequests = true
        return policy
    }
}

/// What is to be done for a request.
enum CachePlan: Sendable, Equatable {
    /// The cache has nothing to do with it.
    case bypass
    /// The stored answer of that index, and perhaps a validation behind it.
    case serve(Int, CacheUse)
    /// Asks the server.
    case forward(CacheConditions?)
    /// Nothing that may be served, and the network is not to be asked: the request's own `only-if-cached`.
    case gatewayTimeout
    /// The same by the call's options, which get an error.
    case cacheMiss
}

/// How a stored answer is served.
struct CacheUse: Sendable, Equatable {
    /// `.cache` while fresh, else `.stale`.
    let origin: PulseResponse.Origin
    /// Seconds, for the `Age` field (RFC 9111, section 5.1).
    let age: Int
    let revalidates: Bool

    init(origin: PulseResponse.Origin, age: Int, revalidates: Bool = false) {
        self.origin = origin
        self.age = age
        self.revalidates = revalidates
    }
}

/// What is to be done with an answer of the server.
// Indirect where it holds a head, so that it takes little room in the frames of asynchronous functions.
enum CacheVerdict: Sendable, Equatable {
    /// It concerns nothing that is stored.
    case pass
    /// It is stored, under this head: a whole response, or a part (RFC 9111, section 3.3).
    indirect case store(CachedHead)
    /// The stored answer of that index holds and is served with this head; kept only if `keeps`.
    indirect case confirm(Int, CachedHead, mayStore: Bool)
    /// The response is the rest of the stored parts of that index: together they are served as a whole response with
    /// this head, which is stored only if `keeps`.
    indirect case complete(Int, CachedHead, mayStore: Bool)
    /// The stored answer of that index holds and is served as it is stored: the 304 may not change it.
    case reuse(Int)
    /// The server cannot answer; the stored answer of that index may stand in.
    case serveStale(Int, CacheUse)
    /// It may not be stored, and what is stored goes.
    case replace
    /// A response to a question of the cache that fits nothing stored: the request goes out again as it came.
    case refetch
}
