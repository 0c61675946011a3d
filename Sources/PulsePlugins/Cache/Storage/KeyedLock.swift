// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// A lock for each key whose parts are being joined. Without it, one of two concurrent parts would be lost. It is held
/// while the store reads and writes, never while a body arrives.
final class KeyedLock: Sendable {
    /// The waiters of each locked key.
    private let waiters = Locked<[CacheKey: [CheckedContinuation<Void, Never>]]>([:])

    func lock(_ key: CacheKey) async {
        await withCheckedContinuation { continuation in
            let isFree = waiters.withLock { waiters in
                guard waiters[key] != nil else {
                    waiters[key] = []
                    return true
                }
                waiters[key]?.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    func unlock(_ key: CacheKey) {
        let next = waiters.withLock { waiters -> CheckedContinuation<Void, Never>? in
            guard let waiting = waiters[key], let next = waiting.first else {
                waiters[key] = nil
                return nil
            }
            waiters[key] = Array(waiting.dropFirst())
            return next
        }
        next?.resume()
    }

    /// Whether no key is locked: for tests.
    var isIdle: Bool { waiters.withLock { $0.isEmpty } }
}
