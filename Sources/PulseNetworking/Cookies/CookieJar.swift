// SPDX-License-Identifier: MIT

import PulseCore

/// What a cookie store holds, as a value (RFC 6265, sections 5.3 and 5.4).
///
/// Neither a response nor a file makes it slow: a cookie is looked for in its own domain, which holds few.
struct CookieJar: Sendable {
    private(set) var cookies: [Cookie.Key: Cookie] = [:]
    /// When each was last sent or set; nil if that was not since the jar was made.
    private var uses: [Cookie.Key: Date] = [:]
    /// The cookies of each domain.
    private var domains: [[UInt8]: Set<Cookie.Key>] = [:]
    /// The secure ones of each name.
    private var secure: [[UInt8]: Set<Cookie.Key>] = [:]
    private let limit: Int
    private let domainLimit: Int

    /// - Parameter limit: of all cookies, and of one domain (RFC 6265, section 6.1, has these as the least).
    init(_ cookies: some Sequence<Cookie> = [], limit: Int = 3000, domainLimit: Int = 50) {
        self.limit = limit
        self.domainLimit = domainLimit
        for cookie in cookies { put(cookie, for: cookie.key) }
        for group in domains.values { remove(group, beyond: domainLimit, sparesSecure: true) }
        remove(self.cookies.keys, beyond: limit, sparesSecure: false)
    }

    /// The cookies that a request to that URL carries: longer paths first, then the older ones.
    func cookies(for url: URL, now: Date) -> [Cookie] {
        guard let origin = CookieOrigin(url) else { return [] }
        return CookieRules.domains(of: origin.host).flatMap { domains[$0] ?? [] }.compactMap { cookies[$0] }
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
        for (key, cookie) in lasting(lines, from: origin, now) {
            guard origin.isSecure || !isOverlaid(cookie, now) else { continue }
            let old = cookies[key]
            var cookie = cookie
            cookie.created = old?.created ?? cookie.created
            let new = cookie.isExpired(at: now) ? nil : cookie
            uses[key] = new == nil ? nil : now
            guard new != old else { continue }
            put(new, for: key)
            hasChanged = true
            if old == nil { evict(for: key.domain, now: now) }
        }
        return hasChanged
    }

    mutating func removeAll() {
        self = CookieJar(limit: limit, domainLimit: domainLimit)
    }

    /// The cookies of an answer, the last of each name, domain and path. Of more than a domain may have only the last
    /// ones: they would push out the others. One that ends a cookie which is not there does nothing.
    private func lasting(_ lines: [String], from origin: CookieOrigin, _ now: Date) -> [(Cookie.Key, Cookie)] {
        var last: [(Cookie.Key, Cookie)] = []
        var seen: Set<Cookie.Key> = []
        var newCount = 0
        for line in lines.reversed() {
            StepCount.add()
            guard let cookie = Cookie(setCookie: line, from: origin, now: now) else { continue }
            let key = cookie.key
            guard seen.insert(key).inserted else { continue }
            if cookies[key] == nil {
                guard !cookie.isExpired(at: now), newCount < domainLimit else { continue }
                newCount += 1
            }
            last.append((key, cookie))
        }
        return last.reversed()
    }

    /// Whether a secure cookie of that name is there: one that came in the clear must not take its place (RFC 6265bis,
    /// section 5.7).
    private func isOverlaid(_ cookie: Cookie, _ now: Date) -> Bool {
        secure[Array(cookie.name.utf8)]?.contains { key in
            StepCount.add()
            guard let other = cookies[key], !other.isExpired(at: now) else { return false }
            return
                (CookieRules.domain(other.domain, matches: cookie.domain)
                || CookieRules.domain(cookie.domain, matches: other.domain))
                && CookieRules.path(other.path, matches: cookie.path)
        } ?? false
    }

    /// Puts a cookie in, in place of the old one; nil takes the old one out.
    private mutating func put(_ new: Cookie?, for key: Cookie.Key) {
        let old = cookies.removeValue(forKey: key)
        if old?.isSecure == true { secure.remove(key, from: key.name) }
        guard let new else {
            domains.remove(key, from: key.domain)
            uses[key] = nil
            return
        }
        cookies[key] = new
        domains[key.domain, default: []].insert(key)
        if new.isSecure { secure[key.name, default: []].insert(key) }
    }

    /// Makes room after a new cookie: expired ones first, then those of its domain, then of all; of these the one that
    /// was used least recently (RFC 6265, section 5.3). Within a domain those that came in the clear go before secure
    /// ones, which else they could push out (RFC 6265bis, section 5.7).
    private mutating func evict(for domain: [UInt8], now: Date) {
        if let group = domains[domain], group.count > domainLimit {
            removeExpired(group, now)
            remove(domains[domain] ?? [], beyond: domainLimit, sparesSecure: true)
        }
        // All are looked at only once in a while, and then as many go as make that worth it.
        if cookies.count > limit + limit / 32 {
            removeExpired(cookies.keys, now)
            remove(cookies.keys, beyond: limit, sparesSecure: false)
        }
    }

    private mutating func removeExpired(_ group: some Collection<Cookie.Key>, _ now: Date) {
        StepCount.add(group.count)
        for key in Array(group) where cookies[key]?.isExpired(at: now) == true { put(nil, for: key) }
    }

    private mutating func remove(_ group: some Collection<Cookie.Key>, beyond limit: Int, sparesSecure: Bool) {
        guard group.count > limit else { return }
        StepCount.add(group.count)
        func rank(_ cookie: Cookie) -> (Int, Date, Date, String) {
            let isSpared = sparesSecure && cookie.isSecure
            return (isSpared ? 1 : 0, uses[cookie.key] ?? cookie.created, cookie.created, cookie.name)
        }
        let ranked = group.compactMap { cookies[$0] }.map { (rank: rank($0), key: $0.key) }.sorted { $0.rank < $1.rank }
        for (_, key) in ranked.prefix(ranked.count - limit) { put(nil, for: key) }
    }
}

extension [[UInt8]: Set<Cookie.Key>] {
    fileprivate mutating func remove(_ key: Cookie.Key, from group: [UInt8]) {
        self[group]?.remove(key)
        if self[group]?.isEmpty == true { self[group] = nil }
    }
}
