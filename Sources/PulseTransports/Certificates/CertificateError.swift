// SPDX-License-Identifier: MIT

/// Why bytes are not a certificate.
package struct CertificateError: Error, Hashable, CustomStringConvertible {
    package enum Reason: String, Sendable {
        case truncated = "the bytes end in an element"
        case invalidLength = "the length is not in the shortest form"
        case unexpectedTag = "an element of another type is expected"
        case surplusBytes = "there are surplus bytes"
        case invalidKey = "the key is not a string of bytes"
        case noCertificate = "there is no certificate in DER or PEM"
        case trustSettings = "OpenSSL's trust settings are not supported"
        case notBase64 = "the text of the certificate is not base64"
    }

    package let reason: Reason
    /// The zero-based index of the byte.
    package let offset: Int

    package var description: String { "\(reason.rawValue) (byte \(offset))" }
}
