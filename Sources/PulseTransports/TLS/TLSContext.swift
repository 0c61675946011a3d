// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore

/// The TLS settings that connections share, and the sessions that new ones resume. Made once for each combination:
/// deriving the key of a client certificate from its password is slow by design.
final class TLSContext: @unchecked Sendable {
    // Unchecked: OpenSSL, and the locks of the context, protect what sessions share.
    let context: OpaquePointer
    let pins: PinnedKeys?
    /// The authorities of the system, which the settings may replace.
    let authorities: TLSAuthorities

    /// Whether the system has OpenSSL 1.1.1 or later.
    static var isSupported: Bool { pulse_tls_client_load() }

    /// Throws ``PulseError/invalidRequest(reason:)`` for an unreadable certificate or authority, and
    /// ``PulseError/unsupported(_:)`` without OpenSSL.
    ///
    /// - Parameter pins: with pins no session is resumed, since a resumed one has no chain to check.
    /// - Parameter system: the authorities for settings that have none.
    init(_ settings: TLSSettings, pins: SSLPinningPolicy.PinSet?, offersHTTP2: Bool, system: TLSAuthorities? = .system)
        throws
    {
        guard Self.isSupported else { throw PulseError.unsupported("TLS without libssl 1.1.1 or later") }
        var own: CertificateAuthorities?
        if !settings.certificateAuthorities.isEmpty {
            own = try CertificateAuthorities(settings.certificateAuthorities)
        }
        let keys = try pins.map { try PinnedKeys($0) }
        let minimum: Int32 = settings.minimumVersion == .tls13 ? 3 : 2
        guard let system, let context = pulse_tls_context_new(minimum, offersHTTP2, keys == nil, system.store) else {
            throw TransportFailure(code: .resourceUnavailable, phase: .beforeSend)
        }
        (self.context, self.pins, authorities) = (context, keys, system)
        if let own { try own.requireReading(of: own.certificates.filter { trust($0) }.count) }
        if let certificate = settings.clientCertificate { try present(certificate) }
    }

    deinit {
        pulse_tls_context_free(context)
    }

    private func trust(_ certificate: Data) -> Bool {
        certificate.withUnsafeBytes { pulse_tls_context_trust(context, $0.baseAddress, $0.count) }
    }

    private func present(_ certificate: TLSSettings.ClientCertificate) throws {
        let problem = certificate.data.withUnsafeBytes {
            pulse_tls_context_present(context, $0.baseAddress, $0.count, certificate.password)
        }
        if let problem { throw TLSSettings.ClientCertificate.unusable(String(cString: problem)) }
    }
}
#endif
