// SPDX-License-Identifier: MIT

import PulseCore

/// The certificates in ``TLSSettings/certificateAuthorities``.
struct CertificateAuthorities: Sendable, Hashable {
    private static var begin: [UInt8] { Array("-----BEGIN ".utf8) }
    private static var end: [UInt8] { Array("-----END ".utf8) }
    private static var dashes: [UInt8] { Array("-----".utf8) }
    /// The labels of a certificate (RFC 7468, section 5.1; OpenSSL also accepts the second one).
    private static var labels: [Data] { ["CERTIFICATE", "X509 CERTIFICATE"].map { Data($0.utf8) } }
    private static var trusted: Data { Data("TRUSTED CERTIFICATE".utf8) }
    private static var whitespace: [UInt8] { Array(" \t\r\n".utf8) }

    /// In DER, each exactly one certificate.
    let certificates: [Data]

    /// Throws ``PulseError/invalidRequest(reason:)`` for an element without a certificate.
    init(_ authorities: [Data]) throws(PulseError) {
        var certificates: [Data] = []
        for (index, data) in authorities.enumerated() {
            do {
                certificates += try Self.certificates(in: data)
            } catch {
                throw Self.unusable("element \(index), \(error)")
            }
        }
        self.certificates = certificates
    }

    /// Throws unless the system has read all certificates.
    func requireReading(of count: Int) throws(PulseError) {
        guard count == certificates.count else {
            throw Self.unusable("the system reads \(count) of \(certificates.count) certificates")
        }
    }

    private static func unusable(_ problem: String) -> PulseError {
        .invalidRequest(reason: "`certificateAuthorities` of the TLS settings cannot be used: \(problem)")
    }

    private static func certificates(in data: Data) throws(CertificateError) -> [Data] {
        let found = data.firstIndex(ofPattern: begin) == nil ? try elements(of: data) : try decoded(data)
        for certificate in found { _ = try CertificateReader.publicKeyInfo(of: certificate) }
        return found
    }

    /// The certificates in concatenated DER.
    private static func elements(of data: Data) throws(CertificateError) -> [Data] {
        guard data.first == DERReader.Tag.sequence.rawValue else {
            throw CertificateError(reason: .noCertificate, offset: 0)
        }
        var (reader, found) = (DERReader(data), [Data]())
        while !reader.isAtEnd { found.append(try reader.element(.sequence).encoding) }
        return found
    }

    /// The certificates in PEM. Text between them is skipped (RFC 7468, section 2), as are other objects.
    private static func decoded(_ data: Data) throws(CertificateError) -> [Data] {
        var (rest, found) = (data[...], [Data]())
        while let start = rest.firstIndex(ofPattern: begin) {
            let offset = start - data.startIndex
            let label = rest[(start + begin.count)...].prefix { $0 != UInt8(ascii: "-") }
            // It may be trusted less than an authority.
            guard label != trusted else { throw CertificateError(reason: .trustSettings, offset: offset) }
            let mark = end + label + dashes
            guard let stop = rest[label.endIndex...].firstIndex(ofPattern: mark) else {
                throw CertificateError(reason: .truncated, offset: offset)
            }
            if labels.contains(label) {
                let text = rest[label.endIndex..<stop].dropFirst(dashes.count)
                guard let certificate = Data(base64Encoded: text.filter { !whitespace.contains($0) }),
                    !certificate.isEmpty
                else { throw CertificateError(reason: .notBase64, offset: offset) }
                found.append(certificate)
            }
            rest = rest[(stop + mark.count)...]
        }
        guard !found.isEmpty else { throw CertificateError(reason: .noCertificate, offset: 0) }
        return found
    }
}

extension TLSSettings.ClientCertificate {
    /// The error of a request whose certificate cannot be read.
    static func unusable(_ problem: String) -> PulseError {
        .invalidRequest(reason: "`clientCertificate` of the TLS settings cannot be used: \(problem)")
    }

    /// Why Security has imported no identity; nil if it has imported one.
    ///
    /// - Parameter status: a code of Security/SecBase.h.
    static func importProblem(status: Int32, hasIdentity: Bool) -> String? {
        switch status {
        case 0: hasIdentity ? nil : "it has no certificate with a private key"
        // errSecAuthFailed, errSecPkcs12VerifyFailure
        case -25293, -25264: "the password is wrong, or the system cannot read its encryption"
        // errSecDecode, errSecUnknownFormat
        case -26275, -25257: "it is not PKCS #12"
        default: "error \(status) of Security"
        }
    }
}

extension TLSSettings.Version {
    /// The number of the version on the wire (RFC 8446, section 4.2.1), which Apple's enumeration also uses.
    var number: UInt16 {
        switch self {
        case .tls12: 0x0303
        case .tls13: 0x0304
        }
    }
}
