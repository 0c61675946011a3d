// SPDX-License-Identifier: MIT

/// Decides which of the updates that overlap are shown.
///
/// An update that takes longer than the time between two is shown all the same, or steady traffic would show nothing.
struct UpdateOrder: Sendable {
    struct Turn: Sendable, Hashable {
        fileprivate let number: Int
        fileprivate let era: Int
    }

    /// How many updates have started.
    private(set) var started = 0
    private var shown = 0
    private var era = 0

    /// An update starts with what there is now.
    mutating func start() -> Turn {
        started += 1
        return Turn(number: started, era: era)
    }

    /// Discards the updates in progress: after a clear, or a change of the filter or the pause.
    mutating func outdate() { era += 1 }

    /// Whether to show the update: unless it was discarded, or a later one is shown already.
    mutating func finish(_ turn: Turn) -> Bool {
        guard turn.era == era, turn.number > shown else { return false }
        shown = turn.number
        return true
    }
}
