// SPDX-License-Identifier: MIT

import Foundation

/// The figures in aligned columns.
package struct Report {
    package private(set) var text = ""

    package init() {}

    package mutating func heading(_ title: String, _ columns: [String]) {
        text += "\n" + Self.columns(title, columns) + "\n"
    }

    package mutating func row(_ name: String, _ values: [String]) {
        text += Self.columns("  " + name, values) + "\n"
    }

    package mutating func verdicts(_ promises: [Promise]) {
        heading("Promises", ["measured", "limit", "margin"])
        for promise in promises {
            let values = [
                Self.decimal(promise.measured, 2), promise.bound.rawValue + " " + Self.decimal(promise.limit, 2),
                Self.decimal(promise.margin * 100, 0) + " %",
            ]
            text += Self.columns("  " + promise.text, values) + "   \(promise.verdict)\n"
        }
    }

    package static func decimal(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }

    private static func columns(_ name: String, _ values: [String]) -> String {
        name.padding(toLength: max(44, name.count), withPad: " ", startingAt: 0)
            + values.map { String(repeating: " ", count: max(1, 18 - $0.count)) + $0 }.joined()
    }
}
