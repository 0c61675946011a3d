// SPDX-License-Identifier: MIT

extension Download {
    /// Settings of a download.
    public struct Options: Sendable {
        /// The digest that the file must have. With it, a download is also resumed if the server sends no validators.
        /// Nil by default. It needs the system's hash library: without it, ``PulseError/unsupported(_:)``.
        public var digest: Digest?
        /// A name for the content where its URL changes, as a signed one does: a later download with the same name goes
        /// on with what came before. Nil, the default, is the URL.
        public var contentKey: String?
        /// Whether an existing file is replaced, once the new one is whole. True by default; otherwise
        /// ``TransferFailure/fileExists``.
        public var replacesFile = true
        /// Whether a download that fails or is cancelled keeps what has come, for the next one to go on with. True by
        /// default.
        public var keepsPartial = true
        /// How many attempts in a row may bring no new byte before the download fails. 5 by default.
        public var maximumFruitlessAttempts = 5

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
    /// The fault in the settings, or nil.
    var fault: String? {
        if let digest, digest.hex == nil { return "the digest is not 64 hexadecimal digits" }
        if maximumFruitlessAttempts < 0 { return "maximumFruitlessAttempts is \(maximumFruitlessAttempts)" }
        return nil
    }
}
