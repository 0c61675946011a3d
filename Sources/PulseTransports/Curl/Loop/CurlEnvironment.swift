// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// What the transfers and links of a loop share: the TLS sessions that new connections resume, and checked
/// certificates.
final class CurlEnvironment: @unchecked Sendable {
    // Unchecked: the loop behind the poller is used by its driver, except to wake it and to create links; libcurl locks
    // the sessions.

    let library: CurlLibrary
    /// Valid as long as the loop's ``CurlTransfers``.
    let poller: OpaquePointer
    let certificates = CurlCertificates()
    /// Whether no environment variable names a proxy.
    let hasNoProxyAround: Bool
    private let sessions = pulse_curl_sessions_new()

    init(_ library: CurlLibrary, _ poller: OpaquePointer, hasNoProxyAround: Bool = !CurlProxy.isInEnvironment) {
        self.library = library
        self.poller = poller
        self.hasNoProxyAround = hasNoProxyAround
    }

    deinit {
        pulse_curl_sessions_free(sessions)
    }

    /// A new handle with the sessions; nil without memory.
    func makeHandle() -> UnsafeMutableRawPointer? {
        guard let easy = pulse_curl_easy_init() else { return nil }
        pulse_curl_sessions_share(sessions, easy)
        return easy
    }
}
#endif
