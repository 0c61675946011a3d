// SPDX-License-Identifier: MIT

/// Decides which of several overlapping updates are shown.
///
/// An update that takes longer than the update interval is still shown, or steady traffic would show nothing.
struct UpdateOrder: Sendable {
    struct Turn: Sendable, Hashable {
        fileprivate let number: Int
        fileprivate let era: Int
    }

    /// The number of started updates.
    private(set) var started = 0
    private var shown = 0
    private var era = 0

    /// Starts an update from the current state.
    mutating func start() -> Turn {
        started += 1
        return Turn(number: started, era: era)
    }

    /// Discards the updates in progress: after a clear, or a change of the filter or the pause.
    mutating func outdate() { era += 1 }

    /// Whether to show the update: false if it was discarded or a later one is already shown.
    mutating func finish(_ turn: Turn) -> Bool {
        guard turn.era == era, turn.number > shown else { return false }
        shown = turn.number
        return true
    }
}
