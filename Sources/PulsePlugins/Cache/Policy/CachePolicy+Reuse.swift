// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

extension CachePolicy {
    /// The plan for a request, given the entries stored under its key.
    func plan(
        for request: CachedRequest, mode: RequestOptions.Cache, stored: [CachedHead], now: Date
    ) -> CachePlan {
        guard canServe(request) else { return .bypass }
        let selected = mode == .reload ? nil : select(from: stored, for: request)
        if let selected, request.canBeServed(by: stored[selected]),
            let use = use(CacheFreshness(of: stored[selected], by: self, now: now), for: request, mode)
        {
            return .serve(selected, use)
        }
        if mode == .onlyIfCached { return .cacheMiss }
        // RFC 9111, section 5.2.1.7.
        if request.directives.onlyIfCached { return .gatewayTimeout }
        return .forward(conditions(for: request, mode, stored, selected))
    }

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
    func select(from stored: [CachedHead], for request: CachedRequest) -> Int? {
        var matching = stored.indices.filter { matches(stored[$0], request) }
        guard matching.count > 1 else { return matching.first }
        let chosen = matching.filter { !stored[$0].selectingFields.isEmpty }
        if !chosen.isEmpty { matching = chosen }
        return matching.max { left, right in
            let (left, right) = (stored[left], stored[right])
            return (Self.date(of: left), left.responseTime) < (Self.date(of: right), right.responseTime)
        }
    }

    /// Whether every field named by `Vary` has the stored value (RFC 9111, section 4.1). A `*` never matches.
    func matches(_ head: CachedHead, _ request: CachedRequest) -> Bool {
        head.selectingFields.allSatisfy { $0.name != "*" && $0 == request.selectingField($0.name) }
    }

    private static func date(of head: CachedHead) -> Date {
        head.headers["Date"].flatMap { HTTPDate.parse($0, now: head.responseTime) } ?? head.responseTime
    }

    // MARK: Use without validation

    /// How a matching response may be used without validation; nil if it may not (RFC 9111, section 4).
    private func use(
        _ freshness: CacheFreshness, for request: CachedRequest, _ mode: RequestOptions.Cache
    ) -> CacheUse? {
        let isFresh = freshness.isFresh
        // RFC 9111, section 5.2.2.4: never used without validation.
        guard !freshness.control.noCache else { return nil }
        let unvalidated = CacheUse(origin: isFresh ? .cache : .stale, age: freshness.ageInSeconds)
        switch mode {
        case .reload, .bypass:
            return nil
        case .revalidate:
            // RFC 8246, section 2: no validation while it is fresh.
            return isFresh && freshness.control.immutable ? unvalidated : nil
        case .cacheElseNetwork, .onlyIfCached:
            return isFresh || !freshness.mustNotBeStale ? unvalidated : nil
        case .staleWhileRevalidate:
            guard !isFresh else { return unvalidated }
            // For a request with `no-store`, a validation could store nothing.
            let revalidates = !request.directives.noStore
            return freshness.mustNotBeStale
                ? nil : CacheUse(origin: .stale, age: freshness.ageInSeconds, revalidates: revalidates)
        case .default:
            return isAcceptable(freshness, to: request.directives)
                ? unvalidated : useWhileRevalidating(freshness, for: request.directives)
        }
    }

    /// Whether the request's directives and the response's lifetime allow the use (RFC 9111, sections 4.2 and 5.2.1).
    private func isAcceptable(_ freshness: CacheFreshness, to directives: CacheControl) -> Bool {
        // Section 5.2.1.4.
        guard !directives.noCache else { return false }
        if freshness.isFresh, isAsYoung(freshness, as: directives) { return true }
        // Section 5.2.1.2: `max-stale` allows a response this much past its lifetime, or past the request's own
        // `max-age`.
        guard let maxStale = directives.maxStale, !freshness.mustNotBeStale, !freshness.isAgeUnknown else {
            return false
        }
        let age = freshness.age + Self.seconds(directives.minFresh, missing: .infinity)
        let limit = min(freshness.lifetime, Self.seconds(directives.maxAge, absent: .infinity))
        switch maxStale {
        case .missing: return true
        case .value(let seconds): return age <= limit + TimeInterval(seconds)
        case .invalid: return false
        }
    }

    /// Whether the response is as young, and stays fresh as long, as the request demands (RFC 9111, sections 5.2.1.1
    /// and 5.2.1.3).
    func isAsYoung(_ freshness: CacheFreshness, as directives: CacheControl) -> Bool {
        // An immutable response is as good as a new one while it is fresh (RFC 8246).
        let isYoungEnough =
            freshness.age <= Self.seconds(directives.maxAge, absent: .infinity)
            || freshness.control.immutable && freshness.isFresh
        guard isYoungEnough, let minFresh = directives.minFresh else { return isYoungEnough }
        return freshness.age + Self.seconds(minFresh, missing: .infinity) <= freshness.lifetime
    }

    /// RFC 5861, section 3: stale use for a while with a background validation, unless the request demands better.
    private func useWhileRevalidating(_ freshness: CacheFreshness, for directives: CacheControl) -> CacheUse? {
        guard case .value(let window)? = freshness.control.staleWhileRevalidate, !freshness.mustNotBeStale,
            !directives.noCache, !directives.noStore, directives.maxAge == nil, directives.minFresh == nil,
            !freshness.isFresh, freshness.staleness <= TimeInterval(window)
        else { return nil }
        return CacheUse(origin: .stale, age: freshness.ageInSeconds, revalidates: true)
    }

    /// The argument in seconds; an invalid argument counts as the strictest value.
    private static func seconds(
        _ seconds: CacheControl.Seconds?, absent: TimeInterval = 0, missing: TimeInterval = 0
    ) -> TimeInterval {
        switch seconds {
        case nil: absent
        case .value(let value): TimeInterval(value)
        case .missing, .invalid: missing
        }
    }

    // MARK: Validation

    /// RFC 9111, section 4.3.1: the entity tags of all usable stored responses, and the date of the matching one. A
    /// partial response that lacks requested bytes is not usable: a 304 would not supply them.
    private func conditions(
        for request: CachedRequest, _ mode: RequestOptions.Cache, _ stored: [CachedHead], _ selected: Int?
    ) -> CacheConditions? {
        // A response to HEAD has no body, and a response that must not be stored cannot be combined with stored ones.
        guard mode != .reload, request.method != .head, !request.directives.noStore else { return nil }
        if let selected, !request.canBeServed(by: stored[selected]) {
            return rest(for: request, of: stored[selected], selected).map {
                CacheConditions(entityTags: [], lastModified: nil, rest: $0)
            }
        }
        var tags: [String] = []
        for head in stored where request.canBeServed(by: head) {
            guard let tag = EntityTag(of: head.headers)?.text, !tags.contains(tag) else { continue }
            tags.append(tag)
        }
        // The server ignores a date next to the caller's own tags.
        let lastModified =
            request.conditions?.ifNoneMatch == nil ? selected.flatMap { Self.lastModified(of: stored[$0]) } : nil
        return tags.isEmpty && lastModified == nil ? nil : CacheConditions(entityTags: tags, lastModified: lastModified)
    }

    static func lastModified(of head: CachedHead) -> String? {
        head.headers["Last-Modified"].flatMap { HTTPDate.parse($0, now: head.responseTime) == nil ? nil : $0 }
    }
}
