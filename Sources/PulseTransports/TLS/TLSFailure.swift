// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore

/// Why the TLS of a connection has failed, in OpenSSL's words.
struct TLSFailure: Error, Sendable, CustomStringConvertible {
    let reason: String

    var description: String { "TLS: \(reason)" }

    /// The verified chain contains none of the pinned keys.
    struct Unpinned: Error {
        let keys: [[UInt8]]
    }

    /// The failure of a handshake.
    static func ofHandshake(_ failure: pulse_tls_failure) -> TransportFailure {
        let code = refusal(of: failure) ?? trustCode(failure.verify_result) ?? .secureConnectionFailed
        return TransportFailure(code: code, phase: .beforeSend, underlying: cause(of: failure))
    }

    /// The failure of a connection that was secure.
    static func ofConnection(_ failure: pulse_tls_failure) -> SocketChannel.Outcome {
        .failed(refusal(of: failure) ?? .networkConnectionLost, underlying: cause(of: failure))
    }

    /// The system's authorities cannot be read.
    static func unreadable(_ authorities: TLSAuthorities) -> TransportFailure {
        guard !pulse_lacks_descriptors() else {
            return TransportFailure(code: .resourceUnavailable, phase: .beforeSend)
        }
        let reason = "the certificate authorities of the system cannot be read: \(authorities.places)"
        return TransportFailure(
            code: .secureConnectionFailed, phase: .beforeSend, underlying: TLSFailure(reason: reason))
    }

    /// The code of a chain that is not trusted, or has another name, by the result in openssl/x509_vfy.h; nil for one
    /// that is trusted.
    static func trustCode(_ result: Int) -> URLError.Code? {
        switch result {
        case 0: nil
        case 9: .serverCertificateNotYetValid
        case 10: .serverCertificateHasBadDate
        // Unknown issuers, and self-signed certificates
        case 2, 18, 19, 20: .serverCertificateHasUnknownRoot
        default: .serverCertificateUntrusted
        }
    }

    /// The code of an alert (RFC 8446, section 6.2) about the client's certificate or its absence; nil for any other
    /// alert. TLS 1.2 has no alert for a missing certificate: servers send handshake_failure or bad_certificate.
    static func refusal(alert: Int, lacksCertificate: Bool) -> URLError.Code? {
        switch alert {
        // certificate_required
        case 116: .clientCertificateRequired
        // handshake_failure, no_certificate
        case 40, 41: lacksCertificate ? .clientCertificateRequired : nil
        // From bad_certificate to certificate_unknown; unknown_ca, access_denied
        case 42...46, 48, 49: lacksCertificate ? .clientCertificateRequired : .clientCertificateRejected
        default: nil
        }
    }

    private static func refusal(of failure: pulse_tls_failure) -> URLError.Code? {
        refusal(alert: Int(failure.alert), lacksCertificate: failure.lacks_certificate)
    }

    private static func cause(of failure: pulse_tls_failure) -> (any Error)? {
        if let reason = failure.reason { return TLSFailure(reason: String(cString: reason)) }
        return POSIXErrorCode(rawValue: failure.number).map { POSIXError($0) }
    }
}
#endif
