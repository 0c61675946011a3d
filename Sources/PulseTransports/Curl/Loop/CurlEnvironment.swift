// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// What the transfers of a loop share: the TLS sessions that new connections resume, and checked
/// certificates.
final class CurlEnvironment: @unchecked Sendable {
    // Unchecked: the loop behind the poller is used by its driver, except to wake it.

    let library: CurlLibrary
    /// Valid as long as the loop's ``CurlTransfers``.
    let poller: OpaquePointer
    let certificates = CurlCertificates()
    /// Whether no environment variable names a proxy.
    let hasNoProxyAround: Bool
    private let latest = Locked((changes: UInt(0), sessions: CurlSessions()))

    init(_ library: CurlLibrary, _ poller: OpaquePointer, hasNoProxyAround: Bool = !CurlProxy.isInEnvironment) {
        self.library = library
        self.poller = poller
        self.hasNoProxyAround = hasNoProxyAround
    }

    /// The sessions of handshakes with the system's present authorities: a resumed session keeps the verdict of its
    /// handshake. A change is noticed when a connection is made.
    func sessions() -> CurlSessions {
        let changes = library.systemAuthorities?.changes(looks: false) ?? 0
        return latest.withLock { latest in
            if changes > latest.changes { latest = (changes, CurlSessions()) }
            return latest.sessions
        }
    }
}

/// TLS sessions that handles on any thread resume.
final class CurlSessions: @unchecked Sendable {
    // Unchecked: libcurl locks them.
    private let sessions = pulse_curl_sessions_new()

    deinit {
        pulse_curl_sessions_free(sessions)
    }

    /// Makes a handle use them, which must be freed first. A reset handle keeps them.
    func share(with easy: UnsafeMutableRawPointer) {
        pulse_curl_sessions_share(sessions, easy)
    }
}
#endif
