// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct JSONParserTests {
    /// A value inside another type, which Foundation decodes.
    private struct Response: Decodable {
        var value: JSONValue
    }

    private static func nested(_ depth: Int, _ open: String, _ close: String, _ inner: String = "\"x\"") -> String {
        String(repeating: open, count: depth) + inner + String(repeating: close, count: depth)
    }

    private static func read(_ text: String) throws -> JSONValue {
        try JSONResponseDecoder.json.decode(JSONValue.self, from: Data(text.utf8))
    }

    private static func readWithin(_ text: String) throws -> JSONValue {
        try JSONResponseDecoder.json.decode(Response.self, from: Data("{\"value\":\(text)}".utf8)).value
    }

    @Test(arguments: [
        "null", "true", "false", "0", "-0", "-1", "1.5", "1e3", "1E+2", "2.50e1", "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808", "123456789012345678901234567890", "1.252850414049463e+18", "9007199254740993.0",
        "1e-400",
        "5e-324", "\"\"", "\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\u00e9\\ud83d\\ude00\\u0000\"", "\"\u{E9}\u{1F600}\"",
        "[]", "{}",
        " [ 1 , [ ] , { \"a\" : { } } ]\n", "{\"a\":1,\"a\":2}", "[1,]", "{\"a\":1,}", "\u{FEFF}[1]",
    ])
    func validTextParsesLikeInFoundation(text: String) throws {
        let expected = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
        #expect(try Self.read(text) == expected)
        let deep = Self.nested(12, "[", "]", text.replacingOccurrences(of: "\u{FEFF}", with: ""))
        #expect(try Self.readWithin(deep) == Self.read(deep))
    }

    @Test(arguments: [
        "", " ", "nul", "truex", "01", "1.", ".5", "+1", "-", "1e", "1e+", "1e400", "NaN", "'a'", "\"a", "\"\\x\"",
        "\"\\u12\"",
        "\"\\ud83d\"", "\"\\ud83d\\u0041\"", "\"\\udc00\"", "\"a\nb\"", "\"\u{1}\"", "[", "[1", "[1 2]", "[,]",
        "[1,,2]", "]", "{", "{1:2}",
        "{\"a\"}", "{\"a\":}", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "{,}", "[1}", "{\"a\":1]", "1 2", "[]]", "//x\n1",
        "\u{0}",
    ])
    func invalidTextIsRefusedLikeInFoundation(text: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) }
        #expect(throws: DecodingError.self) { try Self.read(text) }
    }

    @Test func invalidUTF8IsRefused() {
        for bytes: [UInt8] in [[0x22, 0xE9, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22]] {
            #expect(throws: DecodingError.self) {
                try JSONResponseDecoder.json.decode(JSONValue.self, from: Data(bytes))
            }
        }
    }

    @Test(arguments: [
        String.Encoding.utf8, .utf16, .utf16BigEndian, .utf16LittleEndian, .utf32, .utf32BigEndian, .utf32LittleEndian,
    ])
    func everyUnicodeEncodingIsRead(encoding: String.Encoding) throws {
        for text in ["[\"\u{E9}\",1]", "17"] {
            let data = try #require(text.data(using: encoding))
            #expect(try JSONResponseDecoder.json.decode(JSONValue.self, from: data) == Self.read(text))
        }
    }

    @Test(arguments: [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]")])
    func theDepthLimitIsFoundations(open: String, close: String) throws {
        let levels = open == "[{\"a\":" ? 256 : 512
        #expect(try Self.read(Self.nested(levels, open, close)) != .null)
        #expect(throws: DecodingError.self) { try Self.read(Self.nested(levels + 1, open, close)) }
        #expect(throws: DecodingError.self) { try Self.read(Self.nested(100_000, open, close)) }
        #expect(throws: DecodingError.self) { try Self.read(String(repeating: open, count: 100_000)) }
        #expect(try Self.readWithin(Self.nested(levels - 1, open, close)) != .null)
        #expect(throws: DecodingError.self) { try Self.readWithin(Self.nested(levels + 1, open, close)) }
    }

    @Test
    @HeavyWork func theParserAgreesWithFoundationOnRandomTexts() {
        var random = SplitMix64(seed: 26)
        let pieces = [
            "[", "]", "{", "}", ",", ":", "\"a\"", "\"b\":", "1", "-2.5e3", "true", "null", " ", "\"\\n\"",
            "\"\u{E9}\"", "\\", "[[[[[[", "]]]]]]",
        ]
        for _ in 0..<20_000 {
            let text = (0..<Int.random(in: 1...12, using: &random))
                .map { _ in pieces[Int.random(in: pieces.indices, using: &random)] }.joined()
            let expected = try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
            let found = try? Self.read(text)
            // Foundation does not read the second value of a repeated name.
            if let found { #expect(found == expected, "\(text)") }
            if expected != nil, !text.contains("\"b\":") { #expect(found != nil, "\(text)") }
        }
    }

    @Test func aKeyStrategyKeepsAValueAndLimitsItsDepth() throws {
        let decoder = JSONResponseDecoder.json { $0.keyDecodingStrategy = .convertFromSnakeCase }
        let value = try decoder.decode(JSONValue.self, from: Data(#"{"a_b":{"c_d":1}}"#.utf8))
        #expect(value == ["a_b": ["c_d": 1]])
        func within(_ depth: Int) throws -> JSONValue {
            let text = Self.nested(depth, "{\"a_b\":", "}")
            return try decoder.decode(Response.self, from: Data("{\"value\":\(text)}".utf8)).value
        }
        #expect(try within(60)["a_b"]?["a_b"] != nil)
        #expect(throws: DecodingError.self) { try within(70) }
    }

    #if DEBUG
    @Test(arguments: ["[", "{\"a\":", "[{\"a\":"], [false, true])
    @HeavyWork func parsingTakesLinearTimeAtAnyDepth(open: String, isWithin: Bool) throws {
        let close = String(open.reversed().compactMap { $0 == "[" ? "]" : $0 == "{" ? "}" : nil })
        func steps(_ depth: Int, _ count: Int) throws -> Int {
            let one = Self.nested(depth, open, close)
            let text = "[" + Array(repeating: one, count: count).joined(separator: ",") + "]"
            return try StepCount.taken { _ = try isWithin ? Self.readWithin(text) : Self.read(text) }
        }
        let base = try steps(60, 4)
        #expect(try steps(120, 4) < base * 9 / 4)
        #expect(try steps(60, 8) < base * 9 / 4)
        #expect(try steps(240, 4) < base * 9 / 2)
    }

    @Test func deepValuesAreDecodedWithoutWrongTries() throws {
        let text = Self.nested(200, "[{\"a\":", "}]", "[1,1.5,\"x\",true,null]")
        let values = 405
        // The outline and the walk along it: no value is tried as several types.
        let steps = try StepCount.taken { _ = try Self.readWithin(text) }
        #expect(steps < 2 * (text.utf8.count + 3 * values))
        #expect(try Self.readWithin(text) == Self.read(text))
    }
    #endif
}
