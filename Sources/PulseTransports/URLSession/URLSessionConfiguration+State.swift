// SPDX-License-Identifier: MIT

import PulseCore

extension URLSessionConfiguration {
    /// Leaves the session without a cache, cookies and stored credentials of its own: the client handles these.
    func keepNoState() {
        urlCache = nil
        requestCachePolicy = .reloadIgnoringLocalCacheData
        httpCookieStorage = nil
        httpShouldSetCookies = false
        httpCookieAcceptPolicy = .never
        urlCredentialStorage = nil
    }
}
