// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct JSONValueTextTests {
    @Test(
        arguments: [
            (nil, "null"), (true, "true"), (false, "false"), (0, "0"), (-41, "-41"), (1.75, "1.75"), (2.0, "2"),
            (.integer(.max), "9223372036854775807"), (.integer(.min), "-9223372036854775808"), (1e100, "1e+100"),
            (.number(.infinity), "null"), (.number(.nan), "null"), (.number(-0.0), "0"), ("", #""""#),
            ("Ann", #""Ann""#), ([], "[]"), ([:], "{}"), ([1, [2, nil]], "[1,[2,null]]"),
            (["b": 1, "a": ["d": 2, "c": 3]], #"{"a":{"c":3,"d":2},"b":1}"#),
            ("a\"b\\c/\n\r\t\u{8}\u{C}\u{0}\u{1F}", #""a\"b\\c/\n\r\t\b\f\u0000\u001f""#),
            ("\u{1F600}é\u{2028}\u{7F}\u{9B}\u{202E}", "\"\u{1F600}é\\u2028\\u007f\\u009b\\u202e\""),
        ] as [(JSONValue, String)])
    func aValuePrintsAsJSONOnOneLine(value: JSONValue, text: String) {
        #expect(value.description == text)
        #expect(value.debugDescription == text)
        #expect("\(value)" == text)
    }

    @Test func aPrintedValueDecodesToAnEqualValue() throws {
        let value = JSONValueTests.sample
        #expect(try JSONDecoder().decode(JSONValue.self, from: Data(value.description.utf8)) == value)
    }

    @Test func equalValuesHaveEqualTexts() {
        let pairs = (0..<50).map { ("key \($0)", JSONValue.integer(Int64($0))) }
        let (left, right) = (
            JSONValue.object(Dictionary(uniqueKeysWithValues: pairs)),
            JSONValue.object(Dictionary(uniqueKeysWithValues: pairs.reversed()))
        )
        #expect(left == right && left.description == right.description)
        #expect(JSONValue.number(3).description == JSONValue.integer(3).description)
    }
}
