// SPDX-License-Identifier: MIT

import PulseCore

/// The names under which things are counted, as they may be shown and exported.
enum SeriesName {
    /// What has no name of its own any more.
    static let other = "other"
    static let maximumLength = 120
    /// Of a name as it came: what differs only behind that is one.
    static let maximumKeyLength = 1000

    /// One line, without secrets, of a bounded length; never empty.
    static func shown(_ name: String) -> String {
        let masked = Redaction.standard.text(bounded(name, to: maximumKeyLength)).onOneLine
        return masked.isEmpty ? "unknown" : bounded(masked, to: maximumLength)
    }

    /// Cut at a character; its length counts in UTF-8.
    static func bounded(_ text: String, to length: Int) -> String {
        guard text.utf8.count > length else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: length)
        while end.samePosition(in: text.unicodeScalars) == nil, end > text.startIndex {
            end = text.utf8.index(before: end)
        }
        return String(text[..<end])
    }
}
