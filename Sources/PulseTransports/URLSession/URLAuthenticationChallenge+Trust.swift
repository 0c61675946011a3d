// SPDX-License-Identifier: MIT

#if canImport(Security)
import PulseCore
import Security

extension URLAuthenticationChallenge {
    /// Evaluates the server's certificates by the system's rules, with the host's name among them. Throws
    /// ``TransportFailure``.
    func evaluateTrust() throws -> (chain: [Data], credential: URLCredential) {
        guard let trust = protectionSpace.serverTrust else {
            throw TransportFailure.untrusted(status: nil, underlying: nil)
        }
        var error: CFError?
        guard SecTrustEvaluateWithError(trust, &error) else {
            throw TransportFailure.untrusted(status: error.map { CFErrorGetCode($0) }, underlying: error)
        }
        let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate] ?? []
        return (chain.map { Data(referencing: SecCertificateCopyData($0) as NSData) }, URLCredential(trust: trust))
    }
}
#endif
