// SPDX-License-Identifier: MIT

import PulseCore

/// The metadata of a content in a response: enough to request the rest of the same content.
struct DownloadedContent: Sendable, Equatable, Codable {
    /// The `ETag` as received, if it is an entity tag.
    var entityTag: String?
    /// The `Last-Modified` as received.
    var lastModified: String?
    /// Whether `Last-Modified` is a strong validator: at least a second before `Date` (RFC 9110, section 8.8.2.2).
    var isDateStrong = false
    /// The length of the whole content in bytes; nil if it is not known.
    var total: Int64?
    /// The media type without its parameters, in lower case.
    var mediaType: String?
    /// The SHA-256 of the whole content according to the server, in hexadecimal digits.
    var digest: String?

    /// The name that the server suggested for the file. A partial response seldom repeats it.
    var name: String?
    /// Whether the last range request returned other content, which was refused.
    var wasDoubted: Bool?

    /// The value for `If-Range` (RFC 9110, section 13.1.5): a strong entity tag, or the date if there is no tag.
    var condition: String? {
        if let entityTag { return entityTag.hasPrefix("W/") ? nil : entityTag }
        return isDateStrong ? lastModified : nil
    }

    /// Adds the metadata of a partial response.
    mutating func add(_ part: DownloadedContent) {
        total = total ?? part.total
        digest = digest ?? part.digest
        name = name ?? part.name
        wasDoubted = nil
    }

    /// Whether a part with these validators belongs to this content. It has the same `ETag`, but may lack the date (RFC
    /// 9110, section 15.3.7): if the content has changed, a server that supports `If-Range` sends all of it.
    func fits(_ part: DownloadedContent) -> Bool {
        if let total, let other = part.total, total != other { return false }
        if let lastModified, let other = part.lastModified, lastModified != other { return false }
        return entityTag == part.entityTag
    }

    /// Whether a full response, sent in place of the rest, cannot be a later version of this content: an error page, or
    /// a part that is labeled as the whole.
    func excludes(_ whole: DownloadedContent) -> Bool {
        if isSame(as: whole) { return whole.total != nil && whole.total != total }
        guard let mediaType, let other = whole.mediaType else { return false }
        return mediaType != other
    }

    /// Whether a strong validator shows that the other content has the same bytes, and this one's length is known.
    func isSame(as other: DownloadedContent) -> Bool {
        total != nil && condition != nil && condition == other.condition
    }

    /// Whether a 416 with these validators confirms that this content ends at `length`. Few servers send validators
    /// with a 416, and some not even the length.
    func hasEnd(_ end: DownloadedContent, at length: Int64) -> Bool {
        (end.entityTag == nil || end.entityTag == entityTag)
            && (end.lastModified == nil || end.lastModified == lastModified)
            && (total ?? length) == length && (end.total ?? total) == length
    }
}

/// The status and header fields of a response that a download uses.
struct DownloadHead: Sendable, Equatable {
    let status: Int
    let content: DownloadedContent
    /// Whether the body is a part of the content: that of a 206, and of any success with a `Content-Range`.
    let isPart: Bool
    /// The range of the part; nil if the server does not state it, or sends several parts.
    var range: Range<Int64>?
    /// Whether the body has a content coding, so that its bytes are not those of the content that ranges count.
    var isCoded = false

    init(status: Int, content: DownloadedContent, range: Range<Int64>? = nil, isCoded: Bool = false) {
        self.status = status
        self.content = content
        self.isPart = status == 206 || range != nil
        self.range = range
        self.isCoded = isCoded
    }

    init(_ response: PulseResponse, now: Date) {
        let headers = response.headers
        status = response.statusCode
        let field = headers["Content-Range"]
        isPart = status == 206 || field != nil && (200..<300).contains(status)
        let part = isPart ? field.flatMap { ContentRange($0) } : nil
        range = part.map { Int64($0.range.lowerBound)..<Int64($0.range.upperBound) }
        let coding = headers["Content-Encoding"]?.asciiLowercased.trimmingCharacters(in: .whitespaces) ?? ""
        isCoded = response.isDecoded || !["", "identity", "none"].contains(coding)
        var content = DownloadedContent()
        content.entityTag = EntityTag(of: headers)?.text
        content.lastModified = headers["Last-Modified"]
        content.mediaType = response.mediaType.isEmpty ? nil : response.mediaType
        if let changed = headers["Last-Modified"].flatMap({ HTTPDate.parse($0, now: now) }),
            let date = headers["Date"].flatMap({ HTTPDate.parse($0, now: now) })
        {
            content.isDateStrong = date.timeIntervalSince(changed) >= 1
        }
        content.name = headers.octets(for: "Content-Disposition").first
            .flatMap { ContentDisposition.name(in: Array($0)) }.flatMap(SafeFileName.from)
        if status == 416 {
            // The length of the content, whatever the body is.
            content.total = field.flatMap { ContentRange.length(ofUnsatisfied: $0) }.map(Int64.init)
        } else if !isCoded {
            content.total =
                isPart ? part?.length.map(Int64.init) : headers["Content-Length"].flatMap { Int64($0) }
            content.digest = headers["Repr-Digest"].flatMap { Download.Digest.sha256(inField: $0) }
            if status == 200, !isPart, content.digest == nil {
                content.digest = headers["Content-Digest"].flatMap { Download.Digest.sha256(inField: $0) }
            }
        }
        self.content = content
    }
}
