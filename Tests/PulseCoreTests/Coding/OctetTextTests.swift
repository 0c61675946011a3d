// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct OctetTextTests {
    @Test func anyBytesSurviveARoundTrip() {
        var random = SplitMix64(seed: 3)
        var samples =
            (0...255).map { [UInt8($0)] } + [Array("a=\u{E9}\u{10F7E9}\u{1F600}".utf8), [0xF4, 0x8F, 0x9E, 0x80]]
        for _ in 0..<2_000 {
            samples.append(
                (0..<Int.random(in: 0...12, using: &random)).map { _ in .random(in: 0...255, using: &random) })
        }
        for bytes in samples {
            let text = OctetText.text(bytes)
            #expect(OctetText.bytes(text) ?? Array(text.utf8) == bytes)
        }
    }

    @Test func utf8TextIsUnchanged() {
        for text in ["", "a=b; c=d", "gr\u{FC}n \u{1F600}"] {
            #expect(OctetText.text(Array(text.utf8)) == text)
            #expect(OctetText.bytes(text) == nil)
        }
    }
}
