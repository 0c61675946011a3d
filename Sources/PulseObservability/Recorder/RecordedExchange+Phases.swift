// SPDX-License-Identifier: MIT

import PulseCore

extension RecordedExchange {
    /// Where the time of the exchange went: by the transport's measurements, or as one wait if it made none. What took
    /// no time is left out.
    public var phases: [PhaseTiming] {
        guard var timings = response?.timings else {
            let total = (duration ?? 0).finite
            return total > 0 ? [PhaseTiming(phase: .waiting, start: 0, duration: total)] : []
        }
        // Of a stream the transport only knows the head.
        if timings.lastByte == nil, let duration { timings.lastByte = duration.finite }
        return timings.phases.filter { $0.duration > 0 && ($0.start + $0.duration).finite == $0.start + $0.duration }
    }
}

extension TimeInterval {
    /// The time itself, or 0 if it is negative or NaN; at most some 30,000 years, so that sums stay finite.
    package var finite: TimeInterval {
        self > 0 ? Swift.min(self, 1e12) : 0
    }
}
