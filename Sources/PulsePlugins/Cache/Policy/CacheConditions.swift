// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// The conditions that the cache adds to a request: to validate stored responses (RFC 9111, section 4.3.1), or to
/// complete a partial one (RFC 9111, section 3.4).
struct CacheConditions: Sendable, Equatable {
    /// For `If-None-Match`: the tags of all stored responses that could serve the request.
    let entityTags: [String]
    /// For `If-Modified-Since`: the date of the stored response that matches the request.
    let lastModified: String?
    let rest: CacheRest?

    init(entityTags: [String], lastModified: String?, rest: CacheRest? = nil) {
        self.entityTags = entityTags
        self.lastModified = lastModified
        self.rest = rest
    }

    /// The fields to send. The caller's own entity tags are merged with those of the cache.
    func fields(with own: CallerConditions?) -> [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        let known = own?.ifNoneMatch
        if !entityTags.isEmpty, known?.trimmingCharacters(in: .whitespaces) != "*" {
            let tags =
                (known.map { [$0] } ?? [])
                + entityTags.filter { tag in
                    own?.entityTags.contains { $0.text == tag } != true
                }
            fields.append(("If-None-Match", tags.joined(separator: ", ")))
        }
        if let lastModified { fields.append(("If-Modified-Since", lastModified)) }
        if let rest { fields += rest.fields }
        return fields
    }
}

/// The missing bytes of a stored partial response.
struct CacheRest: Sendable, Equatable {
    /// The index of the stored response.
    let index: Int
    let start: Int
    /// The end, exclusive; nil if the length is unknown.
    let end: Int?
    /// The validator of the stored bytes. If the representation has changed, the server sends it whole (RFC 9110,
    /// section 13.1.5).
    let validator: String

    var fields: [(name: String, value: String)] {
        [("Range", "bytes=\(start)-\(end.map { String($0 - 1) } ?? "")"), ("If-Range", validator)]
    }
}

extension CacheRest {
    /// The missing bytes of a stored partial response, for a request for the whole; nil if only the whole can be
    /// requested.
    init?(of head: CachedResponse.Head, _ index: Int, for request: CachedRequest) {
        guard request.isPlain, let parts = head.parts, let validator = head.strongValidator else { return nil }
        let missing = parts.missing
        guard missing.start > 0 || missing.end != parts.length else { return nil }
        self.init(index: index, start: missing.start, end: missing.end, validator: validator)
    }
}
