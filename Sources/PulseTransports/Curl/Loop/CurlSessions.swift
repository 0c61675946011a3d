// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// The TLS sessions that new connections of a loop resume, and the handles that share them.
///
/// libcurl counts the handles of such a store without a lock, so this type creates and frees them under its own lock.
/// libcurl uses the sessions only in the loop, where one transfer at a time runs.
final class CurlSessions: Sendable {
    private struct Store: @unchecked Sendable {
        // Unchecked: used only under the lock.
        let share = pulse_curl_share_sessions()
    }

    private let store = Locked(Store())

    deinit {
        store.withLock { pulse_curl_share_free($0.share) }
    }

    /// A new handle; nil without memory. A reset handle keeps the store; setting it again would lose the handle's
    /// state.
    ///
    /// - Parameter sharing: whether it has the store; not for a handle that is used outside the loop.
    func makeHandle(sharing: Bool) -> UnsafeMutableRawPointer? {
        store.withLock { store in
            guard let easy = pulse_curl_easy_init() else { return nil }
            guard sharing else { return easy }
            _ = pulse_curl_set_pointer(easy, Int32(PULSE_CURLOPT_SHARE), store.share)
            return easy
        }
    }

    /// Frees a handle that is in no loop.
    func free(_ easy: UnsafeMutableRawPointer) {
        store.withLock { _ in pulse_curl_easy_cleanup(easy) }
    }
}
#endif
