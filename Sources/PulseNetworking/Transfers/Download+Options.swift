// SPDX-License-Identifier: MIT

extension Download {
    /// Settings of a download.
    public struct Options: Sendable {
        /// The digest that the file must have. With a digest, a download resumes even if the server sends no
        /// validators. Nil by default. Without the system's hash library it throws ``PulseError/unsupported(_:)``.
        public var digest: Digest?
        /// A stable name for content whose URL changes, such as a signed URL: a later download with the same name
        /// resumes the earlier one. Nil, the default, uses the URL.
        public var contentKey: String?
        /// Whether an existing file is replaced once the new one is complete. True by default; if false, an existing
        /// file throws ``TransferFailure/fileExists``.
        public var replacesFile = true
        /// Whether a download that fails or is cancelled keeps the received bytes, for the next one to resume. True by
        /// default.
        public var keepsPartial = true
        /// Number of consecutive attempts without a new byte after which the download fails. 5 by default.
        public var maxAttemptsWithoutProgress = 5

        /// Creates options with the defaults.
        public init() {}

        /// A copy with one setting changed: `.init().with(\.digest, value: .sha256(hex))`.
        public func with<Value>(_ setting: WritableKeyPath<Options, Value>, value: Value) -> Options {
            var copy = self
            copy[keyPath: setting] = value
            return copy
        }
    }
}

extension Download.Options {
    /// Describes the first invalid setting; nil if all are valid.
    var fault: String? {
        if let digest, digest.hex == nil { return "the digest is not 64 hexadecimal digits" }
        if maxAttemptsWithoutProgress < 0 { return "maxAttemptsWithoutProgress is \(maxAttemptsWithoutProgress)" }
        return nil
    }
}
