// SPDX-License-Identifier: MIT

import PulseCore

extension ProxyRefusal {
    /// The refusal of the system's proxy that an error of `URLSession` tells of; nil for another error.
    init?(_ error: any Error) {
        guard let reason = Reason(error as NSError) else { return nil }
        self.init(proxy: nil, reason: reason)
    }
}

extension ProxyRefusal.Reason {
    fileprivate init?(_ error: NSError) {
        if error.domain == "kCFErrorDomainCFNetwork" {
            // CFNetwork/CFNetworkErrors.h
            switch error.code {
            case 307: self = .status(407)
            case 110...113, 311: self = .unknown
            case 122...124: self = .socksCredentials
            default: return nil
            }
            return
        }
        // libcurl's words, which are all that Foundation on Linux tells.
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
