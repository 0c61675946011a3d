// SPDX-License-Identifier: MIT

import PulseCore

/// The time by which values become stale, in seconds since the first use.
///
/// It never runs backwards. The uptime stops while the device sleeps, but values become stale meanwhile: if the wall
/// clock has advanced by over a second more than the uptime, it counts.
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
