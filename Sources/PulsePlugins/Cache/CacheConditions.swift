// SPDX-License-Identifier: MIT

import PulseCore

/// What the cache asks the server about what it has: whether a stored response still holds (RFC 9111, section 4.3.1),
/// or for the rest of one that is not whole (RFC 9111, section 3.4).
struct CacheConditions: Sendable, Equatable {
    /// For `If-None-Match`: those of every stored response that could answer the request.
    let entityTags: [String]
    /// For `If-Modified-Since`: of the response that matches the request.
    let lastModified: String?
    let rest: CacheRest?

    init(entityTags: [String], lastModified: String?, rest: CacheRest? = nil) {
        self.entityTags = entityTags
        self.lastModified = lastModified
        self.rest = rest
    }

    /// The fields to send. Entity tags of the caller's own are asked about together with those of the cache.
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

/// The bytes that a stored partial response lacks.
struct CacheRest: Sendable, Equatable {
    /// Of the stored response.
    let index: Int
    let start: Int
    /// Behind the last byte; nil if the length is not known.
    let end: Int?
    /// Of the stored bytes. If the server has others by now it sends a whole response (RFC 9110, section 13.1.5).
    let validator: StrongValidator

    var fields: [(name: String, value: String)] {
        [("Range", "bytes=\(start)-\(end.map { String($0 - 1) } ?? "")"), ("If-Range", validator.text)]
    }
}
