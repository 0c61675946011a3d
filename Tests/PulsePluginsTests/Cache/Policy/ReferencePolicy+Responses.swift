// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

@testable import PulsePlugins

extension ReferencePolicy {
    // MARK: RFC 9111, section 3: may it be stored?

    func mayStore(status: Int, _ headers: HTTPHeaders) -> Bool {
        // "the request method is understood by the cache"
        guard method == .get || method == .query, !Self.has("no-store", requestDirectives) else { return false }
        // Own rule: an error about a range does not apply to the whole.
        if field("range") != nil, status == 400 || status == 416 { return false }
        return isStorable(status: status, headers)
    }

    func isStorable(status: Int, _ headers: HTTPHeaders, isPart: Bool = false) -> Bool {
        // "the response status code is final"; a 206 is understood as a part, a 304 is not.
        guard status >= 200, status < 600, status != 206 || isPart, status != 304 else { return false }
        // Own rule: a response about a credential is not stored for its account.
        if status == 401 || status == 407 { return false }
        let directives = Self.directives(of: headers)
        let understood =
            [200, 201, 202, 203, 204, 205, 206, 300, 301, 302, 303, 305, 307, 308, 421, 422, 426]
            + Array(400...417) + Array(500...505)
        // "if the response contains must-understand, the cache … ignores no-store" for a status it understands.
        if Self.has("must-understand", directives) {
            if !understood.contains(status) { return false }
        } else if Self.has("no-store", directives) {
            return false
        }
        if Self.names(in: headers["vary"]).contains("*") { return false }
        // Own rule: "private" alone is no reason to store.
        return Self.has("public", directives)
            || Self.argument("max-age", directives) != nil || headers["expires"] != nil
            || Self.heuristic.contains(status)
    }

    // MARK: RFC 9111, section 3.1: what is stored

    static func endToEnd(_ headers: HTTPHeaders) -> HTTPHeaders {
        let connection = names(in: headers["connection"])
        let never = [
            "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
            "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
        ]
        var result = HTTPHeaders()
        for field in headers where !never.contains(field.name.lowercased()) {
            if !connection.contains(field.name.lowercased()) { result.add(name: field.name, value: field.value) }
        }
        return result
    }

    static func dated(_ headers: HTTPHeaders, at time: Date) -> HTTPHeaders {
        var headers = headers
        if HTTPDate.parse(headers["date"] ?? "", now: time) == nil { headers["Date"] = HTTPDate.format(time) }
        return headers
    }

    func selecting(_ headers: HTTPHeaders) -> [CachedResponse.Head.SelectingField]? {
        let names = Set(Self.names(in: headers["vary"]))
        if names.contains("*") { return nil }
        return names.sorted().map { .init(name: $0, value: value($0)) }
    }

    // MARK: What a response changes

    func update(after response: OriginResponse, conditions: CacheConditions?) -> CacheUpdate {
        let headers = Self.dated(Self.endToEnd(response.headers), at: response.responseTime)
        if response.statusCode == 304, let conditions {
            return confirmation(headers, response, conditions)
        }
        if let rest = conditions?.rest, [206, 416].contains(response.statusCode) {
            return completion(headers, response, rest) ?? .refetch
        }
        if [500, 502, 503, 504].contains(response.statusCode), let selected,
            let use = useAfterFailure(isDisconnected: false, now: response.responseTime)
        {
            return .serveStale(selected, use)
        }
        if method == .head { return afterHead(headers, response) }
        if response.statusCode == 206 { return part(headers, response) }
        if mayStore(status: response.statusCode, response.headers), let fields = selecting(headers) {
            return .store(
                CachedResponse.Head(
                    statusCode: response.statusCode, headers: headers, requestTime: response.requestTime,
                    responseTime: response.responseTime, selectingFields: fields))
        }
        if field("range") != nil, [400, 416].contains(response.statusCode) { return .nothing }
        if selected != nil, response.statusCode < 500,
            ![304, 401, 407, 408, 425, 429].contains(response.statusCode), !Self.has("no-store", requestDirectives)
        {
            return .remove
        }
        return .nothing
    }

    /// RFC 9111, section 4.3.4.
    func confirmation(
        _ headers: HTTPHeaders, _ response: OriginResponse, _ conditions: CacheConditions
    ) -> CacheUpdate {
        var candidates: [Int] = []
        for index in stored.indices where form(of: stored[index], bodyLength: 7) != nil {
            if let tag = Self.tag(stored[index].headers), conditions.entityTags.contains(tag) {
                candidates.append(index)
            } else if index == selected, conditions.lastModified != nil {
                candidates.append(index)
            }
        }
        func names(_ one: String?, _ other: String) -> Bool {
            one.map { $0.replacingOccurrences(of: "W/", with: "") } == other.replacingOccurrences(of: "W/", with: "")
        }
        // Own rule: the caller's tags are sent in the same request.
        if field("if-none-match") != nil {
            guard let tag = Self.tag(response.headers) else { return .refetch }
            let isKnown = candidates.contains { names(Self.tag(stored[$0].headers), tag) }
            if !isKnown, ownTags.contains(where: { names($0, tag) }) { return .remove }
        }
        if let tag = Self.tag(response.headers) {
            func opaque(_ tag: String?) -> String? { tag.map { $0.hasPrefix("W/") ? String($0.dropFirst(2)) : $0 } }
            let asWeak = candidates.filter { opaque(Self.tag(stored[$0].headers)) == opaque(tag) }
            candidates = tag.hasPrefix("W/") ? asWeak : asWeak.filter { Self.tag(stored[$0].headers) == tag }
            // "If none of the stored responses contains at least one of the same strong validators, then the cache MUST
            // NOT use the new response to update any stored responses". Own rule: it may serve the only response that
            // it can mean.
            if candidates.isEmpty, asWeak.count == 1 { return .reuse(asWeak[0]) }
        } else if let text = response.headers["etag"] {
            // Own rule: an invalid entity tag matches a stored response with the same text.
            candidates = candidates.filter { stored[$0].headers["etag"] == text }
        } else if let changed = response.headers["last-modified"] {
            candidates = candidates.filter { stored[$0].headers["last-modified"] == changed }
        } else if candidates.count != 1 {
            candidates = []
        }
        var chosen: Int?
        for index in candidates {
            if let chosen, stored[index].responseTime < stored[chosen].responseTime { continue }
            chosen = index
        }
        if let selected, candidates.contains(selected) { chosen = selected }
        guard let chosen else { return .refetch }
        var head = stored[chosen]
        head.headers = Self.freshened(head.headers, by: headers)
        head.requestTime = response.requestTime
        head.responseTime = response.responseTime
        let fields = selecting(head.headers)
        if let fields { head.selectingFields = fields }
        return .confirm(
            chosen, head,
            mayStore: fields != nil && !Self.has("no-store", requestDirectives)
                && isStorable(status: head.statusCode, head.headers, isPart: head.parts != nil))
    }

    /// RFC 9111, section 3.2.
    static func freshened(_ old: HTTPHeaders, by new: HTTPHeaders) -> HTTPHeaders {
        let ofTheBody = ["content-encoding", "content-length", "content-range", "transfer-encoding"]
        let updates = new.filter { !ofTheBody.contains($0.name.lowercased()) }
        var result = HTTPHeaders()
        for field in old where field.name.lowercased() != "age" {
            if updates.contains(where: { $0.name.lowercased() == field.name.lowercased() }) { continue }
            result.add(name: field.name, value: field.value)
        }
        for field in updates { result.add(name: field.name, value: field.value) }
        return result
    }

    /// RFC 9111, section 4.3.5.
    func afterHead(_ headers: HTTPHeaders, _ response: OriginResponse) -> CacheUpdate {
        guard let selected, response.statusCode == 200, stored[selected].statusCode == 200 else { return .nothing }
        let old = stored[selected].headers
        for name in ["etag", "last-modified", "content-length"] {
            guard let new = headers[name], new != old[name] else { continue }
            // "otherwise, the cache SHOULD consider the stored response to be stale": it reaches the end of its
            // lifetime now.
            var head = stored[selected]
            let known = Self.judge(head, now: head.responseTime)
            let resident = max(0, response.responseTime.timeIntervalSince(head.responseTime))
            if known.age + resident >= known.lifetime { return .nothing }
            let age = known.lifetime - resident
            head.headers["Age"] = "\(Int(min(age.rounded(.up), 2_147_483_647)))"
            return .outdate(selected, head)
        }
        if headers["etag"] == nil, headers["last-modified"] == nil { return .nothing }
        // "no-store … MUST NOT store any part of either this request or any response to it".
        if Self.has("no-store", requestDirectives) { return .nothing }
        var head = stored[selected]
        head.headers = Self.freshened(old, by: headers)
        head.requestTime = response.requestTime
        head.responseTime = response.responseTime
        let fields = selecting(head.headers)
        if let fields { head.selectingFields = fields }
        return .confirm(
            selected, head, mayStore: fields != nil && isStorable(status: head.statusCode, head.headers))
    }

    /// RFC 9111, section 4.2.4, and RFC 5861, section 4.
    func useAfterFailure(isDisconnected: Bool, now: Date) -> CacheUse? {
        guard let selected, mode != .reload, mode != .revalidate, !Self.has("no-cache", requestDirectives),
            form(of: stored[selected], bodyLength: 7) != nil
        else {
            return nil
        }
        let judgement = Self.judge(stored[selected], now: now)
        if Self.has("no-cache", judgement.directives) { return nil }
        if !judgement.isFresh, Self.has("must-revalidate", judgement.directives) { return nil }
        // Own rule: a stale stored failure is not served.
        if !judgement.isFresh, stored[selected].statusCode >= 500 { return nil }
        // RFC 5861: "regardless of other freshness information".
        if case .seconds(let window) = Self.argument("stale-if-error", requestDirectives), judgement.pastBy <= window {
            return judgement.use
        }
        if let maxAge = Self.argument("max-age", requestDirectives) {
            if judgement.clockWentBack { return nil }
            let isSettled = judgement.isFresh && Self.has("immutable", judgement.directives)
            var limit = 0.0
            if case .seconds(let seconds) = maxAge { limit = seconds }
            if judgement.age > limit, !isSettled { return nil }
        }
        if let minFresh = Self.argument("min-fresh", requestDirectives) {
            guard case .seconds(let seconds) = minFresh, judgement.age + seconds <= judgement.lifetime else {
                return nil
            }
        }
        if isDisconnected { return judgement.use }
        if case .seconds(let window) = Self.argument("stale-if-error", judgement.directives), judgement.pastBy <= window
        {
            return judgement.use
        }
        return nil
    }
}
