// SPDX-License-Identifier: MIT

import PulseCore

/// The security and the route of a session's connections. Requests share a session, and so connections, if theirs are
/// equal: a connection is challenged for its certificates only once.
struct SessionSettings: Sendable, Hashable {
    let pins: PinnedKeys?
    let tls: TLSSettings
    let proxy: ProxySettings
    /// Whether the requests have `https`, where that makes another route.
    let tunnels: Bool

    /// The settings of a request. Throws ``PulseError/invalidRequest(reason:)`` for an unreadable pinned certificate.
    init(_ request: TransportRequest, isSecure: Bool) throws {
        // Cleartext has no keys.
        pins = isSecure ? try request.pins.map { try PinnedKeys($0) } : nil
        tls = isSecure ? request.tls : .default
        proxy = request.proxy.excludes(request.urlRequest.url?.host ?? "") ? .direct : request.proxy
        if case .proxy = proxy.route { tunnels = isSecure } else { tunnels = false }
    }
}

/// The certificates of TLS settings, as the system takes them.
struct SessionCertificates: Sendable {
    var authorities: CertificateAuthorities?
    var identity: URLCredential?
}

/// The means by which a session reacts to challenges.
struct SessionCredentials: Sendable {
    let pins: PinnedKeys?
    let certificates: SessionCertificates
    /// Whether the chain of a server was accepted.
    private let hasChecked = Locked(false)

    /// Reads the certificates of the settings, before anything is sent. Throws ``PulseError/invalidRequest(reason:)``
    /// for an unreadable one.
    init(_ settings: SessionSettings, _ security: SessionSecurity) throws {
        pins = settings.pins
        certificates = try security.certificates(of: settings.tls)
    }

    init() {
        (pins, certificates) = (nil, SessionCertificates())
    }

    /// In DER; none for the system's.
    var authorities: [Data] { certificates.authorities?.certificates ?? [] }
    /// Whether the session must check the chains of its servers itself.
    var evaluatesTrust: Bool { pins != nil || certificates.authorities != nil }
    /// Whether a response cannot have come over a connection that was checked.
    var isUnchecked: Bool { evaluatesTrust && !hasChecked.withLock { $0 } }

    func noteCheck() {
        hasChecked.withLock { $0 = true }
    }
}

/// Keeps a session alive while a task may still be started in it: starting one later would crash the process.
final class SessionLease: Sendable {
    let session: URLSession
    let credentials: SessionCredentials
    let proxy: SessionProxy
    private let owner: SessionDelegate

    init(
        _ session: URLSession, _ credentials: SessionCredentials, _ proxy: SessionProxy, of owner: SessionDelegate
    ) {
        self.session = session
        self.credentials = credentials
        self.proxy = proxy
        self.owner = owner
    }

    deinit {
        owner.dispose(session)
    }
}
