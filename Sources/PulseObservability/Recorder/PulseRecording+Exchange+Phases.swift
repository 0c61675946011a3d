// SPDX-License-Identifier: MIT

import PulseCore

extension PulseRecording.Exchange {
    /// The phases of the exchange as the transport measured them, or one wait if it did not measure any. Phases without
    /// a duration are omitted.
    package var phases: [PhaseTiming] {
        guard var timings = response?.timings else {
            let total = (duration ?? 0).finite
            return total > 0 ? [PhaseTiming(phase: .waiting, start: 0, duration: total)] : []
        }
        // For a stream, the transport measures only the head.
        if timings.lastByte == nil, let duration { timings.lastByte = duration.finite }
        return timings.phases.filter { $0.duration > 0 && ($0.start + $0.duration).finite == $0.start + $0.duration }
    }
}

extension TimeInterval {
    /// The duration, or 0 if it is negative or NaN; at most some 30,000 years, so that sums stay finite.
    package var finite: TimeInterval {
        self > 0 ? Swift.min(self, 1e12) : 0
    }
}
