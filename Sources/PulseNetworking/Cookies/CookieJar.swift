// SPDX-License-Identifier: MIT

import PulseCore

/// What a cookie store holds, as a value (RFC 6265, sections 5.3 and 5.4).
struct CookieJar: Sendable {
    private(set) var cookies: [Cookie.Key: Cookie] = [:]
    /// When each was last sent or set; nil if that was not since the jar was made.
    private var uses: [Cookie.Key: Date] = [:]
    private let limit: Int
    private let domainLimit: Int

    /// - Parameter limit: of all cookies, and of one domain (RFC 6265, section 6.1, has these as the least).
    init(_ cookies: some Sequence<Cookie> = [], limit: Int = 3000, domainLimit: Int = 50) {
        self.limit = limit
        self.domainLimit = domainLimit
        for cookie in cookies { self.cookies[cookie.key] = cookie }
    }

    /// The cookies that a request to that URL carries: longer paths first, then the older ones.
    func cookies(for url: URL, now: Date) -> [Cookie] {
        guard let origin = CookieOrigin(url) else { return [] }
        return cookies.values
            .filter { !$0.isExpired(at: now) && $0.goes(to: origin.host, path: origin.path, isSecure: origin.isSecure) }
            .sorted { left, right in
                if left.path.utf8.count != right.path.utf8.count { return left.path.utf8.count > right.path.utf8.count }
                return left.created != right.created ? left.created < right.created : left.name < right.name
            }
    }

    /// The `Cookie` header of a request that is about to be sent.
    mutating func header(for url: URL, now: Date) -> String? {
        let cookies = cookies(for: url, now: now)
        for cookie in cookies { uses[cookie.key] = now }
        return cookies.isEmpty ? nil : cookies.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
    }

    /// Takes in the lines of an answer; tells whether anything has changed.
    mutating func store(_ lines: [String], from url: URL, now: Date) -> Bool {
        guard let origin = CookieOrigin(url) else { return false }
        var hasChanged = false
        for line in lines {
            guard var cookie = Cookie(setCookie: line, from: origin, now: now) else { continue }
            guard origin.isSecure || !isOverlaid(cookie, now) else { continue }
            let old = cookies[cookie.key]
            cookie.created = old?.created ?? cookie.created
            let new = cookie.isExpired(at: now) ? nil : cookie
            uses[cookie.key] = new == nil ? nil : now
            guard new != old else { continue }
            cookies[cookie.key] = new
            hasChanged = true
            if old == nil { evict(for: cookie.domain, now: now) }
        }
        return hasChanged
    }

    mutating func removeAll() {
        (cookies, uses) = ([:], [:])
    }

    /// Whether a secure cookie of that name is there: one that came in the clear must not take its place (RFC 6265bis,
    /// section 5.7).
    private func isOverlaid(_ cookie: Cookie, _ now: Date) -> Bool {
        cookies.values.contains { other in
            other.isSecure && other.key.name == cookie.key.name && !other.isExpired(at: now)
                && (CookieRules.domain(other.domain, matches: cookie.domain)
                    || CookieRules.domain(cookie.domain, matches: other.domain))
                && CookieRules.path(other.path, matches: cookie.path)
        }
    }

    /// Makes room after a new cookie: expired ones first, then those of its domain, then of all; of these the one that
    /// was used least recently (RFC 6265, section 5.3). Within a domain those that came in the clear go before secure
    /// ones, which else they could push out (RFC 6265bis, section 5.7).
    private mutating func evict(for domain: String, now: Date) {
        guard cookies.count > domainLimit else { return }
        let group = cookies.values.filter { $0.domain == domain }
        guard group.count > domainLimit || cookies.count > limit else { return }
        cookies = cookies.filter { !$0.value.isExpired(at: now) }
        remove(cookies.values.filter { $0.domain == domain }, beyond: domainLimit, sparesSecure: true)
        remove(Array(cookies.values), beyond: limit, sparesSecure: false)
        uses = uses.filter { cookies[$0.key] != nil }
    }

    private mutating func remove(_ group: [Cookie], beyond limit: Int, sparesSecure: Bool) {
        guard group.count > limit else { return }
        func rank(_ cookie: Cookie) -> (Int, Date, Date, String) {
            let isSpared = sparesSecure && cookie.isSecure
            return (isSpared ? 1 : 0, uses[cookie.key] ?? cookie.created, cookie.created, cookie.name)
        }
        for cookie in group.sorted(by: { rank($0) < rank($1) }).prefix(group.count - limit) {
            cookies[cookie.key] = nil
        }
    }
}
