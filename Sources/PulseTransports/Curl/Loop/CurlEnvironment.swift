// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// What the transfers of a loop share: the TLS sessions that new connections resume, and checked certificates.
///
/// libcurl counts the handles of such sessions without a lock, so this type creates and frees them under its own lock.
/// libcurl uses the sessions only in the loop, where one transfer at a time runs.
final class CurlEnvironment: @unchecked Sendable {
    // Unchecked: the loop behind the poller is used by its driver, except to wake it and to create links.

    let library: CurlLibrary
    /// Valid as long as the loop's ``CurlTransfers``.
    let poller: OpaquePointer
    let certificates = CurlCertificates()
    /// Whether no environment variable names a proxy.
    let hasNoProxyAround: Bool
    private let sessions = Locked(Sessions())

    private struct Sessions: @unchecked Sendable {
        // Unchecked: used only under the lock.
        let share = pulse_curl_share_sessions()
    }

    init(_ library: CurlLibrary, _ poller: OpaquePointer, hasNoProxyAround: Bool = !CurlProxy.isInEnvironment) {
        self.library = library
        self.poller = poller
        self.hasNoProxyAround = hasNoProxyAround
    }

    deinit {
        sessions.withLock { pulse_curl_share_free($0.share) }
    }

    /// A new handle; nil without memory. A reset handle keeps the sessions; setting them again would lose its state.
    ///
    /// - Parameter sharing: whether it has the sessions; not for a handle that is used outside the loop.
    func makeHandle(sharing: Bool) -> UnsafeMutableRawPointer? {
        sessions.withLock { sessions in
            guard let easy = pulse_curl_easy_init() else { return nil }
            guard sharing else { return easy }
            _ = pulse_curl_set_pointer(easy, Int32(PULSE_CURLOPT_SHARE), sessions.share)
            return easy
        }
    }

    /// Frees a handle that is in no loop.
    func free(_ easy: UnsafeMutableRawPointer) {
        sessions.withLock { _ in pulse_curl_easy_cleanup(easy) }
    }
}
#endif
