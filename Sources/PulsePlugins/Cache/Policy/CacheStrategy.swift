// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// What the cache does with a request, given the entries under its key (RFC 9111, section 4).
enum CacheStrategy: Sendable, Equatable {
    /// Serves the stored response at this index.
    case use(Int, CacheUse)
    /// Serves the stale response at this index, and validates it in the background (RFC 5861, section 3).
    case useAndRevalidate(Int, CacheUse)
    /// Sends the request with conditions: to validate stored responses, or to complete a partial one.
    case validate(CacheConditions)
    /// Sends the request without conditions.
    case fetch
    /// Fails: no stored response may be served, and the network is forbidden.
    case fail(Refusal)

    enum Refusal: Sendable {
        /// By the request's own `only-if-cached` (RFC 9111, section 5.2.1.7).
        case gatewayTimeout
        /// By the call's options: the call throws.
        case cacheMiss
    }

    /// - Parameter request: a request that the policy can serve.
    init(
        for request: CachedRequest, mode: RequestOptions.Cache, stored: [CachedResponse.Head], by policy: CachePolicy,
        now: Date
    ) {
        let selected = mode == .reload ? nil : policy.select(from: stored, for: request)
        if let selected, request.canBeServed(by: stored[selected]) {
            let freshness = CacheFreshness(of: stored[selected], by: policy, now: now)
            if Self.mayUse(freshness, for: request.directives, mode) {
                self = .use(selected, CacheUse(freshness))
                return
            }
            if Self.mayRevalidateLater(freshness, for: request.directives, mode) {
                self = .useAndRevalidate(selected, CacheUse(freshness))
                return
            }
        }
        if mode == .onlyIfCached {
            self = .fail(.cacheMiss)
        } else if request.directives.onlyIfCached {
            self = .fail(.gatewayTimeout)
        } else if let conditions = Self.conditions(for: request, mode, stored, selected) {
            self = .validate(conditions)
        } else {
            self = .fetch
        }
    }

    /// How the stored response is served; nil if none is.
    var use: CacheUse? {
        switch self {
        case .use(_, let use), .useAndRevalidate(_, let use): use
        case .validate, .fetch, .fail: nil
        }
    }

    /// The conditions of the request that is sent.
    var conditions: CacheConditions? {
        if case .validate(let conditions) = self { conditions } else { nil }
    }

    // MARK: Use without validation

    /// Whether a matching response may be used without any validation (RFC 9111, section 4).
    private static func mayUse(
        _ freshness: CacheFreshness, for directives: CacheControl, _ mode: RequestOptions.Cache
    ) -> Bool {
        // Section 5.2.2.4.
        guard !freshness.control.noCache else { return false }
        switch mode {
        case .reload, .bypass: return false
        // RFC 8246, section 2: no validation while it is fresh.
        case .revalidate: return freshness.isFresh && freshness.control.immutable
        case .cacheElseNetwork, .onlyIfCached: return freshness.isFresh || !freshness.mustNotBeStale
        // For a request with `no-store`, a validation could store nothing.
        case .staleWhileRevalidate: return freshness.isFresh || !freshness.mustNotBeStale && directives.noStore
        case .default: return isAcceptable(freshness, to: directives)
        }
    }

    /// Whether a stale response may be served for now and validated later: because the call asks for it, or within the
    /// server's `stale-while-revalidate`, unless the request is stricter (RFC 5861, section 3).
    private static func mayRevalidateLater(
        _ freshness: CacheFreshness, for directives: CacheControl, _ mode: RequestOptions.Cache
    ) -> Bool {
        guard !freshness.isFresh, !freshness.mustNotBeStale, !directives.noStore else { return false }
        if mode == .staleWhileRevalidate { return true }
        guard mode == .default, case .value(let window)? = freshness.control.staleWhileRevalidate else { return false }
        return !directives.noCache && directives.maxAge == nil && directives.minFresh == nil
            && freshness.staleness <= TimeInterval(window)
    }

    /// Whether the request's directives and the response's lifetime allow the use (RFC 9111, sections 4.2 and 5.2.1).
    private static func isAcceptable(_ freshness: CacheFreshness, to directives: CacheControl) -> Bool {
        // Section 5.2.1.4.
        guard !directives.noCache else { return false }
        if freshness.isFresh, freshness.isAsYoung(as: directives) { return true }
        // Section 5.2.1.2: `max-stale` allows a response this much past its lifetime, or past the request's own
        // `max-age`.
        guard let maxStale = directives.maxStale, !freshness.mustNotBeStale, !freshness.isAgeUnknown else {
            return false
        }
        let age = freshness.age + directives.minFresh.seconds(missing: .infinity)
        let limit = min(freshness.lifetime, directives.maxAge.seconds(absent: .infinity))
        switch maxStale {
        case .missing: return true
        case .value(let seconds): return age <= limit + TimeInterval(seconds)
        case .invalid: return false
        }
    }

    // MARK: Validation

    /// RFC 9111, section 4.3.1: the entity tags of all usable stored responses, and the date of the matching one. A
    /// partial response that lacks requested bytes is not usable: a 304 would not supply them.
    private static func conditions(
        for request: CachedRequest, _ mode: RequestOptions.Cache, _ stored: [CachedResponse.Head], _ selected: Int?
    ) -> CacheConditions? {
        // A response to HEAD has no body, and a response that must not be stored cannot be combined with stored ones.
        guard mode != .reload, request.method != .head, !request.directives.noStore else { return nil }
        if let selected, !request.canBeServed(by: stored[selected]) {
            return CacheRest(of: stored[selected], selected, for: request).map {
                CacheConditions(entityTags: [], lastModified: nil, rest: $0)
            }
        }
        var tags: [String] = []
        for head in stored where request.canBeServed(by: head) {
            guard let tag = EntityTag(of: head.headers)?.text, !tags.contains(tag) else { continue }
            tags.append(tag)
        }
        var lastModified: String?
        // The server ignores a date next to the caller's own tags.
        if let selected, request.conditions?.ifNoneMatch == nil, let text = stored[selected].headers["Last-Modified"],
            HTTPDate.parse(text, now: stored[selected].responseTime) != nil
        {
            lastModified = text
        }
        return tags.isEmpty && lastModified == nil ? nil : CacheConditions(entityTags: tags, lastModified: lastModified)
    }
}

/// How a stored response is served.
struct CacheUse: Sendable, Equatable {
    /// `.cache` while fresh, else `.stale`.
    let origin: PulseResponse.Origin
    /// In seconds, for the `Age` field (RFC 9111, section 5.1).
    let age: Int
}

extension CacheUse {
    init(_ freshness: CacheFreshness) {
        self.init(origin: freshness.isFresh ? .cache : .stale, age: freshness.ageInSeconds)
    }
}
