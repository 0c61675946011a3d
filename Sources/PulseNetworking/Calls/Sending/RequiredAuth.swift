// SPDX-License-Identifier: MIT

import PulseCore

extension PluginContext {
    /// Throws unless the request may be sent under the call's ``RequestOptions/auth``. A call that requires
    /// authentication is never sent without a credential, no matter which plugin should have set it.
    ///
    /// - Parameter request: the request to send, already without the secrets that its URL must not receive.
    func checkAuth(of request: URLRequest, at url: URL) throws(PulseError) {
        guard call.options.auth == .required, !carriesCredential(request), url.user ?? "" == "" else { return }
        guard isTrusted(url) else {
            throw .invalidRequest(
                reason: "the call requires authentication, and its URL is not of the client's home origins")
        }
        guard store[HandledAuthKey.self] == true else { throw .unauthorized() }
    }

    private func carriesCredential(_ request: URLRequest) -> Bool {
        (request.allHTTPHeaderFields ?? [:]).contains { name, value in
            !value.isEmpty && call.isCredential(header: name) && !Self.provesNothing(name.asciiLowercased)
        }
    }

    /// Whether a secret header does not identify the caller. A cookie may have any meaning; the other headers are for a
    /// proxy, or protect against forged requests.
    private static func provesNothing(_ name: String) -> Bool {
        name == "cookie" || name == "proxy-authorization" || name.contains("csrf") || name.contains("xsrf")
            || name.hasPrefix("x-signature")
    }
}
