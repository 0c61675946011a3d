// SPDX-License-Identifier: MIT

/// What a figure must stay under, or reach, and what the measurement itself may be wrong by.
package struct Promise: Codable, Sendable {
    package enum Bound: String, Codable, Sendable {
        case atMost = "at most"
        case atLeast = "at least"
    }

    package let text: String
    package let bound: Bound
    package let limit: Double
    package let measured: Double
    /// How far beyond the limit a figure may be before it counts as broken, as a part of the limit: what the measurement
    /// may be wrong by, never what the code may cost on top.
    package let margin: Double

    package init(_ text: String, _ bound: Bound, _ limit: Double, measured: Double, margin: Double) {
        self.text = text
        self.bound = bound
        self.limit = limit
        self.measured = measured
        self.margin = margin
    }

    package var holds: Bool { meets(margin: margin) }

    var verdict: String {
        guard holds else { return "BROKEN" }
        return meets(margin: 0) ? "holds" : "holds within the margin"
    }

    private func meets(margin: Double) -> Bool {
        switch bound {
        case .atMost: measured <= limit * (1 + margin)
        case .atLeast: measured >= limit * (1 - margin)
        }
    }
}
