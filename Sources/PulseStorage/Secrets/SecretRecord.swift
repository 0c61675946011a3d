// SPDX-License-Identifier: MIT

import PulseCore

/// The content of a secret's file: a line with version, length and checksum, then the secret.
enum SecretRecord {
    static let maxSecretSize = 1 << 20
    /// Enough for the line of the largest secret.
    static let maxLineSize = 64

    static func encode(_ secret: some Collection<UInt8>) -> [UInt8] {
        SealedFile.sealed(secret, "pulse-secret 1 \(secret.count)")
    }

    /// Nil if the bytes are not exactly what ``encode(_:)`` writes for the secret in them.
    static func decode(_ bytes: [UInt8]) -> Data? {
        guard let end = bytes.prefix(maxLineSize).firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let secret = bytes[(end + 1)...]
        return encode(secret) == bytes ? Data(secret) : nil
    }
}
