// SPDX-License-Identifier: MIT

import PulseCore

/// The names under which things are counted, as they may be shown and exported.
enum SeriesName {
    /// The name of everything beyond the bound.
    static let other = "other"
    static let maximumLength = 120
    /// The bytes of a name that are compared: names that differ only behind them are one.
    static let maximumKeyLength = 1000

    /// One line, without secrets, of a bounded length; never empty.
    static func shown(_ name: String) -> String {
        let masked = Redaction.standard.text(bounded(name, to: maximumKeyLength)).onOneLine
        return masked.isEmpty ? "unknown" : bounded(masked, to: maximumLength)
    }

    /// Text cut at a character, to that many bytes of UTF-8.
    static func bounded(_ text: String, to length: Int) -> String {
        guard text.utf8.count > length else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: length)
        while end.samePosition(in: text.unicodeScalars) == nil, end > text.startIndex {
            end = text.utf8.index(before: end)
        }
        return String(text[..<end])
    }
}
