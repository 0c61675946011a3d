// SPDX-License-Identifier: MIT

import PulseCore

/// SHA-256 (FIPS 180-4), HMAC-SHA256 (RFC 2104), and MD5 (RFC 1321) for old protocols alone, of the system: CryptoKit on Apple platforms, on Linux the libcrypto that
/// libcurl brings along. There is no other: what needs hashes must do without, or refuse.
///
/// Whatever the system may refuse or lack the memory for is nil here. Safe from any thread.
package protocol HashLibrary: Sendable {
    func sha256(_ bytes: UnsafeRawBufferPointer) -> SHA256Hash?
    /// In 32 digits of lower case.
    func md5(_ text: String) -> String?
    func makeHasher() -> (any SHA256Hasher)?
    /// A key of any length, an empty one included.
    func makeKey(_ secret: Data) -> (any HMACKey)?
}

/// SHA-256 piece by piece; for one task at a time.
package protocol SHA256Hasher: AnyObject {
    func update(_ bytes: UnsafeRawBufferPointer)
    /// The hash of all pieces, once; nil if any of them could not be taken.
    func finalize() -> SHA256Hash?
}

/// A secret ready for use, which no text shows. Safe from any thread.
package protocol HMACKey: Sendable {
    func code(for message: UnsafeRawBufferPointer) -> SHA256Hash?
    /// Compares in a time that does not depend on where the codes differ; false if there is none to compare with.
    func isValid(_ code: SHA256Hash, for message: UnsafeRawBufferPointer) -> Bool
}

extension HashLibrary {
    package func sha256(_ data: Data) -> SHA256Hash? {
        data.withUnsafeBytes { sha256($0) }
    }

    package func sha256(_ text: String) -> SHA256Hash? {
        var text = text
        return text.withUTF8 { sha256(UnsafeRawBufferPointer($0)) }
    }

    /// The hash of a file, read in pieces on a thread where that holds up nobody. Throws what reading throws, and
    /// `CancellationError`.
    package func sha256(of file: URL, cancellation: Cancellation?) async throws -> SHA256Hash? {
        try await BlockingWork.run(cancellation) { work in
            guard let hasher = makeHasher() else { return nil }
            try work.forEachChunk(of: file) { hasher.update($0) }
            return hasher.finalize()
        }
    }
}

/// The system's hash functions.
package enum SystemHashes {
    /// Nil where there are none.
    package static let library: (any HashLibrary)? = makeLibrary()
}
