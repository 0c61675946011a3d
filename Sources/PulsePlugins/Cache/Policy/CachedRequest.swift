// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// A request, as the caching rules see it.
struct CachedRequest: Sendable {
    enum Method: Sendable, Equatable {
        case get, head, query
        /// Requests a change: its response is not stored, and the entries that it changes are removed.
        case unsafe
        /// Not cacheable.
        case other
    }

    let method: Method
    let headers: [String: String]
    let directives: CacheControl
    /// The requested part of the response.
    let range: RangeField
    /// Whether there is a `Range` field, valid or not.
    let asksForRange: Bool
    /// The `If-Range` field, which applies only to a request for a range (RFC 9110, section 13.1.5).
    let ifRange: String?
    /// The caller's own conditions that a cache may evaluate.
    let conditions: CallerConditions?
    /// Whether the request has a condition or range that only the server can evaluate.
    let isForServerAlone: Bool
    /// The value under which a secret field is stored and compared.
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
            // RFC 9111, section 4.3.2: a cache does not evaluate these.
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
        // Ranges apply to GET only (RFC 9110, section 14.2). Only the server evaluates a range together with a
        // condition.
        self.isForServerAlone =
            isForServerAlone || self.range == .foreign || range != nil && (method != .get || conditions != nil)
        var directives = CacheControl(cacheControl.map { [$0] } ?? [])
        // RFC 9111, section 5.4: `Pragma` counts only without `Cache-Control`.
        if cacheControl == nil, let pragma, CacheControl([pragma]).noCache { directives.noCache = true }
        self.directives = directives
    }

    /// Whether the request is for a whole response, without conditions.
    var isPlain: Bool { range == .whole && conditions == nil }

    /// The normalized value of a field named by `Vary`: equivalent values are equal.
    func selectingField(_ name: String) -> CachedResponse.Head.SelectingField {
        let name = name.asciiLowercased
        guard let value = headers.header(name) else { return .init(name: name, value: nil) }
        return .init(name: name, value: fingerprint(name, SelectingValue.normalized(value, ofField: name)))
    }
}
