// SPDX-License-Identifier: MIT

import PulseCore

extension PulseError.ProxyRefusal {
    /// The proxy's refusal in an error of `URLSession`; nil for another error.
    init?(_ error: any Error) {
        guard let reason = Reason(error as NSError) else { return nil }
        self.init(proxy: nil, reason: reason)
    }

    /// Whether the error is that of a connection to a proxy, by a code of CFNetwork/CFNetworkErrors.h.
    static func isUnreachable(_ error: NSError) -> Bool {
        // kCFErrorHTTPProxyConnectionFailure, kCFErrorHTTPSProxyConnectionFailure
        error.domain == "kCFErrorDomainCFNetwork" && [306, 310].contains(error.code)
    }
}

extension PulseError.ProxyRefusal.Reason {
    fileprivate init?(_ error: NSError) {
        if error.domain == "kCFErrorDomainCFNetwork" {
            // Codes of CFNetwork/CFNetworkErrors.h.
            switch error.code {
            case 307: self = .status(407)
            case 110...113, 311: self = .unknown
            case 122...124: self = .socksCredentials
            default: return nil
            }
            return
        }
        // Foundation on Linux reports only libcurl's text.
        guard let cause = error.userInfo[NSUnderlyingErrorKey] as? NSError else { return nil }
        let text = cause.localizedDescription
        for words in ["CONNECT tunnel failed, response ", "Received HTTP code "] {
            guard let range = text.range(of: words), let status = Int(text[range.upperBound...].prefix(3)) else {
                continue
            }
            self = .status(status)
            return
        }
        return nil
    }
}
