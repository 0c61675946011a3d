// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseUI

@Suite(.throttled)
struct JSONIndentationTests {
    @Test func keysKeepTheirOrderAndNumbersTheirDigits() {
        let text = #"{"b":12345678901234567890.10e+5,"a":[1,-0,{"a":null}],"a":"x: [1, \"2\"]","e":{},"f":[ ]}"#
        #expect(
            JSONIndentation.indented(text) == #"""
                {
                  "b": 12345678901234567890.10e+5,
                  "a": [
                    1,
                    -0,
                    {
                      "a": null
                    }
                  ],
                  "a": "x: [1, \"2\"]",
                  "e": {},
                  "f": []
                }
                """#)
    }

    @Test(arguments: [
        "", "text", "12", "\"a\"", "[info] started", "[1] started", "[12:30] started", "{name}", "{{template}}",
        "{\"a\" 1}",
        "{\"a\":1,}", "[1,]", "[1 2]", "{\"a\":}", "[tru]", "[1e+x]", "[}", "[1}", "{\"a\":1]", "[1]]", "{}{}", "{1:2}",
        "[\"a", "{\"a\":1",
        "[nan]",
    ])
    func otherTextIsNotJSON(text: String) {
        #expect(JSONIndentation.indented(text) == nil)
    }

    @Test func aSequenceOfValuesIsJSON() {
        #expect(JSONIndentation.indented("{\"a\":1}\n[]\n3 \n") == "{\n  \"a\": 1\n}\n[]\n3")
    }

    @Test func everyBeginningOfAJSONTextIsIndented() {
        let text = #"{"key": [true, null, 1.5e3, "a\"\u00e9", {"x": false}], "k": {}}"#
        func tokens(_ text: String) -> String { text.filter { !" \n".contains($0) } }
        for length in 1...text.utf8.count {
            let start = String(decoding: Array(text.utf8.prefix(length)), as: UTF8.self)
            let indented = JSONIndentation.indented(start, isTruncated: true)
            #expect(indented.map(tokens) == tokens(start), "\(start)")
            if length < text.utf8.count { #expect(JSONIndentation.indented(start) == nil, "\(start)") }
        }
    }

    @Test func deepTextTakesSpaceInProportion() throws {
        let depth = 2000
        let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let indented = try #require(JSONIndentation.indented(text))
        #expect(indented.utf8.count < 80 * text.utf8.count)
        #expect(indented.filter { !" \n".contains($0) } == text)
    }

    /// Seeded values as JSON in one line, indented, read the same.
    @Test func indentedTextReadsTheSame() throws {
        let random = SplitMix(seed: 7)
        for _ in 0..<300 {
            let text = random.json(depth: 4)
            guard text.hasPrefix("{") || text.hasPrefix("[") else { continue }
            let indented = try #require(JSONIndentation.indented(text), "\(text)")
            let (one, other) = (Data(text.utf8), Data(indented.utf8))
            #expect(
                try JSONDecoder().decode(JSONValue.self, from: one) == JSONDecoder().decode(JSONValue.self, from: other)
            )
            #expect(JSONIndentation.indented(indented) == indented)
        }
    }
}

/// A seeded source of JSON texts.
private final class SplitMix {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    private func next(below limit: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((word ^ (word >> 31)) % UInt64(limit))
    }

    func json(depth: Int) -> String {
        let plain = ["true", "false", "null", "0", "-1.5e-7", "123456789", #""""#, #""a\\\"é, :[{""#]
        switch depth == 0 ? 2 : next(below: 4) {
        case 0:
            let members = (0..<next(below: 4)).map { "\"k\($0)\":" + json(depth: depth - 1) }
            return "{" + members.joined(separator: ",") + "}"
        case 1: return "[" + (0..<next(below: 4)).map { _ in json(depth: depth - 1) }.joined(separator: ",") + "]"
        default: return plain[next(below: plain.count)]
        }
    }
}
