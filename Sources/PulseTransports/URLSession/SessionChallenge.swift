// SPDX-License-Identifier: MIT

import PulseCore

/// An authentication challenge of a `URLSession`, and what the transport does about it.
struct SessionChallenge: Sendable, Hashable {
    enum Kind: Sendable, Hashable, CaseIterable {
        case serverTrust, clientCertificate
        /// For credentials of an HTTP server or a proxy; `unspecified` is the method of a SOCKS proxy.
        case basic, digest, ntlm, negotiate, form, unspecified
        /// A method that Foundation does not document.
        case unknown

        /// - Parameter method: one of Foundation's constants.
        init(method: String) {
            self =
                switch method {
                case Self.serverTrustMethod: .serverTrust
                case Self.clientCertificateMethod: .clientCertificate
                case NSURLAuthenticationMethodHTTPBasic: .basic
                case NSURLAuthenticationMethodHTTPDigest: .digest
                case NSURLAuthenticationMethodNTLM: .ntlm
                case NSURLAuthenticationMethodNegotiate: .negotiate
                case NSURLAuthenticationMethodHTMLForm: .form
                case NSURLAuthenticationMethodDefault: .unspecified
                default: .unknown
                }
        }
    }

    enum Reaction: Sendable, Hashable {
        /// Evaluate the server's certificates with the request's authorities, then compare the verified chain with its
        /// pins.
        case evaluateTrust
        /// Continue as if there were no credential at all.
        case continueWithoutCredential
        /// Present the request's client certificate.
        case presentCertificate
        /// Send the credentials of the request's proxy.
        case sendProxyCredentials
        /// Continue without credentials, which delivers a 401 or 407 as received.
        case rejectProtectionSpace
        /// Leave the challenge to the system.
        case performDefaultHandling
    }

    let kind: Kind
    /// The host of the challenging server or proxy.
    let host: String
    let port: Int
    let isProxy: Bool
    /// The number of times that the reaction to the same challenge failed.
    let previousFailureCount: Int

    /// The reaction under the settings of a request.
    ///
    /// Certificates and pins are for the request's server, not for a proxy, and a proxy's credentials are for the
    /// configured proxy. Nothing is presented again after it failed: an account may be locked after some failures.
    func reaction(for request: TransportRequest) -> Reaction {
        switch kind {
        case .serverTrust:
            let isOrdinary = request.pins == nil && !request.tls.evaluatesTrust
            // A protection space with the server's host counts as the server's, whatever the session calls it: pins
            // must not be skipped.
            let isOfProxy = isProxy && !isFrom(request.urlRequest.url?.host ?? "")
            return isOfProxy || isOrdinary ? .performDefaultHandling : .evaluateTrust
        case .clientCertificate:
            if isProxy { return .performDefaultHandling }
            // The system would search its keychain for one.
            guard request.tls.clientCertificate != nil else { return .continueWithoutCredential }
            return previousFailureCount == 0 ? .presentCertificate : .rejectProtectionSpace
        case .basic, .digest, .ntlm, .unspecified:
            guard isProxy else { return .rejectProtectionSpace }
            guard isProxy(with: request.proxy) else { return .performDefaultHandling }
            let maySend = request.proxy.hasCredentials && previousFailureCount == 0
            return maySend ? .sendProxyCredentials : .rejectProtectionSpace
        case .negotiate, .form:
            // The client handles the credentials of servers; the system's handling would resend the request. The
            // configured proxy may offer another protection space.
            return isProxy && !isProxy(with: request.proxy) ? .performDefaultHandling : .rejectProtectionSpace
        case .unknown:
            return .performDefaultHandling
        }
    }

    /// Whether the challenging proxy is the configured one.
    private func isProxy(with settings: ProxySettings) -> Bool {
        guard case .proxy(_, let host, let port) = settings.route else { return false }
        return port == self.port && isFrom(PercentEncoding.decode(host) ?? host)
    }

    private func isFrom(_ host: String) -> Bool {
        host.withoutBrackets.equalsIgnoringASCIICase(self.host.withoutBrackets)
    }
}

extension SessionChallenge {
    init(_ challenge: URLAuthenticationChallenge) {
        let space = challenge.protectionSpace
        self.init(
            kind: Kind(method: space.authenticationMethod), host: space.host, port: space.port,
            isProxy: space.proxyType != nil, previousFailureCount: challenge.previousFailureCount)
    }
}
