// SPDX-License-Identifier: MIT

import PulseCore

/// Names as they may be shown, of which there are never more than a bound: the first to come, and
/// ``SeriesName/other`` for the rest.
struct BoundedNames: Sendable {
    private let maximum: Int
    /// By the name as it came; as many as the bound, so that names that mask to the same text cannot grow it.
    private var shown: [String: String] = [:]

    /// - Parameter maximum: a negative one counts as 0.
    init(maximum: Int) {
        self.maximum = max(0, maximum)
    }

    mutating func name(of name: String) -> String {
        let name = SeriesName.bounded(name, to: SeriesName.maximumKeyLength)
        if let known = shown[name] { return known }
        guard shown.count < maximum else { return SeriesName.other }
        let new = SeriesName.shown(name)
        shown[name] = new
        return new
    }
}
