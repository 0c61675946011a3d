// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore

/// Whether a sender polls briefly for its response: a server on the same machine responds before two threads are woken,
/// the loop's and then the sender's. A pure value.
struct CurlSpinPolicy {
    /// The longest polling time, in seconds: polling keeps a processor busy.
    static let patience = 100e-6
    /// Seconds: a response that takes no longer through the thread may arrive while polling.
    private static let quick = 250e-6
    /// The number of requests without polling after a fruitless one.
    private static let pause = 64

    private let isAlwaysOn: Bool
    private var latest = TimeInterval.infinity
    private var pausesLeft = 0

    /// - Parameter isAlwaysOn: for tests: polls whatever the response time.
    init(isAlwaysOn: Bool = false) {
        self.isAlwaysOn = isAlwaysOn
    }

    /// Records a response time in seconds. Call it only for the only request under way.
    mutating func note(_ seconds: TimeInterval) {
        latest = seconds
    }

    mutating func wasInVain() {
        pausesLeft = Self.pause
    }

    mutating func isWorthwhile() -> Bool {
        if isAlwaysOn { return true }
        guard pausesLeft == 0 else {
            pausesLeft -= 1
            return false
        }
        return latest < Self.quick
    }
}
#endif
