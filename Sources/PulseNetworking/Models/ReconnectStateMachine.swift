// SPDX-License-Identifier: MIT

import PulseCore

/// Decides when the network counts as restored. Changes within a second of the first count as one.
struct ReconnectStateMachine: Sendable {
    static let window: TimeInterval = 1

    private var path = ConnectivityStatus.Path.unknown
    private var wasLost = false
    private var isOpen = false
    /// The number of windows so far.
    private var number = 0

    /// Restarts after a period in which changes were not observed. An open window continues.
    mutating func restart() {
        if !isOpen { (path, wasLost) = (.unknown, false) }
    }

    /// Returns the number and the end of the window that this change opens, if any.
    mutating func change(
        to path: ConnectivityStatus.Path, at now: TimeInterval
    ) -> (window: Int, end: TimeInterval)? {
        guard path != .unknown, path != self.path else { return nil }
        let isFirst = self.path == .unknown
        self.path = path
        if path == .unsatisfied { wasLost = true }
        guard !isFirst, !isOpen else { return nil }
        isOpen = true
        number += 1
        return (number, now + Self.window)
    }

    /// Closes the window, unless it is an earlier one. Returns whether the network is restored.
    mutating func closeWindow(_ number: Int) -> Bool {
        guard isOpen, number == self.number else { return false }
        isOpen = false
        guard path == .satisfied, wasLost else { return false }
        wasLost = false
        return true
    }
}
