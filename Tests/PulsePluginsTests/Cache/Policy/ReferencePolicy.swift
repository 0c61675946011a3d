// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

@testable import PulsePlugins

/// A second, slow implementation of the rules: one sentence of the specification after the other, without regard to
/// speed. ``CachePolicy`` is compared with it.
struct ReferencePolicy {
    typealias Directives = [(name: String, argument: String?)]

    let method: HTTPMethod
    let request: [String: String]
    let mode: RequestOptions.Cache
    let stored: [CachedResponse.Head]
    var judgesConditions = false

    // MARK: RFC 9111, section 5.2: Cache-Control

    static func directives(_ text: String?) -> Directives {
        var members: [String] = [""]
        let characters = Array(text ?? "")
        var index = 0
        while index < characters.count {
            if characters[index] == "," {
                members.append("")
            } else if characters[index] == "\"" {
                // A quoted string is one token, if it is terminated.
                var quoted = "\""
                var end: Int?
                var next = index + 1
                while next < characters.count, end == nil {
                    if characters[next] == "\\", next + 1 < characters.count {
                        quoted += String(characters[next]) + String(characters[next + 1])
                        next += 2
                        continue
                    }
                    quoted += String(characters[next])
                    if characters[next] == "\"" { end = next }
                    next += 1
                }
                if let end {
                    members[members.count - 1] += quoted
                    index = end
                } else {
                    members[members.count - 1] += "\""
                }
            } else {
                members[members.count - 1] += String(characters[index])
            }
            index += 1
        }
        return members.map { member in
            let member = member.withoutBlanksAround
            let parts = member.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = (parts.first ?? "").withoutBlanksAround.lowercased()
            return (name, parts.count == 2 ? String(parts[1]) : nil)
        }
    }

    /// "A recipient MAY combine multiple field lines": invalid lines are parsed separately.
    static func directives(of headers: HTTPHeaders) -> Directives {
        headers.values(for: "cache-control").flatMap { directives($0) }
    }

    static func has(_ name: String, _ directives: Directives) -> Bool {
        directives.contains { $0.name == name }
    }

    enum Argument: Equatable {
        case seconds(Double), missing, invalid
    }

    /// Nil without the directive.
    static func argument(_ name: String, _ directives: Directives) -> Argument? {
        let all = directives.filter { $0.name == name }.map { directive -> Argument in
            guard var text = directive.argument else { return .missing }
            if text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") {
                text = String(text.dropFirst().dropLast())
            }
            return number(text).map { .seconds($0) } ?? .invalid
        }
        guard let first = all.first else { return nil }
        return all.allSatisfy { $0 == first } ? first : .invalid
    }

    static func number(_ text: String) -> Double? {
        guard !text.isEmpty, text.allSatisfy({ "0123456789".contains($0) }) else { return nil }
        return min(Double(text) ?? 2_147_483_647, 2_147_483_647)
    }

    // MARK: The request

    func field(_ name: String) -> String? {
        request.first { $0.key.lowercased() == name.lowercased() }?.value
    }

    var requestDirectives: Directives {
        if let control = field("cache-control") { return Self.directives(control) }
        // "When the Cache-Control header field is not present in a request, caches MUST consider the no-cache request
        // pragma-directive as having the same effect."
        return Self.directives(field("pragma")).filter { $0.name == "no-cache" }
    }

    // MARK: RFC 9111, section 4.1: Vary

    func value(_ name: String) -> String? {
        if name == "accept-language" { return field(name).map { Self.preferences($0) } }
        return field(name)?.components(separatedBy: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            .joined(separator: ",")
    }

    static func names(in value: String?) -> [String] {
        (value ?? "").components(separatedBy: ",").map { $0.trimmingCharacters(in: .whitespaces).lowercased() }
            .filter { !$0.isEmpty }
    }

    func matches(_ head: CachedResponse.Head) -> Bool {
        for selecting in head.selectingFields {
            if selecting.name == "*" { return false }
            if selecting.value != value(selecting.name) { return false }
        }
        return true
    }

    var selected: Int? {
        var best: Int?
        // "When a cache has multiple stored responses for a target URI and one or more omits the Vary header field": a
        // response with a valid `Vary` is preferable.
        let varies = stored.contains { matches($0) && !$0.selectingFields.isEmpty }
        for index in stored.indices
        where matches(stored[index]) && (!varies || !stored[index].selectingFields.isEmpty) {
            guard let known = best else {
                best = index
                continue
            }
            let (old, new) = (Self.date(stored[known]), Self.date(stored[index]))
            if new > old || new == old && stored[index].responseTime >= stored[known].responseTime { best = index }
        }
        return best
    }

    // MARK: RFC 9111, section 4.2: freshness and age

    static func date(_ head: CachedResponse.Head) -> Date {
        guard let text = head.headers["date"], let date = HTTPDate.parse(text, now: head.responseTime) else {
            return head.responseTime
        }
        return date
    }

    static let heuristic = [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501]

    static func lifetime(_ head: CachedResponse.Head) -> Double {
        let directives = directives(of: head.headers)
        switch argument("max-age", directives) {
        case .seconds(let seconds): return seconds
        case .missing, .invalid: return 0
        case nil: break
        }
        if head.headers["expires"] != nil {
            guard let expires = HTTPDate.parse(head.headers["expires"] ?? "", now: head.responseTime) else { return 0 }
            return expires.timeIntervalSince(date(head))
        }
        guard heuristic.contains(head.statusCode) || has("public", directives) else { return 0 }
        guard let changed = HTTPDate.parse(head.headers["last-modified"] ?? "", now: head.responseTime) else {
            return 0
        }
        let tenth = date(head).timeIntervalSince(changed) / 10
        return tenth < 0 ? 0 : tenth > 24 * 3600 ? 24 * 3600 : tenth
    }

    static func age(_ head: CachedResponse.Head, now: Date) -> Double {
        let first = (head.headers["age"] ?? "").components(separatedBy: ",")[0]
        let ageValue = number(first.trimmingCharacters(in: .whitespaces)) ?? 0
        let apparentAge = max(0, head.responseTime.timeIntervalSince(date(head)))
        let responseDelay = max(0, head.responseTime.timeIntervalSince(head.requestTime))
        let correctedAgeValue = ageValue + responseDelay
        let residentTime = max(0, now.timeIntervalSince(head.responseTime))
        return max(apparentAge, correctedAgeValue) + residentTime
    }

    struct Judgement {
        let directives: Directives
        let lifetime: Double
        let age: Double
        let clockWentBack: Bool
        var isFresh: Bool { !clockWentBack && lifetime > age }
        var forbidsStale: Bool { has("no-cache", directives) || has("must-revalidate", directives) }
        var pastBy: Double { clockWentBack ? .infinity : max(0, age - lifetime) }
        var use: CacheUse { CacheUse(origin: isFresh ? .cache : .stale, age: Int(min(age, 2_147_483_647))) }
    }

    static func judge(_ head: CachedResponse.Head, now: Date) -> Judgement {
        Judgement(
            directives: directives(of: head.headers), lifetime: lifetime(head), age: age(head, now: now),
            clockWentBack: now < head.responseTime)
    }

    // MARK: RFC 9111, section 4: may it be used?

    /// Nil for a request that bypasses the cache.
    func strategy(now: Date) -> CacheStrategy? {
        guard [.get, .head, .query].contains(method) else { return nil }
        for name in ["if-match", "if-unmodified-since"] where field(name) != nil { return nil }
        if field("range") != nil, method != .get || hasOwnConditions || asked == .other { return nil }
        if hasOwnConditions, !judgesConditions || method == .query { return nil }
        if mode != .reload, let selected, form(of: stored[selected], bodyLength: 7) != nil {
            let judgement = Self.judge(stored[selected], now: now)
            if let revalidates = mayUse(judgement) {
                return revalidates ? .useAndRevalidate(selected, judgement.use) : .use(selected, judgement.use)
            }
        }
        if mode == .onlyIfCached { return .fail(.cacheMiss) }
        if Self.has("only-if-cached", requestDirectives) { return .fail(.gatewayTimeout) }
        return conditions.map { .validate($0) } ?? .fetch
    }

    /// Nil if it may not be used; otherwise whether it needs a background validation.
    func mayUse(_ judgement: Judgement) -> Bool? {
        if Self.has("no-cache", judgement.directives) { return nil }
        let fresh = judgement.isFresh
        switch mode {
        case .reload, .bypass: return nil
        case .revalidate: return fresh && Self.has("immutable", judgement.directives) ? false : nil
        case .cacheElseNetwork, .onlyIfCached: return fresh || !judgement.forbidsStale ? false : nil
        case .staleWhileRevalidate:
            return fresh ? false : judgement.forbidsStale ? nil : !Self.has("no-store", requestDirectives)
        case .default: break
        }
        let own = requestDirectives
        if Self.has("no-cache", own) { return nil }
        var minFresh = 0.0
        switch Self.argument("min-fresh", own) {
        case .seconds(let seconds): minFresh = seconds
        case .missing, .invalid: minFresh = .infinity
        case nil: break
        }
        var maxAge = Double.infinity
        switch Self.argument("max-age", own) {
        case .seconds(let seconds): maxAge = seconds
        case .missing, .invalid: maxAge = 0
        case nil: break
        }
        if fresh, judgement.age + minFresh <= judgement.lifetime,
            judgement.age <= maxAge || Self.has("immutable", judgement.directives)
        {
            return false
        }
        if let maxStale = Self.argument("max-stale", own), !judgement.forbidsStale, !judgement.clockWentBack {
            if maxStale == .missing { return false }
            if case .seconds(let seconds) = maxStale,
                judgement.age + minFresh <= min(judgement.lifetime, maxAge) + seconds
            {
                return false
            }
        }
        if !fresh, !judgement.forbidsStale, Self.argument("max-age", own) == nil,
            Self.argument("min-fresh", own) == nil, !Self.has("no-store", own),
            case .seconds(let window) = Self.argument("stale-while-revalidate", judgement.directives),
            judgement.pastBy <= window
        {
            return true
        }
        return nil
    }

    // MARK: RFC 9111, section 4.3.1: validation

    static func tag(_ headers: HTTPHeaders) -> String? {
        guard let tag = headers["etag"]?.trimmingCharacters(in: .whitespaces) else { return nil }
        let opaque = tag.hasPrefix("W/") ? String(tag.dropFirst(2)) : tag
        guard opaque.count >= 2, opaque.hasPrefix("\""), opaque.hasSuffix("\"") else { return nil }
        let inner = opaque.dropFirst().dropLast()
        return inner.unicodeScalars.allSatisfy { $0.value > 0x20 && $0 != "\"" && $0.value != 0x7F } ? tag : nil
    }

    var conditions: CacheConditions? {
        if mode == .reload || method == .head || Self.has("no-store", requestDirectives) { return nil }
        if let selected, form(of: stored[selected], bodyLength: 7) == nil {
            return rest(selected).map { CacheConditions(entityTags: [], lastModified: nil, rest: $0) }
        }
        var tags: [String] = []
        for head in stored where form(of: head, bodyLength: 7) != nil {
            if let tag = Self.tag(head.headers), !tags.contains(tag) { tags.append(tag) }
        }
        var changed: String?
        if let selected, field("if-none-match") == nil, let text = stored[selected].headers["last-modified"],
            HTTPDate.parse(text, now: stored[selected].responseTime) != nil
        {
            changed = text
        }
        if tags.isEmpty, changed == nil { return nil }
        return CacheConditions(entityTags: tags, lastModified: changed)
    }
}

extension StringProtocol {
    /// Foundation's function would take a third of the schedule's time.
    fileprivate var withoutBlanksAround: String {
        var scalars = String(self).unicodeScalars[...]
        while scalars.first == " " || scalars.first == "\t" { scalars.removeFirst() }
        while scalars.last == " " || scalars.last == "\t" { scalars.removeLast() }
        return String(scalars)
    }
}
