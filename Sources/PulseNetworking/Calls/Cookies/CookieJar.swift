// SPDX-License-Identifier: MIT

import PulseCore

/// The contents of a cookie store, as a value (RFC 6265, sections 5.3 and 5.4).
///
/// Large responses or files cannot make it slow: a lookup scans only the few cookies of the host's domains.
struct CookieJar: Sendable {
    private(set) var cookies: [Cookie.Key: Cookie] = [:]
    /// When each cookie was last sent or set; nil if not since the jar was created.
    private var uses: [Cookie.Key: Date] = [:]
    /// The cookie keys of each domain.
    private var domains: [[UInt8]: Set<Cookie.Key>] = [:]
    /// The keys of secure cookies by name.
    private var secure: [[UInt8]: Set<Cookie.Key>] = [:]
    /// The creation time of the newest cookie. The next cookie gets a later time, even in the same response, since
    /// requests send older cookies first.
    private var lastCreated = Date.distantPast
    private let limit: Int
    private let domainLimit: Int

    /// - Parameter limit: the maximum number of cookies; `domainLimit` is the maximum per domain. RFC 6265, section
    ///   6.1, gives these values as minimums.
    init(_ cookies: some Sequence<Cookie> = [], limit: Int = 3000, domainLimit: Int = 50) {
        self.limit = limit
        self.domainLimit = domainLimit
        for cookie in cookies { put(cookie, for: cookie.key) }
        for group in domains.values { remove(group, beyond: domainLimit, protectsSecure: true) }
        remove(self.cookies.keys, beyond: limit, protectsSecure: false)
    }

    /// The cookies that a request to this URL carries: longer paths first, then older cookies first.
    func cookies(for url: URL, now: Date) -> [Cookie] {
        guard let origin = CookieOrigin(url) else { return [] }
        return CookieRules.domains(of: origin.host).flatMap { domains[$0] ?? [] }.compactMap { cookies[$0] }
            .filter {
                !$0.isExpired(at: now) && $0.matches(host: origin.host, path: origin.path, isSecure: origin.isSecure)
            }
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

    /// Stores the `Set-Cookie` lines of a response. Returns whether anything has changed.
    mutating func store(_ lines: [String], from url: URL, now: Date) -> Bool {
        guard let origin = CookieOrigin(url) else { return false }
        var hasChanged = false
        for (key, cookie) in effectiveCookies(lines, from: origin, now) {
            guard origin.isSecure || !isShadowed(cookie, now) else { continue }
            let old = cookies[key]
            var cookie = cookie
            cookie.created = old?.created ?? max(cookie.created, lastCreated + 0.000_001)
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

    /// The cookies of a response: the last one for each name, domain and path, in the order of their first lines. Only
    /// the last `domainLimit` new ones count: the rest would be evicted. The expiry of an unknown cookie is ignored.
    private func effectiveCookies(_ lines: [String], from origin: CookieOrigin, _ now: Date) -> [(Cookie.Key, Cookie)] {
        var last: [(Cookie.Key, Cookie)] = []
        var firstLines: [Cookie.Key: Int] = [:]
        var newCount = 0
        for (number, line) in lines.enumerated().reversed() {
            StepCount.add()
            guard let cookie = Cookie(setCookie: line, from: origin, now: now) else { continue }
            let key = cookie.key
            guard firstLines.updateValue(number, forKey: key) == nil else { continue }
            if cookies[key] == nil {
                guard !cookie.isExpired(at: now), newCount < domainLimit else { continue }
                newCount += 1
            }
            last.append((key, cookie))
        }
        return last.sorted { (firstLines[$0.0] ?? 0) < (firstLines[$1.0] ?? 0) }
    }

    /// Whether a secure cookie of that name exists. A cookie set over cleartext must not replace it (RFC 6265bis,
    /// section 5.7).
    private func isShadowed(_ cookie: Cookie, _ now: Date) -> Bool {
        secure[Array(cookie.name.utf8)]?.contains { key in
            StepCount.add()
            guard let other = cookies[key], !other.isExpired(at: now) else { return false }
            return
                (CookieRules.domain(other.domain, matches: cookie.domain)
                || CookieRules.domain(cookie.domain, matches: other.domain))
                && CookieRules.path(other.path, matches: cookie.path)
        } ?? false
    }

    /// Replaces the cookie of a key; nil removes it.
    private mutating func put(_ new: Cookie?, for key: Cookie.Key) {
        let old = cookies.removeValue(forKey: key)
        if old?.isSecure == true { secure.remove(key, from: key.name) }
        guard let new else {
            domains.remove(key, from: key.domain)
            uses[key] = nil
            return
        }
        cookies[key] = new
        lastCreated = max(lastCreated, new.created)
        domains[key.domain, default: []].insert(key)
        if new.isSecure { secure[key.name, default: []].insert(key) }
    }

    /// Evicts cookies after an insertion: expired ones first, then those of the domain, then any. The least recently
    /// used goes first (RFC 6265, section 5.3). Within a domain, insecure cookies go before secure ones, so that
    /// cleartext responses cannot evict secure cookies (RFC 6265bis, section 5.7).
    private mutating func evict(for domain: [UInt8], now: Date) {
        if let group = domains[domain], group.count > domainLimit {
            removeExpired(group, now)
            remove(domains[domain] ?? [], beyond: domainLimit, protectsSecure: true)
        }
        // The slack above the limit amortizes the cost of scanning all cookies.
        if cookies.count > limit + limit / 32 {
            removeExpired(cookies.keys, now)
            remove(cookies.keys, beyond: limit, protectsSecure: false)
        }
    }

    private mutating func removeExpired(_ group: some Collection<Cookie.Key>, _ now: Date) {
        StepCount.add(group.count)
        for key in Array(group) where cookies[key]?.isExpired(at: now) == true { put(nil, for: key) }
    }

    private mutating func remove(_ group: some Collection<Cookie.Key>, beyond limit: Int, protectsSecure: Bool) {
        guard group.count > limit else { return }
        StepCount.add(group.count)
        func rank(_ cookie: Cookie) -> (Int, Date, Date, String) {
            let isProtected = protectsSecure && cookie.isSecure
            return (isProtected ? 1 : 0, uses[cookie.key] ?? cookie.created, cookie.created, cookie.name)
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
