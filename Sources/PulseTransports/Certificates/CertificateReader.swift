// SPDX-License-Identifier: MIT

import PulseCore

/// Finds the public key in an X.509 certificate (RFC 5280, section 4.1).
///
/// It verifies the structure down to the key, but no name, date, extension or signature: the system has verified those
/// of a server's chain, and only the key of a pinned certificate matters.
package enum CertificateReader {
    /// The SubjectPublicKeyInfo, exactly as it is in the certificate: the bytes that a pin hashes.
    ///
    /// - Parameter certificate: exactly one certificate in DER.
    package static func publicKeyInfo(of certificate: Data) throws(CertificateError) -> Data {
        var file = DERReader(certificate)
        var certificate = try file.element(.sequence).elements
        try file.finish()
        var fields = try certificate.element(.sequence).elements
        try certificate.element(.sequence)  // signatureAlgorithm
        try certificate.element(.bitString)  // signatureValue
        try certificate.finish()
        try fields.skip(ifPresent: .explicit0)  // version
        try fields.element(.integer)  // serialNumber
        try fields.element(.sequence)  // signature
        try fields.element(.sequence)  // issuer
        try fields.element(.sequence)  // validity
        try fields.element(.sequence)  // subject
        let info = try fields.element(.sequence)
        try fields.skip(ifPresent: .implicit1)  // issuerUniqueID
        try fields.skip(ifPresent: .implicit2)  // subjectUniqueID
        try fields.skip(ifPresent: .explicit3)  // extensions
        try fields.finish()
        try verify(info.elements)
        return info.encoding
    }

    private static func verify(_ publicKeyInfo: DERReader) throws(CertificateError) {
        var info = publicKeyInfo
        try info.element(.sequence)  // algorithm
        let key = try info.element(.bitString).content  // subjectPublicKey
        // The number of unused bits in the last byte, and then the key, which is whole bytes in all algorithms.
        guard key.first == 0, key.count > 1 else { throw info.error(.invalidKey, at: key.startIndex) }
        try info.finish()
    }
}
