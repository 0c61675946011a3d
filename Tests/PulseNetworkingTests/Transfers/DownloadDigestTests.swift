// SPDX-License-Identifier: MIT

import PulseTransfers
import TestSupport
import Testing

/// Digests, also as header fields (RFC 9530).
@Suite(.throttled)
struct DownloadDigestTests {
    private static let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    private static let emptyField = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

    @Test(arguments: [
        ("sha-256=:\(emptyField):", empty), (" sha-512=:AAAA:, sha-256=:\(emptyField):;q=1", empty),
        ("sha-256=:AAAA:, sha-256=:\(emptyField):", empty), ("sha-256=:\(emptyField):, sha-256=:AAAA:", nil),
        ("sha-256=:\(emptyField.dropLast()):", empty), ("sha-256=:\(emptyField)==:", empty),
        ("sha-256=\(emptyField)", nil), ("sha-256=:\(emptyField)", nil), ("SHA-256=:\(emptyField):", nil),
        ("sha-512=:\(emptyField):", nil), ("sha-256=:*:", nil), ("", nil),
    ])
    func aDigestFieldIsRead(field: String, digest: String?) {
        #expect(Download.Digest.sha256(inField: field) == digest)
    }

    @Test func aDigestHas64HexadecimalDigits() {
        #expect(Download.Digest.sha256(Self.empty.uppercased()).hex == Self.empty)
        for text in ["", String(Self.empty.dropLast()), Self.empty + "0", Self.empty.dropLast() + "g"] {
            #expect(Download.Digest.sha256(text).hex == nil)
        }
    }
}
