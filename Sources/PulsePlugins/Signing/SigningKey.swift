// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform

/// A secret with its hash functions.
struct SigningKey: Sendable {
    let hashes: any HashLibrary
    private let key: any HMACKey

    /// Throws ``PulseError/unsupported(_:)`` without hash functions, and ``PulseError/invalidRequest(reason:)`` for an
    /// empty secret, which any client could guess.
    init(secret: Data, hashes: (any HashLibrary)?) throws {
        guard let hashes else { throw Self.unsupported }
        guard !secret.isEmpty else { throw PulseError.invalidRequest(reason: "the signing secret is empty") }
        guard let key = hashes.makeKey(secret) else { throw Self.unsupported }
        self.hashes = hashes
        self.key = key
    }

    // Not a constant: its pointer to an indirect enumeration is tagged, and the leak check would report the box as
    // lost.
    static var unsupported: PulseError {
        .unsupported("signing needs the system's HMAC-SHA256: CryptoKit, or OpenSSL on Linux")
    }

    /// Throws ``PulseError/unsupported(_:)`` if the system's hash function fails.
    func signature(of text: SignedText) throws -> String {
        guard let code = text.bytes.withUnsafeBytes({ key.code(for: $0) }) else { throw Self.unsupported }
        return code.hex
    }

    func isSignature(_ code: SHA256Hash, of text: SignedText) -> Bool {
        text.bytes.withUnsafeBytes { key.isValid(code, for: $0) }
    }
}
