// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

extension CachePolicy {
    // MARK: A 304

    /// RFC 9111, sections 4.3.3 and 4.3.4: selects the stored response that a 304 confirms, and updates its head.
    func confirmation(
        by response: OriginResponse, of stored: [CachedResponse.Head], _ selected: Int?, _ conditions: CacheConditions,
        _ request: CachedRequest
    ) -> CacheUpdate {
        let asked = stored.indices.filter { index in
            guard request.canBeServed(by: stored[index]) else { return false }
            return EntityTag(of: stored[index].headers).map { conditions.entityTags.contains($0.text) } == true
                || index == selected && conditions.lastModified != nil
        }
        // With the caller's own tags in the request, only the 304's tag identifies the condition that it belongs to.
        if let own = request.conditions, own.ifNoneMatch != nil {
            guard let tag = EntityTag(of: response.headers) else { return .refetch }
            let isStored = asked.contains { EntityTag(of: stored[$0].headers)?.names(tag) == true }
            if !isStored, own.entityTags.contains(where: { $0.names(tag) }) { return .remove }
        }
        guard let index = confirmed(by: response.headers, of: stored, asked, selected) else {
            return reused(by: response.headers, of: stored, asked).map { .reuse($0) } ?? .refetch
        }
        var head = stored[index]
        head.headers = Self.updated(head.headers, by: Self.dated(Self.endToEnd(response.headers), response))
        (head.requestTime, head.responseTime) = (response.requestTime, response.responseTime)
        let mayStore = mayStore(updated: &head, for: request)
        return .confirm(index, head, mayStore: mayStore)
    }

    private func confirmed(
        by headers: HTTPHeaders, of stored: [CachedResponse.Head], _ asked: [Int], _ selected: Int?
    ) -> Int? {
        if let tag = EntityTag(of: headers) {
            // A strong tag identifies its responses exactly, a weak one the most recent of those that it may match.
            let named = asked.filter { index in
                guard let own = EntityTag(of: stored[index].headers) else { return false }
                return tag.isWeak ? own.names(tag) : own == tag
            }
            return preferred(named, selected, stored)
        }
        // An invalid entity tag matches only a stored response with the same text.
        if let text = headers["ETag"] {
            return preferred(asked.filter { stored[$0].headers["ETag"] == text }, selected, stored)
        }
        if let lastModified = headers["Last-Modified"] {
            return preferred(asked.filter { stored[$0].headers["Last-Modified"] == lastModified }, selected, stored)
        }
        // Without a validator, the 304 must belong to the only conditional response.
        return asked.count == 1 ? asked.first : nil
    }

    /// The stored response that a weak tag identifies. `If-None-Match` compares weakly, so a server may name a strong
    /// tag by a weak one, for example after compression. Section 4.3.4 allows no update then, but the response is the
    /// same.
    private func reused(by headers: HTTPHeaders, of stored: [CachedResponse.Head], _ asked: [Int]) -> Int? {
        guard let tag = EntityTag(of: headers) else { return nil }
        let named = asked.filter { EntityTag(of: stored[$0].headers)?.names(tag) == true }
        return named.count == 1 ? named.first : nil
    }

    /// The response that the request would select, otherwise the most recent one.
    private func preferred(_ indices: [Int], _ selected: Int?, _ stored: [CachedResponse.Head]) -> Int? {
        if let selected, indices.contains(selected) { return selected }
        return indices.max { stored[$0].responseTime < stored[$1].responseTime }
    }

    /// The stored fields, replaced by newer ones except those that describe the stored body (RFC 9111, section 3.2).
    static func updated(_ headers: HTTPHeaders, by newer: HTTPHeaders) -> HTTPHeaders {
        let replacing = newer.filter { !describesStoredBody.contains($0.name.asciiLowercased) }
        let names = Set(replacing.map(\.name.asciiLowercased))
        // A stored `Age` is dropped: it would make the confirmed response old again.
        let unchanged = headers.filter { field in
            let name = field.name.asciiLowercased
            return !names.contains(name) && name != "age"
        }
        return HTTPHeaders(unchanged + replacing)
    }

    private static let describesStoredBody: Set<String> = [
        "content-encoding", "content-length", "content-range", "transfer-encoding",
    ]

    // MARK: HEAD

    /// The update of a stored response after a HEAD response (RFC 9111, section 4.3.5).
    func afterHead(
        _ response: OriginResponse, _ head: CachedResponse.Head, _ index: Int, _ request: CachedRequest
    ) -> CacheUpdate {
        guard response.statusCode == 200, head.statusCode == 200 else { return .nothing }
        let newer = Self.dated(Self.endToEnd(response.headers), response)
        let isSame = ["ETag", "Last-Modified", "Content-Length"].allSatisfy { name in
            newer[name] == nil || newer[name] == head.headers[name]
        }
        guard isSame else {
            let freshness = CacheFreshness(of: head, by: self, now: response.responseTime)
            // A response that is already stale stays unchanged.
            guard freshness.lifetime > freshness.age else { return .nothing }
            return .outdate(index, outdated(head, at: response.responseTime))
        }
        // Section 5.2.1.5: no response to a request with `no-store` is stored.
        guard newer.contains("ETag") || newer.contains("Last-Modified"), !request.directives.noStore else {
            return .nothing
        }
        var updated = head
        updated.headers = Self.updated(head.headers, by: newer)
        (updated.requestTime, updated.responseTime) = (response.requestTime, response.responseTime)
        let mayStore = mayStore(updated: &updated, for: request)
        return .confirm(index, updated, mayStore: mayStore)
    }

    /// The head of a response that is stale from that time on. Its `Age` records this: every store keeps the field, and
    /// a validation drops it.
    private func outdated(_ head: CachedResponse.Head, at time: Date) -> CachedResponse.Head {
        let freshness = CacheFreshness(of: head, by: self, now: head.responseTime)
        let age = freshness.lifetime - max(0, time.timeIntervalSince(head.responseTime))
        var outdated = head
        outdated.headers["Age"] = String(Int(min(age.rounded(.up), TimeInterval(DeltaSeconds.most))))
        return outdated
    }

    // MARK: Server failures and missing connections

    /// Whether the status means that the server failed (RFC 5861, section 4).
    static func isServerFailure(_ status: Int) -> Bool {
        switch status {
        case 500, 502, 503, 504: true
        default: false
        }
    }

    /// How a stored response may be served when the server fails; nil if it may not (RFC 9111, section 4.2.4; RFC 5861,
    /// section 4).
    ///
    /// With a fixed time to live, no stale response may be served, since the lifetime is the whole permission. A stale
    /// stored failure may not be served either. The request's demands on age and freshness hold, unless its own
    /// `stale-if-error` relaxes them.
    ///
    /// - Parameter isDisconnected: there is no connection at all, which permits any age that is not forbidden.
    func useAfterFailure(
        of head: CachedResponse.Head, _ request: CachedRequest, _ mode: RequestOptions.Cache,
        isDisconnected: Bool = false,
        now: Date
    ) -> CacheUse? {
        guard mode != .reload, mode != .revalidate, !request.directives.noCache else { return nil }
        let freshness = CacheFreshness(of: head, by: self, now: now)
        let use = CacheUse(freshness)
        guard !freshness.control.noCache else { return nil }
        if !freshness.isFresh {
            if case .timeToLive = rules { return nil }
            guard !freshness.mustNotBeStale, head.statusCode < 500 else { return nil }
        }
        if freshness.staleness <= request.directives.staleIfError.seconds(absent: -1, missing: -1) { return use }
        guard freshness.isAsYoung(as: request.directives), !freshness.isAgeUnknown || request.directives.maxAge == nil
        else { return nil }
        let window = freshness.control.staleIfError.seconds(absent: -1, missing: -1)
        return isDisconnected || freshness.staleness <= window ? use : nil
    }
}
