// SPDX-License-Identifier: MIT

import PulseCore

/// Collects warnings while a file is read.
final class HARNotes: Sendable {
    private struct State {
        var entry: Int?
        var ofEntry: Set<String> = []
        var warnings: [HARDocument.Warning] = []
    }

    /// Whether values of any kind are read as JSON. False for JSON5, where the cost of nesting grows faster than its
    /// depth.
    let readsTrees: Bool
    private let state = Locked(State())

    init(readsTrees: Bool) {
        self.readsTrees = readsTrees
    }

    var warnings: [HARDocument.Warning] { state.withLock { $0.warnings } }

    /// Assigns the following warnings to an entry, counted from 1.
    func begin(entry: Int) {
        state.withLock { state in
            state.entry = entry
            state.ofEntry = []
        }
    }

    /// Assigns the following warnings to the whole file.
    func endEntries() {
        state.withLock { $0.entry = nil }
    }

    /// Adds a warning, at most once per entry.
    func add(_ text: String) {
        state.withLock { state in
            guard state.entry == nil || state.ofEntry.insert(text).inserted else { return }
            state.warnings.append(HARDocument.Warning(entry: state.entry, text: text))
        }
    }
}

extension HARDocument {
    /// A deviation from the format in a file.
    package struct Warning: Sendable, Hashable, CustomStringConvertible {
        /// The number of the entry in the file, from 1; nil for the file as a whole.
        package let entry: Int?
        /// The deviation. It contains only names of the format, never a value.
        package let text: String

        package var description: String { entry.map { "entry \($0): \(text)" } ?? text }
    }
}
