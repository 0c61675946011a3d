// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

extension CachePolicy {
    // MARK: A 304

    /// RFC 9111, sections 4.3.3 and 4.3.4: which stored answer a 304 is about, and what that answer is from now on.
    func confirmation(
        by response: OriginResponse, of stored: [CachedHead], _ selected: Int?, _ conditions: CacheConditions,
        _ request: CachedRequest
    ) -> CacheVerdict {
        let asked = stored.indices.filter { index in
            guard request.canBeServed(by: stored[index]) else { return false }
            return EntityTag(of: stored[index].headers).map { conditions.entityTags.contains($0.text) } == true
                || index == selected && conditions.lastModified != nil
        }
        // Where the caller asks about tags of its own too, only a tag tells which of the questions this answers.
        if let own = request.conditions, own.ifNoneMatch != nil {
            guard let tag = EntityTag(of: response.headers) else { return .refetch }
            let isStored = asked.contains { EntityTag(of: stored[$0].headers)?.names(tag) == true }
            if !isStored, own.entityTags.contains(where: { $0.names(tag) }) { return .replace }
        }
        guard let index = confirmed(by: response.headers, of: stored, asked, selected) else {
            return reused(by: response.headers, of: stored, asked).map { .reuse($0) } ?? .refetch
        }
        var head = stored[index]
        head.headers = Self.updated(head.headers, by: Self.dated(Self.endToEnd(response.headers), response))
        (head.requestTime, head.responseTime) = (response.requestTime, response.responseTime)
        let fields = Self.selectingFields(head.headers, of: request)
        if let fields { head.selectingFields = fields }
        let mayStore =
            fields != nil && !request.directives.noStore
            && isStorable(head.statusCode, head.headers, isPart: head.parts != nil)
        return .confirm(index, head, mayStore: mayStore)
    }

    private func confirmed(
        by headers: HTTPHeaders, of stored: [CachedHead], _ asked: [Int], _ selected: Int?
    ) -> Int? {
        if let tag = EntityTag(of: headers) {
            // A strong tag names its answers exactly, a weak one the most recent of those that it may mean.
            let named = asked.filter { index in
                guard let own = EntityTag(of: stored[index].headers) else { return false }
                return tag.isWeak ? own.names(tag) : own == tag
            }
            return preferred(named, selected, stored)
        }
        // What is no entity tag names nothing, unless the stored answer came with the very same.
        if let text = headers["ETag"] {
            return preferred(asked.filter { stored[$0].headers["ETag"] == text }, selected, stored)
        }
        if let lastModified = headers["Last-Modified"] {
            return preferred(asked.filter { stored[$0].headers["Last-Modified"] == lastModified }, selected, stored)
        }
        // Without a validator it can only be about the one answer that was asked about.
        return asked.count == 1 ? asked.first : nil
    }

    /// A server that compares tags weakly, as it is to do for `If-None-Match`, may name the strong one of what it sent
    /// under a weak one, say compressed. By section 4.3.4 that updates nothing; but it is no other answer either.
    private func reused(by headers: HTTPHeaders, of stored: [CachedHead], _ asked: [Int]) -> Int? {
        guard let tag = EntityTag(of: headers) else { return nil }
        let named = asked.filter { EntityTag(of: stored[$0].headers)?.names(tag) == true }
        return named.count == 1 ? named.first : nil
    }

    /// The answer that the request would select, else the most recent.
    private func preferred(_ indices: [Int], _ selected: Int?, _ stored: [CachedHead]) -> Int? {
        if let selected, indices.contains(selected) { return selected }
        return indices.max { stored[$0].responseTime < stored[$1].responseTime }
    }

    /// The stored fields replaced by newer ones, except those that describe the stored body (RFC 9111, section 3.2).
    static func updated(_ headers: HTTPHeaders, by newer: HTTPHeaders) -> HTTPHeaders {
        let replacing = newer.filter { !describesStoredBody.contains($0.name.asciiLowercased) }
        let names = Set(replacing.map(\.name.asciiLowercased))
        // A stored `Age` goes: the answer was just confirmed, and it would make it old again.
        let kept = headers.filter { field in
            let name = field.name.asciiLowercased
            return !names.contains(name) && name != "age"
        }
        return HTTPHeaders(kept + replacing)
    }

    private static let describesStoredBody: Set<String> = [
        "content-encoding", "content-length", "content-range", "transfer-encoding",
    ]

    // MARK: HEAD

    /// What an answer to HEAD says of the stored one: whether it still holds (RFC 9111, section 4.3.5).
    func afterHead(
        _ response: OriginResponse, _ head: CachedHead, _ index: Int, _ request: CachedRequest
    ) -> CacheVerdict {
        guard response.statusCode == 200, head.statusCode == 200 else { return .pass }
        let newer = Self.dated(Self.endToEnd(response.headers), response)
        let isSame = ["ETag", "Last-Modified", "Content-Length"].allSatisfy { name in
            newer[name] == nil || newer[name] == head.headers[name]
        }
        guard isSame else { return .replace }
        // Section 5.2.1.5: of an answer to such a request nothing is kept.
        guard newer.contains("ETag") || newer.contains("Last-Modified"), !request.directives.noStore else {
            return .pass
        }
        var updated = head
        updated.headers = Self.updated(head.headers, by: newer)
        (updated.requestTime, updated.responseTime) = (response.requestTime, response.responseTime)
        let fields = Self.selectingFields(updated.headers, of: request)
        if let fields { updated.selectingFields = fields }
        return .confirm(index, updated, mayStore: fields != nil && isStorable(updated.statusCode, updated.headers))
    }

    // MARK: A server that fails, or cannot be reached

    /// Whether the status means that the server failed (RFC 5861, section 4).
    static func isServerFailure(_ status: Int) -> Bool {
        switch status {
        case 500, 502, 503, 504: true
        default: false
        }
    }

    /// How a stored answer may stand in for a server that failed, if it may (RFC 9111, section 4.2.4; RFC 5861, section
    /// 4).
    ///
    /// Under the plain form no stale answer may, since its lifetime is the whole permission, nor a stored failure. What
    /// the request asks of age and freshness holds, unless its own `stale-if-error` relaxes it.
    ///
    /// - Parameter isDisconnected: there is no connection at all, which permits any age that is not forbidden.
    func useAfterFailure(
        of head: CachedHead, _ request: CachedRequest, _ mode: RequestOptions.Cache, isDisconnected: Bool = false,
        now: Date
    ) -> CacheUse? {
        guard mode != .reload, mode != .revalidate, !request.directives.noCache else { return nil }
        let freshness = CacheFreshness(of: head, by: self, now: now)
        let use = CacheUse(origin: freshness.isFresh ? .cache : .stale, age: freshness.ageInSeconds)
        guard !freshness.control.noCache else { return nil }
        if !freshness.isFresh {
            if case .timeToLive = rules { return nil }
            guard !freshness.mustNotBeStale, head.statusCode < 500 else { return nil }
        }
        if freshness.staleness <= Self.window(request.directives.staleIfError) { return use }
        guard isAsYoung(freshness, as: request.directives), !freshness.isAgeUnknown || request.directives.maxAge == nil
        else { return nil }
        return isDisconnected || freshness.staleness <= Self.window(freshness.control.staleIfError) ? use : nil
    }

    /// The window in seconds; below zero without a valid argument.
    private static func window(_ seconds: CacheControl.Seconds?) -> TimeInterval {
        if case .value(let value)? = seconds { TimeInterval(value) } else { -1 }
    }
}
