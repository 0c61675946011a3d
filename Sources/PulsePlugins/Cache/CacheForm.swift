// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// The form in which a stored response answers a request.
enum CacheForm: Sendable, Equatable {
    case whole
    /// A 206 with that range of the representation.
    case part(ContentRange)
    /// A 416: the representation has none of the bytes (RFC 9110, section 15.5.17).
    case unsatisfiable(length: Int)
    /// A 304 to the caller's own condition.
    case notModified
}

extension CachedRequest {
    /// The form of a stored response to this request; nil if it lacks bytes that the request asks for.
    ///
    /// - Parameter bodyLength: of the stored body; heeded only if that is whole.
    func form(of head: CachedHead, bodyLength: Int) -> CacheForm? {
        // A field about a range or a condition concerns a response that would be a success (RFC 9110, sections 13.2.1
        // and 14.2).
        guard !isPlain, head.statusCode == 200 || head.parts != nil else { return head.parts == nil ? .whole : nil }
        if let conditions, !conditions.areMet(by: head) { return .notModified }
        guard case .one(let range) = range, ifRangeHolds(for: head) else { return head.parts == nil ? .whole : nil }
        guard let length = head.parts.map(\.length) ?? bodyLength else {
            let range = range.resolvedWithoutLength
            return range.flatMap { head.parts?.place(of: $0) == nil ? nil : .part(.init(range: $0, length: nil)) }
        }
        guard let bytes = range.resolved(in: length) else {
            // The end of nothing is all of it, which no `Content-Range` can tell.
            if length == 0, case .suffix(1...) = range { return .whole }
            return .unsatisfiable(length: length)
        }
        guard let parts = head.parts else { return .part(.init(range: bytes, length: length)) }
        return parts.place(of: bytes) == nil ? nil : .part(.init(range: bytes, length: length))
    }

    /// Whether the stored response has all that the request asks for.
    func canBeServed(by head: CachedHead) -> Bool {
        head.parts == nil || form(of: head, bodyLength: 0) != nil
    }

    /// RFC 9110, section 13.1.5: the same strong validator, by an entity tag or by the date of the last change.
    private func ifRangeHolds(for head: CachedHead) -> Bool {
        guard let ifRange else { return true }
        if let tag = EntityTag(ifRange.trimmingCharacters(in: .whitespaces)) {
            return !tag.isWeak && EntityTag(of: head.headers) == tag
        }
        guard let date = HTTPDate.parse(ifRange, now: head.responseTime) else { return false }
        return StrongValidator.strongDate(of: head) == date
    }
}

/// The conditions of a caller that a cache may judge (RFC 9111, section 4.3.2).
struct CallerConditions: Sendable, Equatable {
    let ifNoneMatch: String?
    let ifModifiedSince: String?

    /// Whether the whole response is wanted: nothing the caller has is the stored one.
    func areMet(by head: CachedHead) -> Bool {
        if let ifNoneMatch {
            if ifNoneMatch.trimmingCharacters(in: .whitespaces) == "*" { return false }
            guard let tag = EntityTag(of: head.headers) else { return true }
            return !entityTags.contains { $0.names(tag) }
        }
        guard let since = ifModifiedSince.flatMap({ HTTPDate.parse($0, now: head.responseTime) }) else { return true }
        // Without the date of the last change that of the response stands for it.
        let changed = ["Last-Modified", "Date"].lazy.compactMap { name in
            head.headers[name].flatMap { HTTPDate.parse($0, now: head.responseTime) }
        }
        return changed.first ?? head.responseTime > since
    }

    /// Those of `If-None-Match`.
    var entityTags: [EntityTag] {
        guard var value = ifNoneMatch else { return [] }
        return value.withUTF8 { bytes in
            // An opaque tag may have a comma in it.
            CacheControl.members(bytes).compactMap { member in
                EntityTag(String(decoding: bytes[CacheControl.trimmed(bytes, member)], as: UTF8.self))
            }
        }
    }
}
