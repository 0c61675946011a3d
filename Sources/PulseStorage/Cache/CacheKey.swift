// SPDX-License-Identifier: MIT

import PulseCore

/// The key that a stored answer is found by, apart from the header fields that `Vary` names (RFC 9111, section 2).
public struct CacheKey: Sendable, Hashable {
    /// The owner of the answer: an account, a fingerprint of credentials, or empty for requests without any. Answers of
    /// one partition are never given to another.
    public let partition: String
    /// The normalized URL, without its fragment.
    public let url: String
    /// A digest of the body of a `QUERY`; nil for `GET`.
    public let bodyDigest: String?

    /// Makes a key; by default of a request without credentials and without a body.
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

/// The entries that ``CacheStorage/remove(_:)`` forgets.
public enum CacheSelection: Sendable, Hashable {
    /// Every answer under that key.
    case key(CacheKey)
    /// Every answer for that normalized URL, whoever asked and with whatever body.
    case url(String)
    /// Every answer whose normalized URL begins with that text.
    case prefix(String)
    /// Every answer that was stored under that tag, with the other variants of its key.
    case tag(String)
    /// Every answer of that partition.
    case partition(String)
    /// Every answer in the store.
    case all
}
