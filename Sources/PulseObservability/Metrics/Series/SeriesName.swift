// SPDX-License-Identifier: MIT

import PulseCore

/// The displayable names of counters, for snapshots and exports.
enum SeriesName {
    /// The shared name of all names beyond a maximum.
    static let other = "other"
    static let maxLength = 120
    /// The number of bytes of a name that are compared: names that differ only after them count as the same.
    static let maxKeyLength = 1000

    /// The name on one line, without secrets, of a bounded length; never empty.
    static func shown(_ name: String) -> String {
        let masked = Redaction.standard.text(bounded(name, to: maxKeyLength)).onOneLine
        return masked.isEmpty ? "unknown" : bounded(masked, to: maxLength)
    }

    /// The text, truncated at a character boundary to at most that many bytes of UTF-8.
    static func bounded(_ text: String, to length: Int) -> String {
        guard text.utf8.count > length else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: length)
        while end.samePosition(in: text.unicodeScalars) == nil, end > text.startIndex {
            end = text.utf8.index(before: end)
        }
        return String(text[..<end])
    }
}
