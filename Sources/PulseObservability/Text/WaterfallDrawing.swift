// SPDX-License-Identifier: MIT

import PulseCore

/// Lines of text, each with a bar on a timeline: the chart of traced and recorded calls.
struct WaterfallDrawing {
    private struct Row {
        let text: String
        let time: String
        let bar: String

        func line(_ textWidth: Int, _ timeWidth: Int) -> String {
            let text = text.count > textWidth ? text.prefix(textWidth - 1) + "…" : text[...]
            return text + String(repeating: " ", count: textWidth - text.count + 2)
                + String(repeating: " ", count: timeWidth - time.count) + "\(time)  |\(bar)|"
        }
    }

    private let duration: TimeInterval
    private let width: Int
    private var rows: [Row] = []

    /// - Parameter duration: the duration of the whole, in seconds.
    /// - Parameter width: the width of the bars, in characters; from 10 to 400.
    init(duration: TimeInterval, width: Int) {
        self.duration = duration
        self.width = min(max(width, 10), 400)
    }

    mutating func add(_ text: String, from start: TimeInterval, for seconds: TimeInterval) {
        let first = column(start)
        let last = max(first, column(start + seconds, .up) - 1)
        let bar = (0..<width).map { (first...last).contains($0) ? "=" : " " }.joined()
        rows.append(Row(text: text, time: Self.text(seconds), bar: bar))
    }

    /// Adds the phases of one exchange that have a duration.
    mutating func add(_ phases: [PhaseTiming], from start: TimeInterval) {
        for phase in phases where phase.duration > 0 {
            add("    \(phase.phase.rawValue)", from: start + phase.start, for: phase.duration)
        }
    }

    /// Adds an event at one moment.
    mutating func add(_ kind: String, _ text: String, at time: TimeInterval) {
        let column = column(time)
        let bar = (0..<width).map { $0 == column ? "^" : " " }.joined()
        rows.append(Row(text: "  \(kind)" + (text.isEmpty ? "" : ": \(text)"), time: "+" + Self.text(time), bar: bar))
    }

    mutating func add(_ text: String) {
        rows.append(Row(text: text, time: "", bar: String(repeating: " ", count: width)))
    }

    /// Draws parts in the order of their start.
    mutating func add(_ parts: [(time: TimeInterval, draw: (inout WaterfallDrawing) -> Void)]) {
        let inOrder = parts.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
        for part in inOrder { part.element.draw(&self) }
    }

    var text: String {
        let textWidth = min(rows.map(\.text.count).max() ?? 0, 72)
        let timeWidth = rows.map(\.time.count).max() ?? 0
        return rows.map { $0.line(textWidth, timeWidth) }.joined(separator: "\n")
    }

    /// The column of a moment on a bar.
    private func column(_ time: TimeInterval, _ rule: FloatingPointRoundingRule = .down) -> Int {
        guard duration > 0, time > 0 else { return 0 }
        let column = (min(time / duration, 1) * Double(width)).rounded(rule)
        return rule == .down ? min(width - 1, Int(column)) : Int(column)
    }

    private static func text(_ seconds: TimeInterval) -> String {
        if seconds >= 1 { return digits(seconds) + " s" }
        return seconds >= 1e-3 ? digits(seconds * 1e3) + " ms" : digits(seconds * 1e6) + " µs"
    }

    /// A number with three significant digits.
    private static func digits(_ value: Double) -> String {
        let places = value >= 100 ? 0 : value >= 10 ? 1 : 2
        return String(format: "%.\(places)f", value)
    }
}
