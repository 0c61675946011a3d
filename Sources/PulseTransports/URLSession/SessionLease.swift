// SPDX-License-Identifier: MIT

import PulseCore

/// How the connections of a session are secured and routed. Requests share a session, and so connections, if theirs
/// are equal: a connection is challenged for its certificates only once.
struct SessionSettings: Sendable, Hashable {
    let pins: PinnedKeys?
    let tls: TLSSettings
    let proxy: ProxySettings

    /// The settings of a request. Throws ``PulseError/invalidRequest(reason:)`` for an unreadable pinned certificate.
    init(_ request: TransportRequest, isSecure: Bool) throws {
        // Cleartext has no keys.
        pins = isSecure ? try request.pins.map { try PinnedKeys($0) } : nil
        tls = isSecure ? request.tls : .default
        proxy = request.proxy.excludes(request.urlRequest.url?.host ?? "") ? .direct : request.proxy
    }
}

/// What a session reacts to challenges with.
struct SessionCredentials: Sendable {
    var pins: PinnedKeys?
    var authorities: CertificateAuthorities?
    var identity: URLCredential?

    /// Reads the certificates of the settings, before anything is sent. Throws ``PulseError/invalidRequest(reason:)``
    /// for an unreadable one.
    init(_ settings: SessionSettings, _ security: SessionSecurity) throws {
        pins = settings.pins
        if !settings.tls.certificateAuthorities.isEmpty {
            let authorities = try CertificateAuthorities(settings.tls.certificateAuthorities)
            try authorities.requireReading(of: security.countReadable(authorities.certificates))
            self.authorities = authorities
        }
        identity = try settings.tls.clientCertificate.map { try security.identity($0) }
    }

    init() {}
}

/// Keeps a session alive while a task may still be started in it: starting one later would crash the process.
final class SessionLease: Sendable {
    let session: URLSession
    let credentials: SessionCredentials
    private let owner: SessionDelegate

    init(_ session: URLSession, _ credentials: SessionCredentials, of owner: SessionDelegate) {
        self.session = session
        self.credentials = credentials
        self.owner = owner
    }

    deinit {
        owner.dispose(session)
    }
}
