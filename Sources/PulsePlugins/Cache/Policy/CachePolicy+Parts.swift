// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// Where a new part is stored.
enum PartPlacement: Sendable, Equatable {
    /// Replaces the stored response, if there is one.
    case alone
    /// Joins the stored parts at this index, under this head.
    indirect case joined(Int, CachedResponse.Head)
    /// Confirms the stored whole response at this index, which gets this head.
    indirect case confirms(Int, CachedResponse.Head)
    /// Discards the part: a whole response is stored, and nothing shows that it is outdated.
    case discarded
}

// RFC 9111, sections 3.3 and 3.4. Bytes are joined only under the same strong validator, so that an entry always holds
// one version.
extension CachePolicy {
    // MARK: Completing a partial response

    /// The update after a 206 to a request for the missing bytes; nil if it does not complete the stored parts.
    func completion(
        by response: OriginResponse, of stored: CachedResponse.Head, _ rest: CacheRest, _ request: CachedRequest
    ) -> CacheUpdate? {
        guard response.statusCode == 206, let range = Self.contentRange(of: response), let parts = stored.parts,
            let part = partHead(of: response, range, for: request),
            part.strongValidator == rest.validator, range.range.lowerBound == rest.start,
            let length = range.length, range.range.upperBound == rest.end ?? length, parts.length ?? length == length,
            parts.joined(with: range.range, length: length)?.isWhole == true
        else { return nil }
        var head = Self.joined(stored, part)
        (head.statusCode, head.parts) = (200, nil)
        head.headers["Content-Length"] = String(length)
        let mayStore = mayStore(updated: &head, for: request)
        return .complete(rest.index, head, mayStore: mayStore)
    }

    // MARK: Storing a part

    /// The update after a 206 to a request with the caller's own range.
    func afterPart(_ response: OriginResponse, to request: CachedRequest, _ selected: CachedResponse.Head?)
        -> CacheUpdate
    {
        guard case .one = request.range, let range = Self.contentRange(of: response),
            let part = partHead(of: response, range, for: request)
        else { return .nothing }
        if !request.directives.noStore, isStorable(206, response.headers, isPart: true) { return .store(part) }
        // A part that may not be stored shows that the stored version is outdated.
        guard let selected, !request.directives.noStore, Self.contradicts(part, selected, bodyLength: nil) else {
            return .nothing
        }
        return .remove
    }

    /// Where to store a part, given the entries under its key at the time it arrives. Other calls may have changed them
    /// since the request.
    func placement(of part: CachedResponse.Head, among stored: [(head: CachedResponse.Head, bodyLength: Int)])
        -> PartPlacement
    {
        guard let own = part.parts, let range = own.ranges.first,
            let index = stored.firstIndex(where: { $0.head.selectingFields == part.selectingFields })
        else { return .alone }
        let (head, bodyLength) = stored[index]
        let length = head.parts.map(\.length) ?? bodyLength
        let hasSameLength = own.length == nil || length == nil || own.length == length
        let validator = part.strongValidator
        let isSameVersion = validator != nil && validator == head.strongValidator && hasSameLength
        guard let parts = head.parts else {
            if isSameVersion, head.statusCode == 200 { return .confirms(index, Self.joined(head, part)) }
            return Self.contradicts(part, head, bodyLength: bodyLength) ? .alone : .discarded
        }
        guard isSameVersion, let all = parts.joined(with: range, length: own.length) else { return .alone }
        var joined = Self.joined(head, part)
        joined.parts = all
        if all.isWhole, let length = all.length {
            (joined.statusCode, joined.parts) = (200, nil)
            joined.headers["Content-Length"] = String(length)
        }
        return .joined(index, joined)
    }

    /// Whether a part shows that a stored response belongs to another version.
    private static func contradicts(_ part: CachedResponse.Head, _ stored: CachedResponse.Head, bodyLength: Int?)
        -> Bool
    {
        if stored.statusCode != 200 && stored.parts == nil { return true }
        if let length = part.parts?.length, let known = stored.parts.map(\.length) ?? bodyLength, length != known {
            return true
        }
        if let new = EntityTag(of: part.headers), let old = EntityTag(of: stored.headers) { return !new.names(old) }
        guard let new = part.headers["Last-Modified"], let old = stored.headers["Last-Modified"] else { return false }
        return new != old
    }

    /// A stored head with the fields of a newer part (RFC 9111, section 3.4). The part with the later request time is
    /// the newer one.
    private static func joined(_ stored: CachedResponse.Head, _ part: CachedResponse.Head) -> CachedResponse.Head {
        var head = stored
        head.tags.formUnion(part.tags)
        guard part.requestTime >= stored.requestTime else { return head }
        head.headers = updated(stored.headers, by: part.headers)
        (head.requestTime, head.responseTime) = (part.requestTime, part.responseTime)
        return head
    }

    // MARK: The head of a part

    /// The range of a 206; nil if it has none, several, or a body of another length.
    private static func contentRange(of response: OriginResponse) -> ContentRange? {
        guard let range = response.headers["Content-Range"].flatMap({ ContentRange($0) }),
            response.bodyLength ?? range.range.count == range.range.count
        else { return nil }
        return range
    }

    /// Fields that describe the bytes of one message, not the representation (RFC 9530, RFC 1864).
    private static let describesMessage = ["Content-Range", "Content-Length", "Content-Digest", "Content-MD5"]

    /// The head under which a 206 is stored; that of a whole response if the part is complete. Nil if no request could
    /// ever match it.
    private func partHead(
        of response: OriginResponse, _ range: ContentRange, for request: CachedRequest
    ) -> CachedResponse.Head? {
        guard var head = head(of: response, for: request) else { return nil }
        for name in Self.describesMessage { head.headers.remove(name) }
        head.parts = CachedResponse.Parts(ranges: [range.range], length: range.length)
        if head.parts?.isWhole == true {
            (head.statusCode, head.parts) = (200, nil)
            head.headers["Content-Length"] = String(range.range.count)
        }
        return head
    }
}
