// SPDX-License-Identifier: MIT

import PulseCore

extension RecordedExchange {
    /// Where its time went: by the transport's measurements, or as one wait if it made none. What took no time is left out.
    public var phases: [PhaseTiming] {
        guard var timings = response?.timings else {
            let total = (duration ?? 0).finite
            return total > 0 ? [PhaseTiming(phase: .waiting, start: 0, duration: total)] : []
        }
        // Of a stream the transport knows the head alone.
        if timings.lastByte == nil, let duration { timings.lastByte = duration.finite }
        return timings.phases.filter { $0.duration > 0 && ($0.start + $0.duration).finite == $0.start + $0.duration }
    }
}

extension TimeInterval {
    /// Itself, or 0 for what is negative or no number; never more than some 30,000 years, so that sums stay finite.
    package var finite: TimeInterval {
        self > 0 ? Swift.min(self, 1e12) : 0
    }
}
