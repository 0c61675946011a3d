// SPDX-License-Identifier: MIT

import PulseCore

/// What was odd about a file while it was read.
final class HARNotes: Sendable {
    private struct State {
        var entry: Int?
        var ofEntry: Set<String> = []
        var warnings: [HARDocument.Warning] = []
    }

    /// Whether values of any kind are read as JSON. Not in texts that are not quite JSON, where nesting would cost more
    /// than in proportion to its depth.
    let readsTrees: Bool
    private let state = Locked(State())

    init(readsTrees: Bool) {
        self.readsTrees = readsTrees
    }

    var warnings: [HARDocument.Warning] { state.withLock { $0.warnings } }

    /// What follows is about that entry, counted from 1.
    func begin(entry: Int) {
        state.withLock { state in
            state.entry = entry
            state.ofEntry = []
        }
    }

    /// What follows is about the file as a whole.
    func endEntries() {
        state.withLock { $0.entry = nil }
    }

    /// Adds a warning, once for each entry.
    func add(_ text: String) {
        state.withLock { state in
            guard state.entry == nil || state.ofEntry.insert(text).inserted else { return }
            state.warnings.append(HARDocument.Warning(entry: state.entry, text: text))
        }
    }
}

extension HARDocument {
    /// Something that other programs write in another way than the format, and how it was read.
    package struct Warning: Sendable, Hashable, CustomStringConvertible {
        /// The number of the entry in the file, from 1; nil for the file as a whole.
        package let entry: Int?
        /// What was odd: names of the format alone, never a value.
        package let text: String

        package var description: String { entry.map { "entry \($0): \(text)" } ?? text }
    }
}
