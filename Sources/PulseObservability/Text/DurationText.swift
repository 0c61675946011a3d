// SPDX-License-Identifier: MIT

import PulseCore

/// Formats durations with three significant digits: `1.50 s`, `214 ms`, `64.0 µs`.
package enum DurationText {
    package static func text(_ seconds: TimeInterval) -> String {
        if seconds >= 1 { return digits(seconds) + " s" }
        return seconds >= 1e-3 ? digits(seconds * 1e3) + " ms" : digits(seconds * 1e6) + " µs"
    }

    /// A number with three significant digits, as long as it is less than 1000.
    package static func digits(_ value: Double) -> String {
        // A value that rounds up to the next power of ten has one decimal place less.
        let places = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2
        return String(format: "%.\(places)f", value)
    }
}
