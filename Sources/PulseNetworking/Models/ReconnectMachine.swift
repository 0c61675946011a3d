// SPDX-License-Identifier: MIT

import PulseCore

/// Decides when the network counts as back. Changes within a second of the first count once.
struct ReconnectMachine: Sendable {
    static let window: TimeInterval = 1

    private var path = ConnectivityStatus.Path.unknown
    private var wasLost = false
    private var isOpen = false

    /// Returns when the window of changes ends, if that change opens one.
    mutating func change(to path: ConnectivityStatus.Path, at now: TimeInterval) -> TimeInterval? {
        guard path != .unknown, path != self.path else { return nil }
        let isFirst = self.path == .unknown
        self.path = path
        if path == .unsatisfied { wasLost = true }
        guard !isFirst, !isOpen else { return nil }
        isOpen = true
        return now + Self.window
    }

    /// The window has ended. Returns whether the network is back.
    mutating func closeWindow() -> Bool {
        isOpen = false
        guard path == .satisfied, wasLost else { return false }
        wasLost = false
        return true
    }
}
