// SPDX-License-Identifier: MIT

import PulseCore

/// What the system's security library does for a session. Only Apple platforms have it; tests have their own.
struct SessionSecurity: Sendable {
    /// Evaluates the certificates of a challenge by the system's rules, the host's name among them, with authorities in
    /// DER in place of the system's, unless there are none. Returns the verified chain in DER, leaf first, and the
    /// credential that accepts it. Throws ``TransportFailure``.
    var evaluateTrust:
        @Sendable (URLAuthenticationChallenge, _ authorities: [Data]) throws -> (
            chain: [Data], credential: URLCredential
        )
    /// Imports a client certificate. Throws ``PulseError/invalidRequest(reason:)``.
    var identity: @Sendable (TLSSettings.ClientCertificate) throws -> URLCredential
    /// The number of certificates in DER that the system can read.
    var countReadable: @Sendable ([Data]) -> Int
}

extension TransportRequest {
    /// Evaluates the server's certificates with the authorities of its session, and compares the verified chain with
    /// the pins. Throws for a session without the request's authorities or pins.
    func credential(
        for challenge: URLAuthenticationChallenge, _ credentials: SessionCredentials, _ security: SessionSecurity
    ) throws -> URLCredential {
        let authorities = try authorities(of: credentials)
        let (chain, credential) = try security.evaluateTrust(challenge, authorities)
        try check(chain, against: credentials.pins)
        return credential
    }

    /// The authorities in DER; none for the system's.
    func authorities(of credentials: SessionCredentials) throws -> [Data] {
        let authorities = credentials.authorities?.certificates ?? []
        // Otherwise the system's authorities would count.
        guard authorities.isEmpty == tls.certificateAuthorities.isEmpty else {
            throw TransportFailure.untrusted(status: nil, underlying: nil)
        }
        return authorities
    }
}
