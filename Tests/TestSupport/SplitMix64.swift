// SPDX-License-Identifier: MIT

/// A seeded generator, so that a failing property test fails again.
package struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

extension SplitMix64 {
    /// Text that is hard for parsers: delimiters, escapes, line breaks, NUL, combining marks, emoji.
    package mutating func hostileText(minimumLength: Int = 0, maxLength: Int) -> String {
        let pieces = [
            "a", "Z", "9", "/", "?", "#", "%", "%2F", "%2e", ".", "..", "+", "&", "=", ";", ",", " ", "\"", "'", "\\",
            "\r", "\n", "\r\n", "\u{0}", "\u{7F}", "[", "]", "{", "}", ":", "@", "\u{E9}", "\u{301}", "\u{1F600}",
            "%zz",
        ]
        let length = Int.random(in: minimumLength...maxLength, using: &self)
        return (0..<length).map { _ in pieces[Int.random(in: pieces.indices, using: &self)] }.joined()
    }
}
