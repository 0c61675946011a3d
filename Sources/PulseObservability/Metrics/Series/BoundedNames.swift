// SPDX-License-Identifier: MIT

import PulseCore

/// A bounded number of displayable names: the first ones, and ``SeriesName/other`` for the rest.
struct BoundedNames: Sendable {
    private let maximum: Int
    /// By the original name. The bound applies to this map, so that names with equal masks cannot grow it.
    private var shown: [String: String] = [:]

    /// - Parameter maximum: a negative number counts as 0.
    init(maximum: Int) {
        self.maximum = max(0, maximum)
    }

    mutating func name(of name: String) -> String {
        let name = SeriesName.bounded(name, to: SeriesName.maxKeyLength)
        if let known = shown[name] { return known }
        guard shown.count < maximum else { return SeriesName.other }
        let new = SeriesName.shown(name)
        shown[name] = new
        return new
    }
}
