// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

extension CachePolicy {
    /// What to do for a request, given what is stored under its key.
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

    /// Whether a stored answer could answer the request at all.
    func canServe(_ request: CachedRequest) -> Bool {
        guard !request.isForServerAlone else { return false }
        // A condition on anything but a reading of the resource is not one that a cache can judge.
        if request.conditions != nil, !answersConditionalRequests || request.method == .query { return false }
        switch request.method {
        case .get: return true
        case .head, .query: return rules == .rfc9111
        case .unsafe, .other: return false
        }
    }

    /// The most recent of the answers that match, by their `Date` and then by when they came (RFC 9111, section 4). One
    /// without `Vary` matches every request, and gives way to those that were chosen for such a one (section 4.1).
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

    /// Whether every field that `Vary` named has the value that it had (RFC 9111, section 4.1). A `*` never matches.
    func matches(_ head: CachedHead, _ request: CachedRequest) -> Bool {
        head.selectingFields.allSatisfy { $0.name != "*" && $0 == request.selectingField($0.name) }
    }

    private static func date(of head: CachedHead) -> Date {
        head.headers["Date"].flatMap { HTTPDate.parse($0, now: head.responseTime) } ?? head.responseTime
    }

    // MARK: Use without asking

    /// How a matching answer may be used without asking the server, if it may (RFC 9111, section 4).
    private func use(
        _ freshness: CacheFreshness, for request: CachedRequest, _ mode: RequestOptions.Cache
    ) -> CacheUse? {
        let isFresh = freshness.isFresh
        // RFC 9111, section 5.2.2.4: never used without asking.
        guard !freshness.control.noCache else { return nil }
        let unvalidated = CacheUse(origin: isFresh ? .cache : .stale, age: freshness.ageInSeconds)
        switch mode {
        case .reload:
            return nil
        case .revalidate:
            // RFC 8246, section 2: nothing to ask about while it is fresh.
            return isFresh && freshness.control.immutable ? unvalidated : nil
        case .cacheElseNetwork, .onlyIfCached:
            return isFresh || !freshness.mustNotBeStale ? unvalidated : nil
        case .staleWhileRevalidate:
            guard !isFresh else { return unvalidated }
            // Of a request with `no-store` nothing would be kept behind it.
            let revalidates = !request.directives.noStore
            return freshness.mustNotBeStale
                ? nil : CacheUse(origin: .stale, age: freshness.ageInSeconds, revalidates: revalidates)
        case .default:
            return isAcceptable(freshness, to: request.directives)
                ? unvalidated : useWhileRevalidating(freshness, for: request.directives)
        }
    }

    /// Whether the request's own directives and the answer's lifetime allow it (RFC 9111, sections 4.2 and 5.2.1).
    private func isAcceptable(_ freshness: CacheFreshness, to directives: CacheControl) -> Bool {
        // Section 5.2.1.4.
        guard !directives.noCache else { return false }
        if freshness.isFresh, isAsYoung(freshness, as: directives) { return true }
        // Section 5.2.1.2: stale, or older than the request's own `max-age`, by that much at most.
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

    /// Whether it is as young, and stays fresh for as long, as the request asks (RFC 9111, sections 5.2.1.1 and
    /// 5.2.1.3).
    func isAsYoung(_ freshness: CacheFreshness, as directives: CacheControl) -> Bool {
        // An answer that stays the same while fresh is as good as a new one (RFC 8246).
        let isYoungEnough =
            freshness.age <= Self.seconds(directives.maxAge, absent: .infinity)
            || freshness.control.immutable && freshness.isFresh
        guard isYoungEnough, let minFresh = directives.minFresh else { return isYoungEnough }
        return freshness.age + Self.seconds(minFresh, missing: .infinity) <= freshness.lifetime
    }

    /// RFC 5861, section 3: stale for a while, with a validation behind it, unless the request asks for better.
    private func useWhileRevalidating(_ freshness: CacheFreshness, for directives: CacheControl) -> CacheUse? {
        guard case .value(let window)? = freshness.control.staleWhileRevalidate, !freshness.mustNotBeStale,
            !directives.noCache, !directives.noStore, directives.maxAge == nil, directives.minFresh == nil,
            !freshness.isFresh, freshness.staleness <= TimeInterval(window)
        else { return nil }
        return CacheUse(origin: .stale, age: freshness.ageInSeconds, revalidates: true)
    }

    /// The argument in seconds; one that is not a number counts as the strictest.
    private static func seconds(
        _ seconds: CacheControl.Seconds?, absent: TimeInterval = 0, missing: TimeInterval = 0
    ) -> TimeInterval {
        switch seconds {
        case nil: absent
        case .value(let value): TimeInterval(value)
        case .missing, .invalid: missing
        }
    }

    // MARK: Asking

    /// RFC 9111, section 4.3.1: the entity tag of every stored answer that could be used, and the date of the one that
    /// matches. One that lacks bytes cannot be used: a 304 would not bring them.
    private func conditions(
        for request: CachedRequest, _ mode: RequestOptions.Cache, _ stored: [CachedHead], _ selected: Int?
    ) -> CacheConditions? {
        // An answer to HEAD is never a body, and what must not be stored cannot be put together with what is.
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
        // Beside tags of the caller's a date would count for nothing.
        let lastModified =
            request.conditions?.ifNoneMatch == nil ? selected.flatMap { Self.lastModified(of: stored[$0]) } : nil
        return tags.isEmpty && lastModified == nil ? nil : CacheConditions(entityTags: tags, lastModified: lastModified)
    }

    static func lastModified(of head: CachedHead) -> String? {
        head.headers["Last-Modified"].flatMap { HTTPDate.parse($0, now: head.responseTime) == nil ? nil : $0 }
    }
}
