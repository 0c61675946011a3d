// SPDX-License-Identifier: MIT

#if canImport(CryptoKit)
import CryptoKit
import PulseCore

extension SystemHashes {
    static func makeLibrary() -> (any HashLibrary)? {
        CryptoKitLibrary()
    }
}

private struct CryptoKitLibrary: HashLibrary {
    func sha256(_ bytes: UnsafeRawBufferPointer) -> SHA256Hash? {
        SHA256Hash(SHA256.hash(data: bytes))
    }

    func sha1(_ text: String) -> Data? {
        Data(Insecure.SHA1.hash(data: Data(text.utf8)))
    }

    func md5(_ text: String) -> String? {
        Array(Insecure.MD5.hash(data: Data(text.utf8))).hexDigits
    }

    func makeHasher() -> (any SHA256Hasher)? {
        CryptoKitHasher()
    }

    func makeKey(_ secret: Data) -> (any HMACKey)? {
        CryptoKitKey(secret: secret)
    }
}

private final class CryptoKitHasher: SHA256Hasher {
    private var hasher = SHA256()

    func update(_ bytes: UnsafeRawBufferPointer) {
        hasher.update(data: bytes)
    }

    func finalize() -> SHA256Hash? {
        SHA256Hash(hasher.finalize())
    }
}

/// Stores the bytes: whether a `SymmetricKey` is Sendable depends on the SDK.
private struct CryptoKitKey: HMACKey, CustomReflectable {
    let secret: Data

    func code(for message: UnsafeRawBufferPointer) -> SHA256Hash? {
        SHA256Hash(HMAC<SHA256>.authenticationCode(for: message, using: SymmetricKey(data: secret)))
    }

    func isValid(_ code: SHA256Hash, for message: UnsafeRawBufferPointer) -> Bool {
        code.withUnsafeBytes {
            HMAC<SHA256>.isValidAuthenticationCode(
                Data($0), authenticating: message, using: SymmetricKey(data: secret))
        }
    }

    var customMirror: Mirror { Mirror(self, children: []) }
}

extension SHA256Hash {
    fileprivate init?(_ digest: some ContiguousBytes) {
        self.init { bytes in
            digest.withUnsafeBytes { digest in
                guard digest.count == Self.byteCount, let source = digest.baseAddress else { return false }
                UnsafeMutableRawPointer(bytes).copyMemory(from: source, byteCount: digest.count)
                return true
            }
        }
    }
}
#endif
