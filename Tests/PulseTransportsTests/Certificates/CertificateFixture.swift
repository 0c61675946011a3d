// SPDX-License-Identifier: MIT

import PulseCore

@testable import PulseTransports

/// A certificate that openssl made, with the pin that openssl computes.
struct CertificateFixture: Sendable, CustomStringConvertible {
    let name: String
    /// In hexadecimal digits.
    let keyHash: String
    /// Not Data, whose storage the address sanitizer would report as leaked from a constant.
    private let bytes: [UInt8]

    static let all: [CertificateFixture] = certificateFixtures.components(separatedBy: "\n\n").compactMap { text in
        let lines = text.split(separator: "\n")
        guard let parts = lines.first?.components(separatedBy: ": "), parts.count == 2,
            let der = Data(base64Encoded: lines.dropFirst().joined())
        else { return nil }
        return CertificateFixture(name: parts[0], keyHash: parts[1], bytes: [UInt8](der))
    }

    var der: Data { Data(bytes) }
    var description: String { name }
    /// The hash as a transport computes it.
    var key: [UInt8] {
        let digits = Array(keyHash)
        return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
    }
    /// The pin of a policy.
    var pin: String { "sha256/" + Data(key).base64EncodedString() }
}

extension CertificateAuthorities {
    /// All of them in one text (RFC 7468, section 5).
    var pem: Data {
        var text = Data()
        for certificate in certificates {
            text += Data("-----BEGIN CERTIFICATE-----\n".utf8)
            text += certificate.base64EncodedData(options: [.lineLength64Characters, .endLineWithLineFeed])
            text += Data("\n-----END CERTIFICATE-----\n".utf8)
        }
        return text
    }
}
