// SPDX-License-Identifier: MIT

import Foundation
import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct JSONTextTests {
    @Test(arguments: [
        "", "query { a }", "\"quoted\" \\ / \\n", "\u{8}\t\n\u{B}\u{C}\r\u{0}\u{1F}\u{7F}", "\u{e9}\u{2028}\u{1F600}",
        "\r\n\r\n", "\"\"\"block\nstring\"\"\"",
    ])
    func aStringIsReadBackAsItWas(text: String) throws {
        let json = JSONText.string(text)
        #expect(try JSONDecoder().decode([String].self, from: Data("[".utf8) + json + Data("]".utf8)) == [text])
    }
}
