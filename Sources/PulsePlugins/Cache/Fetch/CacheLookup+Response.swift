// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

extension CacheLookup {
    /// A stored response in the form that the call expects, with the call's own request; nil if the body is damaged.
    /// Throws ``PulseError/responseTooLarge(limit:)`` as a transport would.
    ///
    /// - Parameter age: in seconds; nil for a response that the server has just confirmed, which has no `Age` (RFC
    ///   9111, section 5.1).
    func response(
        from stored: CachedResponse, _ origin: PulseResponse.Origin, age: Int?
    ) async throws -> PulseResponse? {
        guard let form = rules.form(of: stored.head, bodyLength: stored.body.count) else { return nil }
        var headers = stored.head.headers
        if let age { headers["Age"] = String(age) }
        var (status, body) = (stored.head.statusCode, stored.body)
        switch form {
        case .whole: break
        case .part(let part):
            status = 206
            headers.describe(part)
            guard let place = stored.head.parts.map({ $0.position(of: part.range) }) ?? part.range else { return nil }
            body = body.slice(place)
        case .unsatisfiable(let length):
            (status, headers) = (416, ["Content-Range": "bytes */\(length)"])
            body = CachedResponse.Body(Data())
        case .notModified:
            status = 304
            headers.remove("Content-Length")
            body = CachedResponse.Body(Data())
        }
        var response = PulseResponse(statusCode: status, headers: headers, request: request, origin: origin)
        guard rules.method != .head else { return response }
        if case .buffered(let limit) = context.delivery, body.count > limit {
            throw PulseError.responseTooLarge(limit: limit)
        }
        if let data = body.inMemory, !isStreamed {
            response.data = data
            return response
        }
        do {
            if isStreamed, (200..<300).contains(status) {
                response.body = .stream(try await body.stream())
            } else {
                let data = try await body.data()
                response.data = isStreamed ? Data(data.prefix(PulseResponse.errorBodyLimit)) : data
                response.isTruncated = response.data.count < data.count
            }
        } catch {
            // A wait that ended early says nothing about the body.
            try Task.checkCancellation()
            return nil
        }
        return response
    }
}

extension HTTPHeaders {
    /// Turns the fields of a whole response into those of a part.
    fileprivate mutating func describe(_ part: ContentRange) {
        // These digests cover the stored message, not the part (RFC 9530, RFC 1864).
        for name in ["Content-Digest", "Content-MD5"] { remove(name) }
        self["Content-Range"] = part.text
        self["Content-Length"] = String(part.range.count)
    }
}
