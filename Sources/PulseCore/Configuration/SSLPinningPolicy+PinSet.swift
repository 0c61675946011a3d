// SPDX-License-Identifier: MIT

extension SSLPinningPolicy {
    /// The pins that the server of one request must satisfy.
    public struct PinSet: Sendable, Hashable {
        /// The pins: `sha256/` and the base64 of the SHA-256 of a key's SubjectPublicKeyInfo.
        public let publicKeyHashes: Set<String>
        /// DER certificates whose keys are pinned.
        public let certificates: [Data]
        /// Whether a mismatch is only reported and the request proceeds.
        public let isReportOnly: Bool

        /// Creates a set of pins; the server's certificate chain must contain one of the keys.
        public init(publicKeyHashes: Set<String>, certificates: [Data] = [], isReportOnly: Bool = false) {
            self.publicKeyHashes = publicKeyHashes
            self.certificates = certificates
            self.isReportOnly = isReportOnly
        }
    }
}
