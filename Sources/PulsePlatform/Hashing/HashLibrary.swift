// SPDX-License-Identifier: MIT

import PulseCore

/// The system's SHA-256 (FIPS 180-4), HMAC-SHA256 (RFC 2104) and, for protocols that prescribe them, SHA-1 (FIPS 180-4)
/// and MD5 (RFC 1321): CryptoKit on Apple platforms, on Linux OpenSSL 1.1.1 or later. There is no fallback: without a
/// library, features work without hashes or fail.
///
/// A result is nil if the system refuses the operation or lacks the memory. Safe from any thread.
package protocol HashLibrary: Sendable {
    func sha256(_ bytes: UnsafeRawBufferPointer) -> SHA256Hash?
    /// The SHA-1 digest, of 20 bytes.
    func sha1(_ text: String) -> Data?
    /// The MD5 digest in 32 lower-case hexadecimal digits.
    func md5(_ text: String) -> String?
    func makeHasher() -> (any SHA256Hasher)?
    /// A key for HMAC-SHA256, of any length, including an empty one.
    func makeKey(_ secret: Data) -> (any HMACKey)?
}

/// An incremental SHA-256, for one task at a time.
package protocol SHA256Hasher: AnyObject {
    func update(_ bytes: UnsafeRawBufferPointer)
    /// The hash of all updates; nil if an update failed. Call it once.
    func finalize() -> SHA256Hash?
}

/// A prepared secret, which no description shows. Safe from any thread.
package protocol HMACKey: Sendable {
    func code(for message: UnsafeRawBufferPointer) -> SHA256Hash?
    /// Whether a code is valid, compared in constant time; false if no code can be computed.
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

    /// The hash of a file, read in chunks on a thread that blocks no other work. Throws the errors of reading, and
    /// `CancellationError`.
    package func sha256(of file: URL) async throws -> SHA256Hash? {
        try await BlockingWork.run(reading: file) { work in
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
