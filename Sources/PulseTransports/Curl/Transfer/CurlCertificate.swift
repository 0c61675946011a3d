// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// What the TLS layer of a connection has recorded about the client's certificate and about the connection's end.
///
/// A server that wants a certificate sends an alert: during the handshake in TLS 1.2, after it in TLS 1.3, when the
/// request is already on its way. The visible failure may then be a write to a connection that the server has closed.
final class CurlTLSNotes: @unchecked Sendable {
    // Unchecked: the notes behind the pointer belong to a connection, which only the loop uses.
    private let notes: OpaquePointer

    /// Creates the notes of a connection that libcurl is about to secure; nil without memory.
    init?(begunWith context: UnsafeMutableRawPointer) {
        guard let notes = pulse_tls_notes_begin(context) else { return nil }
        self.notes = notes
    }

    /// The notes of a transfer's connection; nil without any.
    init?(of easy: UnsafeMutableRawPointer) {
        guard let notes = pulse_tls_notes_of(easy) else { return nil }
        self.notes = notes
    }

    deinit {
        pulse_tls_notes_release(notes)
    }

    /// Whether the server has requested a certificate and the client had none.
    var lacksCertificate: Bool { pulse_tls_notes_lack_certificate(notes) }

    /// Whether the server has sent the TLS close alert.
    var isClosed: Bool { pulse_tls_notes_are_closed(notes) }

    /// The server's objection to the client's certificate or to its absence; nil without an objection.
    var refusal: URLError.Code? {
        Self.refusal(alert: Int(pulse_tls_notes_alert(notes)), lacksCertificate: lacksCertificate)
    }

    /// Maps an alert (RFC 8446, section 6.2). TLS 1.2 has no alert for a missing certificate: servers send
    /// handshake_failure or bad_certificate.
    static func refusal(alert: Int, lacksCertificate: Bool) -> URLError.Code? {
        switch alert {
        // certificate_required
        case 116: .clientCertificateRequired
        // handshake_failure, no_certificate
        case 40, 41: lacksCertificate ? .clientCertificateRequired : nil
        // From bad_certificate to certificate_unknown; unknown_ca, access_denied
        case 42...46, 48, 49: lacksCertificate ? .clientCertificateRequired : .clientCertificateRejected
        default: nil
        }
    }
}

/// Authorities that links share. Otherwise each would read and parse the system's for its connection, which takes ten
/// times as long as the rest of a handshake.
final class CurlTrust: @unchecked Sendable {
    // Unchecked: OpenSSL counts the references, and looks certificates up, under locks of its own.
    private let store: UnsafeMutableRawPointer
    fileprivate let readAt = pulse_monotonic_now()

    /// The authorities of a context that libcurl has prepared; nil without OpenSSL.
    init?(of context: UnsafeMutableRawPointer) {
        guard let store = pulse_tls_trust_of(context) else { return nil }
        self.store = store
    }

    deinit {
        pulse_tls_trust_release(store)
    }

    /// Makes a context trust them. False without memory: the context then trusts no authority.
    func apply(to context: UnsafeMutableRawPointer) -> Bool {
        pulse_tls_trust(context, store)
    }
}

/// The shared authorities of a loop's links.
struct CurlTrustCache: Sendable {
    /// After this many seconds the system's authorities are read again, which may have changed.
    private static let maximumAge: TimeInterval = 600
    private static let limit = 16

    /// By the authorities of the TLS settings; none for those of the system.
    private let known = Locked<[[Data]: CurlTrust]>([:])

    func current(for authorities: [Data]) -> CurlTrust? {
        known.withLock { known in
            guard let trust = known[authorities] else { return nil }
            guard pulse_monotonic_now() - trust.readAt <= Self.maximumAge else {
                known[authorities] = nil
                return nil
            }
            return trust
        }
    }

    func keep(_ trust: CurlTrust?, for authorities: [Data]) {
        known.withLock { known in
            if known.count >= Self.limit { known.removeAll() }
            known[authorities] = trust
        }
    }
}

/// Validates the certificates of TLS settings before anything is sent.
final class CurlCertificates: Sendable {
    /// The client certificate validated last: deriving a key from a password is slow by design.
    private let latest = Locked<TLSSettings.ClientCertificate?>(nil)
    /// The authorities that were read last, and their text.
    private let latestAuthorities = Locked<(authorities: [Data], pem: Data)?>(nil)

    /// Throws ``PulseError/invalidRequest(reason:)`` for an unreadable certificate. libcurl reports it in the same way
    /// as one that a server has rejected.
    func check(_ certificate: TLSSettings.ClientCertificate) throws {
        if latest.withLock({ $0 == certificate }) { return }
        let problem = certificate.data.withUnsafeBytes {
            pulse_tls_certificate_problem($0.baseAddress, $0.count, certificate.password)
        }
        if let problem { throw TLSSettings.ClientCertificate.unusable(String(cString: problem)) }
        latest.withLock { $0 = certificate }
    }

    /// The authorities as libcurl takes them. Throws ``PulseError/invalidRequest(reason:)`` for an unreadable one.
    func pem(of authorities: [Data]) throws -> Data {
        if let latest = latestAuthorities.withLock({ $0 }), latest.authorities == authorities { return latest.pem }
        let pem = try CertificateAuthorities(authorities).pem
        latestAuthorities.withLock { $0 = (authorities, pem) }
        return pem
    }
}
#endif
