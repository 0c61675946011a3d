// SPDX-License-Identifier: MIT

import PulseCore

/// The time by which values become stale, in seconds since the first use.
///
/// It never runs backwards. The uptime stops while the machine sleeps, and values become stale meanwhile: a wall clock
/// that is ahead by more than a second counts.
struct RequestTime: Sendable {
    private var uptime: TimeInterval?
    private var wall = Date.distantPast
    private var total: TimeInterval = 0

    mutating func read(_ clock: any PulseClock) -> TimeInterval {
        let (uptime, wall) = (clock.uptime, clock.now)
        if let last = self.uptime {
            let (awake, passed) = (max(0, uptime - last), wall.timeIntervalSince(self.wall))
            total += passed > awake + 1 ? passed : awake
        }
        (self.uptime, self.wall) = (uptime, wall)
        return total
    }
}
