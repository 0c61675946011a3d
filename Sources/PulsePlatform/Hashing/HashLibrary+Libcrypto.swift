// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore

extension SystemHashes {
    static func makeLibrary() -> (any HashLibrary)? {
        pulse_hash_load() ? Libcrypto() : nil
    }
}

private struct Libcrypto: HashLibrary {
    func sha256(_ bytes: UnsafeRawBufferPointer) -> SHA256Hash? {
        SHA256Hash { pulse_sha256(bytes.baseAddress, bytes.count, $0) }
    }

    func sha1(_ text: String) -> Data? {
        var (text, hash) = (text, [UInt8](repeating: 0, count: Int(PULSE_SHA1_LENGTH)))
        let isDone = text.withUTF8 { pulse_sha1($0.baseAddress, $0.count, &hash) }
        return isDone ? Data(hash) : nil
    }

    func md5(_ text: String) -> String? {
        var (text, hash) = (text, [UInt8](repeating: 0, count: Int(PULSE_MD5_LENGTH)))
        let isDone = text.withUTF8 { pulse_md5($0.baseAddress, $0.count, &hash) }
        return isDone ? hash.hexDigits : nil
    }

    func makeHasher() -> (any SHA256Hasher)? {
        pulse_sha256_new().map { LibcryptoHasher($0) }
    }

    func makeKey(_ secret: Data) -> (any HMACKey)? {
        secret.withUnsafeBytes { pulse_hmac_key_new($0.baseAddress, $0.count) }.map { LibcryptoKey($0) }
    }
}

private final class LibcryptoHasher: SHA256Hasher {
    private let hasher: OpaquePointer
    private var hasHashedAll = true

    init(_ hasher: OpaquePointer) {
        self.hasher = hasher
    }

    deinit {
        pulse_sha256_free(hasher)
    }

    func update(_ bytes: UnsafeRawBufferPointer) {
        if !pulse_sha256_update(hasher, bytes.baseAddress, bytes.count) { hasHashedAll = false }
    }

    func finalize() -> SHA256Hash? {
        hasHashedAll ? SHA256Hash { pulse_sha256_final(hasher, $0) } : nil
    }
}

// Unchecked: the pointer never changes, and the key is safe to use from several threads.
private final class LibcryptoKey: HMACKey, @unchecked Sendable {
    private let key: OpaquePointer

    init(_ key: OpaquePointer) {
        self.key = key
    }

    deinit {
        pulse_hmac_key_free(key)
    }

    func code(for message: UnsafeRawBufferPointer) -> SHA256Hash? {
        SHA256Hash { pulse_hmac(key, message.baseAddress, message.count, $0) }
    }

    func isValid(_ code: SHA256Hash, for message: UnsafeRawBufferPointer) -> Bool {
        guard let own = self.code(for: message) else { return false }
        return own.withUnsafeBytes { own in
            code.withUnsafeBytes { code in pulse_hash_equal(own.baseAddress, code.baseAddress) }
        }
    }
}
#endif
