// SPDX-License-Identifier: MIT

/// The limit of a figure, and the error of its measurement.
package struct Promise: Codable, Sendable {
    package enum Bound: String, Codable, Sendable {
        case atMost = "at most"
        case atLeast = "at least"
    }

    package let text: String
    package let bound: Bound
    package let limit: Double
    package let measured: Double
    /// The tolerance beyond the limit, as a fraction of it: the error of the measurement, never extra cost for the
    /// code.
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
