// SPDX-License-Identifier: MIT

import PulseCore

/// Limits the update rate: the first is due at once, each other at least a quarter of a second after the previous one.
struct UpdatePace: Sendable {
    static let interval: TimeInterval = 0.25

    private var next = -TimeInterval.infinity

    /// Reserves the next update for the caller, and returns the seconds until it is due.
    mutating func delay(at uptime: TimeInterval) -> TimeInterval {
        let due = max(uptime, next)
        next = due + Self.interval
        return due - uptime
    }
}
