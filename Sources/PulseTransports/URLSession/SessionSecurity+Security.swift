// SPDX-License-Identifier: MIT

#if canImport(Security)
import PulseCore
import Security

extension SessionSecurity {
    static let system: SessionSecurity? = SessionSecurity(
        evaluateTrust: { challenge, authorities in
            guard let trust = challenge.protectionSpace.serverTrust else {
                throw TransportFailure.untrusted(status: nil, underlying: nil)
            }
            return (try trust.evaluate(authorities), URLCredential(trust: trust))
        },
        identity: { certificate in
            let (identity, chain) = try certificate.imported()
            return URLCredential(identity: identity, certificates: chain, persistence: .forSession)
        },
        countReadable: { certificates in
            certificates.count(where: { SecCertificateCreateWithData(nil, $0 as CFData) != nil })
        })
}

extension SecTrust {
    /// Evaluates the server's certificates by the policies of the trust, with authorities in DER in place of the
    /// system's, unless there are none. Returns the verified chain in DER, leaf first. Throws ``TransportFailure``.
    func evaluate(_ authorities: [Data]) throws -> [Data] {
        if !authorities.isEmpty {
            let anchors = authorities.compactMap { SecCertificateCreateWithData(nil, $0 as CFData) }
            for status in [
                SecTrustSetAnchorCertificates(self, anchors as CFArray), SecTrustSetAnchorCertificatesOnly(self, true),
            ] where status != errSecSuccess {
                throw TransportFailure.untrusted(status: Int(status), underlying: nil)
            }
        }
        var error: CFError?
        guard SecTrustEvaluateWithError(self, &error) else {
            throw TransportFailure.untrusted(status: error.map { CFErrorGetCode($0) }, underlying: error)
        }
        let chain = SecTrustCopyCertificateChain(self) as? [SecCertificate] ?? []
        return chain.map { Data(referencing: SecCertificateCopyData($0) as NSData) }
    }
}

extension TLSSettings.ClientCertificate {
    /// The certificate with its key, and the certificates of its authorities. Before macOS 15 the system adds them to
    /// the default keychain.
    func imported() throws -> (identity: SecIdentity, chain: [SecCertificate]) {
        var items: CFArray?
        var options: [String: Any] = [kSecImportExportPassphrase as String: password]
        if #available(iOS 18, macOS 15, tvOS 18, watchOS 11, visionOS 2, *) {  // newer: without the keychain
            options[kSecImportToMemoryOnly as String] = true
        }
        let status = SecPKCS12Import(data as CFData, options as CFDictionary, &items)
        let all = items as? [[String: Any]] ?? []
        let item = all.first { $0[kSecImportItemIdentity as String] != nil }
        let identity = item?[kSecImportItemIdentity as String].flatMap { SecIdentity.cast($0) }
        let problem = Self.importProblem(status: status, hasIdentity: identity != nil)
        guard problem == nil, let identity else { throw Self.unusable(problem ?? "") }
        let chain = item?[kSecImportItemCertChain as String] as? [SecCertificate] ?? []
        // The first one belongs to the identity.
        return (identity, Array(chain.dropFirst()))
    }
}

extension SecIdentity {
    /// A conditional cast to a type of CoreFoundation always succeeds.
    fileprivate static func cast(_ value: Any) -> SecIdentity? {
        let object = value as AnyObject
        return CFGetTypeID(object) == SecIdentityGetTypeID() ? unsafeDowncast(object, to: SecIdentity.self) : nil
    }
}
#endif
