// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// What the TLS of one connection has been told about the client's certificate, and about the connection's end.
///
/// A server that wants one tells so by an alert: with TLS 1.2 within the handshake, with TLS 1.3 after it, when the
/// request is on its way. Then the failure may be that of writing to a connection that the server has closed.
final class CurlTLSNotes: @unchecked Sendable {
    // Unchecked, and sound: the notes behind the pointer are those of a connection, which the loop alone uses.
    private let notes: OpaquePointer

    /// Takes notes for a connection that libcurl is about to secure; nil without memory.
    init?(begunWith context: UnsafeMutableRawPointer) {
        guard let notes = pulse_tls_notes_begin(context) else { return nil }
        self.notes = notes
    }

    /// The notes of the connection of a transfer; nil where there are none.
    init?(of easy: UnsafeMutableRawPointer) {
        guard let notes = pulse_tls_notes_of(easy) else { return nil }
        self.notes = notes
    }

    deinit {
        pulse_tls_notes_release(notes)
    }

    /// Whether the server has asked for a certificate, and there was none to show.
    var lacksCertificate: Bool { pulse_tls_notes_lack_certificate(notes) }

    /// Whether the server has closed TLS with its alert.
    var isClosed: Bool { pulse_tls_notes_are_closed(notes) }

    /// What the server has against the client's certificate, or against there being none; nil for nothing.
    var refusal: URLError.Code? {
        Self.refusal(alert: Int(pulse_tls_notes_alert(notes)), lacksCertificate: lacksCertificate)
    }

    /// RFC 8446, section 6.2. For a certificate that is missing TLS 1.2 has no alert of its own: servers send that of a
    /// failed handshake or of a bad certificate.
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

/// Reads client certificates before anything is sent. libcurl would tell of one that cannot be read as of one that a
/// server has refused.
final class CurlCertificates: Sendable {
    /// The one that was read last: deriving the key from a password takes long on purpose.
    private let latest = Locked<TLSSettings.ClientCertificate?>(nil)

    /// Throws ``PulseError/invalidRequest(reason:)`` for one that cannot be read.
    func check(_ certificate: TLSSettings.ClientCertificate) throws {
        if latest.withLock({ $0 == certificate }) { return }
        let problem = certificate.data.withUnsafeBytes {
            pulse_tls_certificate_problem($0.baseAddress, $0.count, certificate.password)
        }
        if let problem { throw Self.unreadable(String(cString: problem)) }
        latest.withLock { $0 = certificate }
    }

    static func unreadable(_ problem: String) -> PulseError {
        .invalidRequest(reason: "the client certificate of the TLS settings cannot be used: \(problem)")
    }
}
#endif
