// SPDX-License-Identifier: MIT

import PulseCore

extension PluginContext {
    /// Throws unless the request may leave under the call's ``RequestOptions/auth``: a call that requires
    /// authentication never goes out without a credential, whichever plugin was to set it.
    ///
    /// - Parameter request: as it would be sent, without the secrets that must not go there.
    func checkAuth(of request: URLRequest, at url: URL) throws(PulseError) {
        guard call.options.auth == .required, !carriesCredential(request), url.user ?? "" == "" else { return }
        guard isTrusted(url) else {
            throw .invalidRequest(
                reason: "the call requires authentication, and its URL is not of the client's home origins")
        }
        guard store[AuthIsHandled.self] == true else { throw .unauthorized() }
    }

    private func carriesCredential(_ request: URLRequest) -> Bool {
        (request.allHTTPHeaderFields ?? [:]).contains { name, value in
            !value.isEmpty && call.isCredential(header: name) && !Self.provesNothing(name.asciiLowercased)
        }
    }

    /// Whether a secret header does not say who asks: a cookie may be anything, and the others are for a proxy, or
    /// against forged requests.
    private static func provesNothing(_ name: String) -> Bool {
        name == "cookie" || name == "proxy-authorization" || name.contains("csrf") || name.contains("xsrf")
            || name.hasPrefix("x-signature")
    }
}
