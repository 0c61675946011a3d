// SPDX-License-Identifier: MIT

import PulseCore

extension URLSessionConfiguration {
    /// Turns off the session's own cache, cookies and credential storage: the client handles these.
    func keepNoState() {
        urlCache = nil
        requestCachePolicy = .reloadIgnoringLocalCacheData
        httpCookieStorage = nil
        httpShouldSetCookies = false
        httpCookieAcceptPolicy = .never
        urlCredentialStorage = nil
    }
}
