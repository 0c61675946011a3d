// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// What the rules of caching see of a request.
struct CachedRequest: Sendable {
    enum Method: Sendable, Equatable {
        case get, head, query
        /// Asks for a change: nothing of it is stored, and what it changes is removed.
        case unsafe
        /// Of no concern to the cache.
        case other
    }

    let method: Method
    let headers: [String: String]
    let directives: CacheControl
    /// The part of the response that it asks for.
    let range: RangeField
    /// Whether it has a `Range` field, be it valid or not.
    let asksForRange: Bool
    /// The `If-Range` field, which counts only where a range is asked for (RFC 9110, section 13.1.5).
    let ifRange: String?
    /// The conditions of the caller's own that a cache may judge.
    let conditions: CallerConditions?
    /// Whether it has a condition or asks for ranges in a way that only the server can judge.
    let isForServerAlone: Bool
    /// A value under which a secret one is kept and compared.
    let fingerprint: @Sendable (_ name: String, _ value: String) -> String

    init(
        method: HTTPMethod, headers: [String: String],
        fingerprint: @escaping @Sendable (_ name: String, _ value: String) -> String = { _, value in value }
    ) {
        switch method {
        case .get: self.method = .get
        case .head: self.method = .head
        case .query: self.method = .query
        default: self.method = method.isSafe ? .other : .unsafe
        }
        self.headers = headers
        self.fingerprint = fingerprint
        var (cacheControl, pragma): (String?, String?)
        var (range, ifRange): (String?, String?)
        var (ifNoneMatch, ifModifiedSince): (String?, String?)
        var isForServerAlone = false
        for (name, value) in headers {
            switch name.utf8.count {
            case 5 where name.equalsIgnoringASCIICase("Range"): range = value
            case 6 where name.equalsIgnoringASCIICase("Pragma"): pragma = value
            case 8 where name.equalsIgnoringASCIICase("If-Range"): ifRange = value
            // RFC 9111, section 4.3.2: no cache judges these.
            case 8 where name.equalsIgnoringASCIICase("If-Match"): isForServerAlone = true
            case 13 where name.equalsIgnoringASCIICase("Cache-Control"): cacheControl = value
            case 13 where name.equalsIgnoringASCIICase("If-None-Match"): ifNoneMatch = value
            case 17 where name.equalsIgnoringASCIICase("If-Modified-Since"): ifModifiedSince = value
            case 19 where name.equalsIgnoringASCIICase("If-Unmodified-Since"): isForServerAlone = true
            default: break
            }
        }
        asksForRange = range != nil
        self.ifRange = ifRange
        self.range = range.map { RangeField($0) } ?? .whole
        conditions =
            ifNoneMatch == nil && ifModifiedSince == nil
            ? nil : CallerConditions(ifNoneMatch: ifNoneMatch, ifModifiedSince: ifModifiedSince)
        // Ranges are for GET alone (RFC 9110, section 14.2), and a range under a condition is between the two.
        self.isForServerAlone =
            isForServerAlone || self.range == .foreign || range != nil && (method != .get || conditions != nil)
        var directives = CacheControl(cacheControl.map { [$0] } ?? [])
        // RFC 9111, section 5.4: only without the field that replaces it.
        if cacheControl == nil, let pragma, CacheControl([pragma]).noCache { directives.noCache = true }
        self.directives = directives
    }

    /// Whether it asks for a whole response without a condition.
    var isPlain: Bool { range == .whole && conditions == nil }

    /// The request's value of a field that a `Vary` names, in a form in which equal ones are equal.
    func selectingField(_ name: String) -> CachedHead.SelectingField {
        let name = name.asciiLowercased
        guard let value = headers.header(name) else { return .init(name: name, value: nil) }
        return .init(name: name, value: fingerprint(name, SelectingValue.normalized(value, ofField: name)))
    }
}
