// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability

/// Formats durations, sizes and times for the console. Every number has a text.
enum ConsoleText {
    /// `214 ms`, with three significant digits.
    static func duration(_ seconds: TimeInterval) -> String {
        DurationText.text(seconds.finite)
    }

    /// `12 bytes`, `1.50 kB`, `214 MB`: decimal units, three significant digits.
    static func size(_ byteCount: Int64) -> String {
        var (value, unit) = (Double(max(0, byteCount)), 0)
        guard value >= 1000 else { return LogText.count(max(0, byteCount), "byte") }
        // Rounded to three digits, 999.5 would read as 1000.
        while value >= 999.5, unit < units.count {
            value /= 1000
            unit += 1
        }
        return DurationText.digits(value) + " " + units[unit - 1]
    }

    private static let units = ["kB", "MB", "GB", "TB", "PB", "EB"]

    /// `2026-01-01 00:00:00`, in the given time zone.
    static func time(_ date: Date, in zone: TimeZone) -> String {
        let seconds = date.timeIntervalSince1970
        // The range of four-digit years.
        let shown = seconds.isNaN ? 0 : max(-62_135_596_800, min(253_402_300_799, seconds))
        let style = Date.ISO8601FormatStyle(timeZone: zone).year().month().day()
            .dateTimeSeparator(.space).time(includingFractionalSeconds: false)
        return Date(timeIntervalSince1970: shown).formatted(style)
    }
}
