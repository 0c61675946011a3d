// SPDX-License-Identifier: MIT

import PulseCore

/// What a stored answer is found by, apart from the header fields that `Vary` names (RFC 9111, section 2).
public struct CacheKey: Sendable, Hashable {
    /// Whose answer it is: an account, a fingerprint of credentials, or empty for requests without any. Answers of one
    /// partition are never given to another.
    public let partition: String
    /// Normalized, without its fragment.
    public let url: String
    /// A digest of the body of a `QUERY`; nil for `GET`.
    public let bodyDigest: String?

    public init(partition: String = "", url: String, bodyDigest: String? = nil) {
        self.partition = partition
        self.url = url
        self.bodyDigest = bodyDigest
    }
}

extension CacheKey: CustomStringConvertible, CustomReflectable {
    /// The redacted URL; never the partition, which may be a credential.
    public var description: String { Redaction.standard.text(url) }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// Which entries are to go.
public enum CacheSelection: Sendable, Hashable {
    case key(CacheKey)
    /// Every answer for that normalized URL, whoever asked and with whatever body.
    case url(String)
    /// Every answer whose normalized URL begins so.
    case prefix(String)
    /// Every answer that was stored under that tag.
    case tag(String)
    /// Every answer of that partition.
    case partition(String)
    case all
}
