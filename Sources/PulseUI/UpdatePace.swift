// SPDX-License-Identifier: MIT

import PulseCore

/// Spaces updates: the first is due at once, each other one no earlier than a quarter of a second after the one before.
struct UpdatePace: Sendable {
    static let interval: TimeInterval = 0.25

    private var next = -TimeInterval.infinity

    /// The seconds until the next update is due, which belongs to the caller.
    mutating func delay(at uptime: TimeInterval) -> TimeInterval {
        let due = max(uptime, next)
        next = due + Self.interval
        return due - uptime
    }
}
