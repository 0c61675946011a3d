// SPDX-License-Identifier: MIT

import PulseCore

extension WaterfallChart {
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

    /// The chart as lines of text.
    ///
    /// - Parameter width: the width of the bars, in characters; from 10 to 400.
    func text(width: Int) -> String {
        let width = min(max(width, 10), 400)
        var rows = lines.flatMap { Self.rows(of: $0, width) }
        if let omission { rows.append(Row(text: "  \(omission)", time: "", bar: String(repeating: " ", count: width))) }
        let textWidth = min(rows.map(\.text.count).max() ?? 0, 72)
        let timeWidth = rows.map(\.time.count).max() ?? 0
        return rows.map { $0.line(textWidth, timeWidth) }.joined(separator: "\n")
    }

    private static func rows(of line: Line, _ width: Int) -> [Row] {
        let text = line.title + (line.detail.isEmpty ? "" : ": \(line.detail)")
        guard line.kind != .mark else {
            let column = column(line.bar.start, width)
            let bar = (0..<width).map { $0 == column ? "^" : " " }.joined()
            return [Row(text: "  \(text)", time: "+" + DurationText.text(line.time), bar: bar)]
        }
        let row = Row(
            text: line.kind == .call ? text : "  \(text)", time: DurationText.text(line.time),
            bar: drawing(line.bar, width))
        return [row]
            + line.phases.map { phase in
                Row(
                    text: "    \(phase.phase.rawValue)", time: DurationText.text(phase.duration),
                    bar: drawing(phase.bar, width))
            }
    }

    private static func drawing(_ bar: Bar, _ width: Int) -> String {
        let first = column(bar.start, width)
        let last = max(first, Int((bar.end * Double(width)).rounded(.up)) - 1)
        return (0..<width).map { (first...last).contains($0) ? "=" : " " }.joined()
    }

    private static func column(_ fraction: Double, _ width: Int) -> Int {
        min(width - 1, Int((fraction * Double(width)).rounded(.down)))
    }
}
