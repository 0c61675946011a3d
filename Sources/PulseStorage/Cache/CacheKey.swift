// SPDX-License-Identifier: MIT

import PulseCore

/// The key of a stored response, apart from the header fields that `Vary` names (RFC 9111, section 2).
public struct CacheKey: Sendable, Hashable {
    /// The owner of the response: an account, a fingerprint of credentials, or empty for requests without any.
    /// Responses of one partition are never served to another.
    public let partition: String
    /// The normalized URL, without its fragment.
    public let url: String
    /// Further parts of the key: a digest of the body of a `QUERY`, and the origin in a `Host` that is not the URL's.
    /// Nil for a `GET` without such a `Host`.
    public let bodyDigest: String?

    /// Creates a key; by default for a request without credentials and without a body.
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
