// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// The form in which a stored response is served.
enum CacheForm: Sendable, Equatable {
    case whole
    /// A 206 with this range of the representation.
    case part(ContentRange)
    /// A 416: the representation has none of the requested bytes (RFC 9110, section 15.5.17).
    case unsatisfiable(length: Int)
    /// A 304 to the caller's own condition.
    case notModified
}

extension CachedRequest {
    /// The form in which a stored response serves this request; nil if it lacks requested bytes.
    ///
    /// - Parameter bodyLength: the length of the stored body; used only if the body is whole.
    func form(of head: CachedResponse.Head, bodyLength: Int) -> CacheForm? {
        // Ranges and conditions apply only to a response that would be a success (RFC 9110, sections 13.2.1 and 14.2).
        guard !isPlain, head.statusCode == 200 || head.parts != nil else { return head.parts == nil ? .whole : nil }
        if let conditions, !conditions.areMet(by: head) { return .notModified }
        guard case .one(let range) = range, ifRangeHolds(for: head) else { return head.parts == nil ? .whole : nil }
        guard let length = head.parts.map(\.length) ?? bodyLength else {
            let range = range.resolvedWithoutLength
            return range.flatMap { head.parts?.position(of: $0) == nil ? nil : .part(.init(range: $0, length: nil)) }
        }
        guard let bytes = range.resolved(in: length) else {
            // A suffix of an empty representation is the whole of it. `Content-Range` cannot express that.
            if length == 0, case .suffix(1...) = range { return .whole }
            return .unsatisfiable(length: length)
        }
        guard let parts = head.parts else { return .part(.init(range: bytes, length: length)) }
        return parts.position(of: bytes) == nil ? nil : .part(.init(range: bytes, length: length))
    }

    /// Whether the stored response has all requested bytes.
    func canBeServed(by head: CachedResponse.Head) -> Bool {
        head.parts == nil || form(of: head, bodyLength: 0) != nil
    }

    /// Whether `If-Range` has the same strong validator (RFC 9110, section 13.1.5): an entity tag or a modification
    /// date.
    private func ifRangeHolds(for head: CachedResponse.Head) -> Bool {
        guard let ifRange else { return true }
        if let tag = EntityTag(ifRange.trimmingCharacters(in: .whitespaces)) {
            return !tag.isWeak && EntityTag(of: head.headers) == tag
        }
        guard let date = HTTPDate.parse(ifRange, now: head.responseTime) else { return false }
        return head.strongDate == date
    }
}

/// The caller's conditions that a cache may evaluate (RFC 9111, section 4.3.2).
struct CallerConditions: Sendable, Equatable {
    let ifNoneMatch: String?
    let ifModifiedSince: String?

    /// Whether the conditions are met: the caller's copy differs from the stored response, so it needs the whole
    /// response.
    func areMet(by head: CachedResponse.Head) -> Bool {
        if let ifNoneMatch {
            if ifNoneMatch.trimmingCharacters(in: .whitespaces) == "*" { return false }
            guard let tag = EntityTag(of: head.headers) else { return true }
            return !entityTags.contains { $0.names(tag) }
        }
        guard let since = ifModifiedSince.flatMap({ HTTPDate.parse($0, now: head.responseTime) }) else { return true }
        // Without `Last-Modified`, the date of the response is used.
        let changed = ["Last-Modified", "Date"].lazy.compactMap { name in
            head.headers[name].flatMap { HTTPDate.parse($0, now: head.responseTime) }
        }
        return changed.first ?? head.responseTime > since
    }

    /// The tags of `If-None-Match`.
    var entityTags: [EntityTag] {
        guard var value = ifNoneMatch else { return [] }
        return value.withUTF8 { bytes in
            // An opaque tag may contain a comma.
            CacheControl.members(bytes).compactMap { member in
                EntityTag(String(decoding: bytes[CacheControl.trimmed(bytes, member)], as: UTF8.self))
            }
        }
    }
}
