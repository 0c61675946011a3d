// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore

/// Whether a request's sender is to look for the answer itself, for a moment: a server on the same machine answers
/// before two threads are woken, the loop's and then the sender's. A pure value.
struct CurlSpinPolicy {
    /// How long to look at most, in seconds: looking keeps a processor busy.
    static let patience = 100e-6
    /// Seconds: an answer that takes no longer by way of the thread may be there in time.
    private static let quick = 250e-6
    /// How many requests do without looking after one for which it was in vain.
    private static let pause = 64

    private let isAlwaysOn: Bool
    private var latest = TimeInterval.infinity
    private var pausesLeft = 0

    /// - Parameter isAlwaysOn: for tests: looks however long answers take.
    init(isAlwaysOn: Bool = false) {
        self.isAlwaysOn = isAlwaysOn
    }

    /// Notes the seconds that an answer took, to the only request under way.
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
