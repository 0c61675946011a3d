// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// The TLS sessions that new connections of a loop resume, and the handles that share them.
///
/// libcurl counts the handles of such a store without a lock, so they are made and freed under ours. What it does with the
/// sessions themselves it does in the loop, where one transfer at a time goes on.
final class CurlSessions: Sendable {
    private struct Store: @unchecked Sendable {
        // Unchecked: reached under the lock alone.
        let share = pulse_curl_share_sessions()
    }

    private let store = Locked(Store())

    deinit {
        store.withLock { pulse_curl_share_free($0.share) }
    }

    /// Nil without memory. The store stays with a handle when that is reset; changing it later would lose what a handle holds.
    func makeHandle() -> UnsafeMutableRawPointer? {
        store.withLock { store in
            guard let easy = pulse_curl_easy_init() else { return nil }
            _ = pulse_curl_set_pointer(easy, Int32(PULSE_CURLOPT_SHARE), store.share)
            return easy
        }
    }

    /// Of a handle that is in no loop.
    func free(_ easy: UnsafeMutableRawPointer) {
        store.withLock { _ in pulse_curl_easy_cleanup(easy) }
    }
}
#endif
