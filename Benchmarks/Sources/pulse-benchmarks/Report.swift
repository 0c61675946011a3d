// SPDX-License-Identifier: MIT

import PulseKit

/// The figures in aligned columns.
struct Report {
    private(set) var text = ""

    mutating func heading(_ title: String) {
        text += "\n" + Self.columns(title, ["minimum", "median", "allocations"]) + "\n"
    }

    mutating func row(_ name: String, _ cost: Cost) {
        text += Self.columns(
            "  " + name,
            [nanoseconds(cost.minimum), nanoseconds(cost.median), cost.allocations.map { decimal($0, 1) } ?? "-"])
        text += "\n"
    }

    mutating func verdicts(_ promises: [Promise]) {
        text += "\n" + Self.columns("Promises", ["measured", "limit", "margin"]) + "\n"
        for promise in promises {
            let values = [
                decimal(promise.measured, 2), decimal(promise.limit, 2), decimal(promise.margin * 100, 0) + " %",
            ]
            text += Self.columns("  " + promise.text, values) + "   \(promise.verdict)\n"
        }
    }

    private func nanoseconds(_ value: Double) -> String { decimal(value, 0) + " ns" }

    private func decimal(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }

    private static func columns(_ name: String, _ values: [String]) -> String {
        name.padding(toLength: max(44, name.count), withPad: " ", startingAt: 0)
            + values.map { String(repeating: " ", count: max(1, 13 - $0.count)) + $0 }.joined()
    }
}
