// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore

/// The services of the system's security library for a session. Only Apple platforms have it; tests supply their own.
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
    /// The certificates that were read last: deriving a key from a password is slow by design.
    private let latest = Locked<(tls: TLSSettings, certificates: SessionCertificates)?>(nil)
    /// Whether a chain was accepted, for the settings of all sessions of the process.
    private let checks = Locked<[SessionSettings.Trust: Locked<Bool>]>([:])
    /// Reads certificates serially: only one of several concurrent first requests reads, and an import may change the
    /// system's keychain.
    private let reading = DispatchQueue(label: "PulseNetworking.URLSession.certificates")

    init(
        evaluateTrust:
            @escaping @Sendable (URLAuthenticationChallenge, _ authorities: [Data]) throws -> (
                chain: [Data], credential: URLCredential
            ),
        identity: @escaping @Sendable (TLSSettings.ClientCertificate) throws -> URLCredential,
        countReadable: @escaping @Sendable ([Data]) -> Int
    ) {
        (self.evaluateTrust, self.identity, self.countReadable) = (evaluateTrust, identity, countReadable)
    }

    /// The certificates of the settings. Throws ``PulseError/invalidRequest(reason:)`` for an unreadable one.
    func certificates(of tls: TLSSettings) throws -> SessionCertificates {
        try reading.sync { try read(tls) }
    }

    /// Whether a chain was accepted under the settings.
    func checks(by trust: SessionSettings.Trust) -> Locked<Bool> {
        checks.withLock { checks in
            let check = checks[trust] ?? Locked(false)
            checks[trust] = check
            return check
        }
    }

    private func read(_ tls: TLSSettings) throws -> SessionCertificates {
        if let latest = latest.withLock({ $0 }), latest.tls == tls { return latest.certificates }
        var certificates = SessionCertificates()
        if !tls.certificateAuthorities.isEmpty {
            let authorities = try CertificateAuthorities(tls.certificateAuthorities)
            try authorities.requireReading(of: countReadable(authorities.certificates))
            certificates.authorities = authorities
        }
        certificates.identity = try tls.clientCertificate.map { try identity($0) }
        latest.withLock { [certificates] in $0 = (tls, certificates) }
        return certificates
    }
}

extension TransportRequest {
    /// Evaluates the server's certificates with the authorities of its session, and compares the verified chain with
    /// the pins. Throws for a session without the request's authorities or pins.
    func credential(
        for challenge: URLAuthenticationChallenge, _ credentials: SessionCredentials, _ security: SessionSecurity
    ) throws -> URLCredential {
        let (chain, credential) = try security.evaluateTrust(challenge, try authorities(of: credentials))
        try check(chain, against: credentials.pins)
        credentials.noteCheck()
        return credential
    }

    /// The authorities in DER; none for the system's.
    func authorities(of credentials: SessionCredentials) throws -> [Data] {
        // Otherwise the system's authorities would apply.
        guard credentials.authorities.isEmpty == tls.certificateAuthorities.isEmpty else {
            throw TransportFailure.untrusted(status: nil, underlying: nil)
        }
        return credentials.authorities
    }

    /// Throws, or reports, if a response has arrived although no session with these settings has checked a chain: the
    /// system may have resumed a TLS session that was made under other settings.
    func requireCheck(by credentials: SessionCredentials) throws {
        guard credentials.isUnchecked else { return }
        guard credentials.pins != nil else { throw TransportFailure.untrusted(status: nil, underlying: nil) }
        try check([], against: credentials.pins)
    }
}
