// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct LogTextTests {
    @Test func shortIDsDistinguishTheCallsOfAClient() throws {
        let source = IdentifierSource(SystemRandomness())
        let ids = (0..<1000).map { _ in source.next() }
        #expect(Set(ids.map(LogText.shortID)).count > 990)
        for id in ids {
            #expect(id.uuidString.lowercased().hasSuffix(LogText.shortID(id)))
        }
    }

    @Test func joiningConcatenatesAnyTexts() {
        let long = String(repeating: "long ", count: 40)
        #expect(String(joining: "", "é", long, "", "e\u{301}", "🇦") == "é" + long + "e\u{301}🇦")
        #expect(String(joining: "", "").isEmpty)
        #expect(String(joining: "[", "a") == "[a")
    }

    @Test func countsUseSingularAndPlural() {
        #expect([0, 1, 2].map { LogText.count($0, "byte") } == ["0 bytes", "1 byte", "2 bytes"])
        #expect(LogText.count(Int64.min, "byte") == "-9223372036854775808 bytes")
    }

    @Test func anyDurationIsFormatted() {
        #expect(LogText.milliseconds(0.0124) == "12 ms")
        #expect(LogText.milliseconds(1) == "1000 ms")
        #expect(LogText.milliseconds(.infinity) == "inf s")
        #expect(LogText.milliseconds(.nan) == "nan s")
    }

    @Test func everyLineIsIndentedAndControlCharactersAreEscaped() {
        let shown = LogText.indented("a\r\n[0] <-- 200\n\nb\u{1B}[2K\rc\u{85}\u{2028}\u{202E}d")
        #expect(shown == "    a\n    [0] <-- 200\n\n    b\\u{1B}[2K\\rc\\u{0085}\\u{2028}\\u{202E}d")
    }

    @Test func writingSystemsAndEmojiStayReadable() {
        let text = "Zo\u{EB} \u{5D0}\u{5D1} \u{1F468}\u{200D}\u{1F469} \\n ~"
        #expect(text.onOneLine == text)
    }

    @Test(arguments: [17, 20, 64, 200, 1000])
    func theLogPiecesOfABlockAreComplete(limit: Int) {
        let block =
            "[0a] --> GET /\n"
            + (0..<20).map { "    line \($0) " + String(repeating: "é", count: $0 * 3) + "\n" }
            .joined() + "end"
        let pieces = LogText.pieces(of: block, upTo: limit)
        let tag = "[0a] …\n"
        #expect(pieces.allSatisfy { $0.utf8.count <= max(limit, tag.utf8.count + 16) })
        #expect(pieces.dropFirst().allSatisfy { $0.hasPrefix(tag) })
        let whole = ([pieces[0]] + pieces.dropFirst().map { String($0.dropFirst(tag.count)) }).joined()
        #expect(whole.filter { $0 != "\n" } == block.filter { $0 != "\n" })
        #expect(LogText.pieces(of: "short", upTo: limit) == ["short"])
    }
}
