// SPDX-License-Identifier: MIT

import PulseCore

/// The security and the route of a session's connections. Requests share a session, and so connections, if their
/// settings are equal: a connection is challenged for its certificates only once.
struct SessionSettings: Sendable, Hashable {
    let pins: PinnedKeys?
    let tls: TLSSettings
    let proxy: ProxySettings
    /// Whether the requests use `https`, where that changes the route.
    let tunnels: Bool
    /// Whether the requests take no slots of their hosts, so that the session must not limit their number either.
    let isUnlimited: Bool

    /// The settings of a request. Throws ``PulseError/invalidRequest(reason:)`` for an unreadable pinned certificate.
    init(_ request: TransportRequest, isSecure: Bool) throws {
        // Cleartext has no keys.
        pins = isSecure ? try request.pins.map { try PinnedKeys($0) } : nil
        tls = isSecure ? request.tls : .default
        proxy = request.proxy.excludes(request.urlRequest.url) ? .direct : request.proxy
        if case .proxy = proxy.route { tunnels = isSecure } else { tunnels = false }
        isUnlimited = !request.takesSlot
    }

    /// The settings by which servers are trusted.
    struct Trust: Sendable, Hashable {
        let pins: PinnedKeys?
        let tls: TLSSettings
    }

    var trust: Trust { Trust(pins: pins, tls: tls) }
    /// Whether the session must check the chains of its servers itself.
    var evaluatesTrust: Bool { pins != nil || tls.evaluatesTrust }
}

extension TLSSettings {
    /// Whether a transport checks the chains of servers itself. It also does so with a client certificate: the system
    /// may resume a TLS session in which another certificate was presented, and only a check shows that it did not.
    var evaluatesTrust: Bool { !certificateAuthorities.isEmpty || clientCertificate != nil }
}

/// The certificates of TLS settings, in the form that the system takes.
struct SessionCertificates: Sendable {
    var authorities: CertificateAuthorities?
    var identity: URLCredential?
}

/// A session's credentials and pins for challenges.
struct SessionCredentials: Sendable {
    let pins: PinnedKeys?
    let certificates: SessionCertificates
    private let evaluatesTrust: Bool
    /// Whether the chain of a server was accepted, in any session with the same settings: the system resumes TLS
    /// sessions of one `URLSession` in the next, without a challenge.
    private let hasChecked: Locked<Bool>

    /// Reads the certificates of the settings, before anything is sent. Throws ``PulseError/invalidRequest(reason:)``
    /// for an unreadable one.
    init(_ settings: SessionSettings, _ security: SessionSecurity) throws {
        pins = settings.pins
        certificates = try security.certificates(of: settings.tls)
        evaluatesTrust = settings.evaluatesTrust
        hasChecked = security.checks(by: settings.trust)
    }

    init() {
        (pins, certificates, evaluatesTrust, hasChecked) = (nil, SessionCertificates(), false, Locked(false))
    }

    /// In DER; none for the system's.
    var authorities: [Data] { certificates.authorities?.certificates ?? [] }
    /// Whether a response cannot have arrived over a connection that was checked.
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
