// SPDX-License-Identifier: MIT

import PulseCore

extension TransportFailure {
    /// What an error that `URLSession` reports means, and how far the request had got.
    static func meaning(of error: any Error, hasSent: Bool, hasAnswer: Bool, isReused: Bool = false) -> any Error {
        if !hasAnswer, let refusal = ProxyRefusal(error) { return PulseError.proxyRefused(refusal) }
        guard let error = error as? URLError else {
            // CFNetwork tells of a socket that iOS took away in the background, or of a proxy, in a domain of its own.
            let isLost = hasSent || hasAnswer || (error as NSError).domain == NSPOSIXErrorDomain
            return TransportFailure(
                code: isLost ? .networkConnectionLost : .cannotConnectToHost,
                phase: hasAnswer ? .responseStarted : .maybeSent, underlying: error)
        }
        if error.code == .cancelled { return CancellationError() }
        var (code, isBeforeSend) = error.meaning
        // Asked for the body again, to repeat the request on another connection: the client decides about that.
        if code == .requestBodyStreamExhausted { (code, isBeforeSend) = (.networkConnectionLost, false) }
        // The code alone may mislead: an error of TLS can also come in the middle of an answer.
        let phase: PulseError.Phase =
            hasAnswer ? .responseStarted : isBeforeSend && !hasSent ? .beforeSend : .maybeSent
        return TransportFailure(
            code: code, phase: phase, underlying: error,
            isStaleConnection: isReused && code == .networkConnectionLost && phase == .maybeSent)
    }
}

extension URLError {
    /// Whether there is no way to the host, by what CFNetwork adds to an error or to its cause. A refusal comes from
    /// the host.
    static func tellsOfNoRoute(_ userInfo: [String: Any]) -> Bool {
        // The domain of POSIX among those of streams.
        if userInfo["_kCFStreamErrorDomainKey"] as? Int == 1, let number = userInfo["_kCFStreamErrorCodeKey"] as? Int {
            return [ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN].contains(Int32(truncatingIfNeeded: number))
        }
        return (userInfo[NSUnderlyingErrorKey] as? NSError).map { tellsOfNoRoute($0.userInfo) } ?? false
    }
}
