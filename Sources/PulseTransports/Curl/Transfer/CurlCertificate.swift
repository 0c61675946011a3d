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
        TLSFailure.refusal(alert: Int(pulse_tls_notes_alert(notes)), lacksCertificate: lacksCertificate)
    }
}

/// Authorities that connections share: a file with all of them, a directory with one in each file, or both. libcurl
/// would read and parse them for each connection, which takes twenty times as long as the rest of a handshake.
final class CurlAuthorities: @unchecked Sendable {
    // Unchecked: they are read under a lock of their own, and OpenSSL counts the references.
    private let authorities: OpaquePointer
    /// For error texts.
    let places: String

    /// Those of the system, where libcurl looks for them; nil if it does not tell.
    static let system: CurlAuthorities? = {
        var (file, directory): (UnsafePointer<CChar>?, UnsafePointer<CChar>?)
        guard pulse_tls_system_authorities(&file, &directory) else { return nil }
        return CurlAuthorities(
            file: file.map { String(cString: $0) }, directory: directory.map { String(cString: $0) })
    }()

    /// Nil without memory.
    init?(file: String?, directory: String?) {
        guard let authorities = pulse_tls_authorities_create(file, directory) else { return nil }
        self.authorities = authorities
        places = [file, directory].compactMap(\.self).joined(separator: ", ")
    }

    deinit {
        pulse_tls_authorities_free(authorities)
    }

    /// How often they were found changed.
    ///
    /// - Parameter looks: whether to look for a change now.
    func changes(looks: Bool) -> UInt {
        pulse_tls_authorities_changes(authorities, looks)
    }

    /// Makes a connection trust them. They are read again once they have changed. Returns a `CURLcode`.
    func apply(to context: UnsafeMutableRawPointer) -> Int32 {
        pulse_tls_trust(context, authorities)
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
