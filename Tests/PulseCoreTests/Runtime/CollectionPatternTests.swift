// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct CollectionPatternTests {
    /// All texts of `a` and `b` up to that length, without the empty one.
    private func texts(upTo length: Int) -> [[UInt8]] {
        (1...length).flatMap { length in
            (0..<1 << length).map { bits in (0..<length).map { UInt8(ascii: bits >> $0 & 1 == 0 ? "a" : "b") } }
        }
    }

    @Test func findsTheFirstPlaceInTextsAndSlices() {
        for pattern in texts(upTo: 4) {
            for text in texts(upTo: 7) {
                let expected = text.indices.first { text[$0...].starts(with: pattern) }
                #expect(text.firstIndex(ofPattern: pattern) == expected)
                let slice = (Data("ab".utf8) + Data(text)).dropFirst(2)
                #expect(slice.firstIndex(ofPattern: pattern) == expected.map { $0 + 2 })
            }
        }
    }
}
