// SPDX-License-Identifier: MIT

import PulseCore

/// Why a channel has failed, in the three number ranges of Network.framework's errors.
struct CallbackFailure: Sendable {
    enum Cause: Hashable, Sendable {
        case posix(POSIXErrorCode)
        /// A code of dns_sd.h.
        case dns(Int32)
        /// A code of Security/SecureTransport.h.
        case tls(Int32)
        case unknown
    }

    let cause: Cause
    var underlying: (any Error)?

    /// The failure of a connection that was never ready.
    var beforeReady: TransportFailure {
        TransportFailure(code: connectCode, phase: .beforeSend, underlying: underlying)
    }

    /// The failure of a connection that was ready. With TLS 1.3 a server refuses the client's certificate only then.
    func afterReady(_ phase: PulseError.Phase) -> TransportFailure {
        let code = isCertificateRefused ? URLError.Code.clientCertificateRejected : .networkConnectionLost
        return TransportFailure(code: code, phase: phase, underlying: underlying)
    }

    private var connectCode: URLError.Code {
        switch cause {
        case .posix(let code): Self.connectCode(code)
        case .dns(let code): Self.nameCode(code)
        case .tls where isCertificateRefused: .clientCertificateRejected
        case .tls(let code): Self.trustCode(code)
        case .unknown: .cannotConnectToHost
        }
    }

    /// An unreachable network or host counts as offline.
    private static func connectCode(_ code: POSIXErrorCode) -> URLError.Code {
        switch code {
        case .ENETUNREACH, .EHOSTUNREACH, .ENETDOWN, .EHOSTDOWN: .notConnectedToInternet
        case .ETIMEDOUT: .timedOut
        case .EMFILE, .ENFILE, .ENOBUFS, .ENOMEM: .resourceUnavailable
        default: .cannotConnectToHost
        }
    }

    private static func nameCode(_ code: Int32) -> URLError.Code {
        switch code {
        // kDNSServiceErr_NoSuchName, _NoSuchRecord
        case -65538, -65554: .cannotFindHost
        // kDNSServiceErr_PolicyDenied: the user has denied access to the local network.
        case -65570: .notConnectedToInternet
        default: .dnsLookupFailed
        }
    }

    private static func trustCode(_ code: Int32) -> URLError.Code {
        switch code {
        // errSSLUnknownRootCert, errSSLNoRootCert
        case -9812, -9813: .serverCertificateHasUnknownRoot
        // errSSLCertExpired
        case -9814: .serverCertificateHasBadDate
        // errSSLCertNotYetValid
        case -9815: .serverCertificateNotYetValid
        // errSSLXCertChainInvalid, errSSLBadCert, errSSLHostNameMismatch
        case -9807, -9808, -9843: .serverCertificateUntrusted
        default: .secureConnectionFailed
        }
    }

    /// Whether the server has sent an alert about the client's certificate (RFC 8446, section 6.2).
    private var isCertificateRefused: Bool {
        // errSSLPeerBadCert to errSSLPeerCertUnknown, errSSLPeerUnknownCA, errSSLPeerAccessDenied
        guard case .tls(let code) = cause else { return false }
        return -9829 ... -9825 ~= code || code == -9831 || code == -9832
    }
}
