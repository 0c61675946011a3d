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
    /// Whether it asks for parts or has conditions of its own, so that the cache cannot answer it.
    let isConditional: Bool
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
        var isConditional = false
        for (name, value) in headers {
            switch name.utf8.count {
            case 5 where name.equalsIgnoringASCIICase("Range"): isConditional = true
            case 6 where name.equalsIgnoringASCIICase("Pragma"): pragma = value
            case 8 where name.equalsIgnoringASCIICase("If-Match") || name.equalsIgnoringASCIICase("If-Range"):
                isConditional = true
            case 13 where name.equalsIgnoringASCIICase("Cache-Control"): cacheControl = value
            case 13 where name.equalsIgnoringASCIICase("If-None-Match"): isConditional = true
            case 17 where name.equalsIgnoringASCIICase("If-Modified-Since"): isConditional = true
            case 19 where name.equalsIgnoringASCIICase("If-Unmodified-Since"): isConditional = true
            default: break
            }
        }
        self.isConditional = isConditional
        var directives = CacheControl(cacheControl.map { [$0] } ?? [])
        // RFC 9111, section 5.4: only without the field that replaces it.
        if cacheControl == nil, let pragma, CacheControl([pragma]).noCache { directives.noCache = true }
        self.directives = directives
    }

    /// The request's value of a field that a `Vary` names, in a form in which equal ones are equal: whitespace around
    /// the members of a list does not count (RFC 9111, section 4.1).
    func selectingField(_ name: String) -> CachedHead.SelectingField {
        let name = name.asciiLowercased
        guard let value = headers.header(name) else { return .init(name: name, value: nil) }
        return .init(name: name, value: fingerprint(name, Self.normalized(value)))
    }

    private static func normalized(_ value: String) -> String {
        guard value.utf8.contains(where: { $0 == UInt8(ascii: ",") || $0.isOptionalWhiteSpace }) else { return value }
        var value = value
        return value.withUTF8 { bytes in
            CacheControl.members(bytes).map { member in
                String(decoding: bytes[CacheControl.trimmed(bytes, member)], as: UTF8.self)
            }.joined(separator: ",")
        }
    }
}
