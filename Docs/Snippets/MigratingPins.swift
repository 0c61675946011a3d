// SPDX-License-Identifier: MIT
//! Pins with URLSession alone, for Apple platforms.

import PulseKit

#if canImport(Security)
import Security

// snippet.pin
/// Accepts a server whose certificate chain has one of the pinned certificates.
final class PinnedSession: NSObject, URLSessionDelegate {
    private let certificates: Set<Data>

    init(certificates: Set<Data>) {
        self.certificates = certificates
    }

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        guard let trust = challenge.protectionSpace.serverTrust else {
            return completionHandler(.performDefaultHandling, nil)
        }
        let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate] ?? []
        let isPinned = chain.contains { certificates.contains(SecCertificateCopyData($0) as Data) }
        if isPinned, SecTrustEvaluateWithError(trust, nil) {
            completionHandler(.performDefaultHandling, nil)
        } else {
            completionHandler(.cancelAuthenticationChallenge, nil)
        }
    }
}
// snippet.end
#endif
