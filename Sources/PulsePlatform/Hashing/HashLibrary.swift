// SPDX-License-Identifier: MIT

import PulseCore

/// The system's SHA-256 (FIPS 180-4), HMAC-SHA256 (RFC 2104) and, for old protocols only, MD5 (RFC 1321): CryptoKit on
/// Apple platforms, on Linux the libcrypto that libcurl brings along. There is no other: without them, what needs
/// hashes must do without or refuse.
///
/// What the system refuses, or lacks the memory for, is nil. Safe from any thread.
package protocol HashLibrary: Sendable {
    func sha256(_ bytes: UnsafeRawBufferPointer) -> SHA256Hash?
    /// The MD5 digest in 32 hexadecimal digits of lower case.
    func md5(_ text: String) -> String?
    func makeHasher() -> (any SHA256Hasher)?
    /// A key for HMAC-SHA256, of any length, an empty one included.
    func makeKey(_ secret: Data) -> (any HMACKey)?
}

/// A SHA-256 that is fed piece by piece; for one task at a time.
package protocol SHA256Hasher: AnyObject {
    func update(_ bytes: UnsafeRawBufferPointer)
    /// The hash of all pieces, to be asked for once; nil if a piece could not be taken.
    func finalize() -> SHA256Hash?
}

/// A secret ready for use, which no description shows. Safe from any thread.
package protocol HMACKey: Sendable {
    func code(for message: UnsafeRawBufferPointer) -> SHA256Hash?
    /// Whether a code is right, compared in constant time; false if there is none to compare with.
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

    /// The hash of a file, read in pieces on a thread where that holds up no other work. Throws what reading throws,
    /// and `CancellationError`.
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
    /// The library of this system; nil where there is none.
    package static let library: (any HashLibrary)? = makeLibrary()
}
