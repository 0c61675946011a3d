// SPDX-License-Identifier: MIT

import PulseCore

extension TransportFailure {
    /// Maps an error of `URLSession`, including how far the request got.
    static func meaning(of error: any Error, hasSent: Bool, hasResponse: Bool, isReused: Bool = false) -> any Error {
        if !hasResponse, let refusal = PulseError.ProxyRefusal(error) { return PulseError.proxyRefused(refusal) }
        guard let error = error as? URLError else {
            // CFNetwork has its own error domain for a socket that iOS reclaimed in the background, and for proxies.
            let isLost = hasSent || hasResponse || (error as NSError).domain == NSPOSIXErrorDomain
            if !isLost, PulseError.ProxyRefusal.isUnreachable(error as NSError) {
                return TransportFailure(code: .cannotConnectToHost, phase: .beforeSend, underlying: error)
            }
            return TransportFailure(
                code: isLost ? .networkConnectionLost : .cannotConnectToHost,
                phase: hasResponse ? .responseStarted : .maybeSent, underlying: error)
        }
        // The transport's own cancellations end the exchange first. Another task has refused the connection that this
        // one waited for.
        if error.code == .cancelled {
            return TransportFailure(
                code: .networkConnectionLost,
                phase: hasResponse ? .responseStarted : hasSent ? .maybeSent : .beforeSend,
                underlying: error)
        }
        var (code, isBeforeSend) = error.meaning
        // Foundation asks for the body again to resend the request on another connection; the client decides about
        // resends.
        if code == .requestBodyStreamExhausted { (code, isBeforeSend) = (.networkConnectionLost, false) }
        // The code alone can mislead: a TLS error can also occur in the middle of a response.
        let phase: PulseError.Phase =
            hasResponse ? .responseStarted : isBeforeSend && !hasSent ? .beforeSend : .maybeSent
        return TransportFailure(
            code: code, phase: phase, underlying: error,
            isStaleConnection: isReused && code == .networkConnectionLost && phase == .maybeSent)
    }

    /// The failure of the system's evaluation of a server's certificates.
    ///
    /// - Parameter status: a code of Security/SecBase.h; nil for none.
    static func untrusted(status: Int?, underlying: (any Error)?) -> TransportFailure {
        let code: URLError.Code =
            switch status {
            // errSecCertificateExpired
            case -67818: .serverCertificateHasBadDate
            // errSecCertificateNotValidYet
            case -67819: .serverCertificateNotYetValid
            // errSecCreateChainFailed
            case -25318: .serverCertificateHasUnknownRoot
            default: .serverCertificateUntrusted
            }
        return TransportFailure(code: code, phase: .beforeSend, underlying: underlying)
    }
}

extension URLError {
    /// Whether the host is unreachable, according to CFNetwork's details of an error or its cause. Only the host itself
    /// can refuse.
    static func isUnreachable(_ userInfo: [String: Any]) -> Bool {
        // The POSIX domain among the stream error domains.
        if userInfo["_kCFStreamErrorDomainKey"] as? Int == 1, let number = userInfo["_kCFStreamErrorCodeKey"] as? Int {
            return [ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN].contains(Int32(truncatingIfNeeded: number))
        }
        return (userInfo[NSUnderlyingErrorKey] as? NSError).map { isUnreachable($0.userInfo) } ?? false
    }
}
