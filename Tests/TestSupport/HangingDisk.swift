// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore

/// A disk that hangs, such as a dead network volume: its calls wait until it responds again.
package final class HangingDisk: Sendable {
    private let gate = DispatchSemaphore(value: 0)
    private let state = Locked((hangs: false, askedCount: 0))

    package init() {}

    /// The number of calls that came while it hung.
    package var askedCount: Int { state.withLock { $0.askedCount } }

    /// Called by the thread of a job.
    package func pass() {
        let hangs = state.withLock { state in
            if state.hangs { state.askedCount += 1 }
            return state.hangs
        }
        guard hangs else { return }
        gate.wait()
        // For the next one.
        gate.signal()
    }

    package func hang() { state.withLock { $0.hangs = true } }

    package func respond() {
        state.withLock { $0.hangs = false }
        gate.signal()
    }

    /// Waits until a call hangs.
    package func asked() async {
        while askedCount == 0 { await Task.yield() }
    }
}
