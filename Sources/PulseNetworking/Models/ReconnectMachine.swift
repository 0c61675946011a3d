// SPDX-License-Identifier: MIT

import PulseCore

/// Decides when the network counts as back. Changes within a second of the first count once.
struct ReconnectMachine: Sendable {
    static let window: TimeInterval = 1

    private var path = ConnectivityStatus.Path.unknown
    private var wasLost = false
    private var isOpen = false
    /// The number of windows so far.
    private var number = 0

    /// Starts to read the changes again, after those that nothing has read. An open window goes on.
    mutating func restart() {
        if !isOpen { (path, wasLost) = (.unknown, false) }
    }

    /// Returns the window of changes and when it ends, if that change opens one.
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

    /// The window has ended, unless it is an earlier one. Returns whether the network is back.
    mutating func closeWindow(_ number: Int) -> Bool {
        guard isOpen, number == self.number else { return false }
        isOpen = false
        guard path == .satisfied, wasLost else { return false }
        wasLost = false
        return true
    }
}
