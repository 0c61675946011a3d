// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// What the transfers of a loop share: the TLS sessions that new connections resume, and checked certificates.
///
/// libcurl counts the handles of such sessions without a lock, so this type creates and frees them under its own lock.
/// libcurl uses the sessions only in the loop, where one transfer at a time runs.
final class CurlEnvironment: @unchecked Sendable {
    // Unchecked: the sessions are used under the lock; the loop behind the poller by its driver, except to wake it and
    // to create links.

    let library: CurlLibrary
    /// Valid as long as the loop's ``CurlTransfers``.
    let poller: OpaquePointer
    let certificates = CurlCertificates()
    /// Whether no environment variable names a proxy.
    let hasNoProxyAround: Bool
    private let sessions = pulse_curl_share_sessions()
    private let lock = Locked(())

    init(_ library: CurlLibrary, _ poller: OpaquePointer, hasNoProxyAround: Bool = !CurlProxy.isInEnvironment) {
        self.library = library
        self.poller = poller
        self.hasNoProxyAround = hasNoProxyAround
    }

    deinit {
        pulse_curl_share_free(sessions)
    }

    /// A new handle; nil without memory. A reset handle keeps the sessions; setting them again would lose its state.
    ///
    /// - Parameter sharing: whether it has the sessions; not for a handle that is used outside the loop.
    func makeHandle(sharing: Bool) -> UnsafeMutableRawPointer? {
        lock.withLock { _ in
            guard let easy = pulse_curl_easy_init() else { return nil }
            guard sharing else { return easy }
            _ = pulse_curl_set_pointer(easy, Int32(PULSE_CURLOPT_SHARE), sessions)
            return easy
        }
    }

    /// Frees a handle that is in no loop.
    func free(_ easy: UnsafeMutableRawPointer) {
        lock.withLock { _ in pulse_curl_easy_cleanup(easy) }
    }
}
#endif
