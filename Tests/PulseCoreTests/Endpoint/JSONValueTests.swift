// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct JSONValueTests {
    static let sample: JSONValue = [
        "name": "Ann", "age": 41, "height": 1.75, "isAdmin": true, "manager": nil,
        "tags": ["a", 1, 2.5, false, nil, [], [:]], "nested": ["deep": ["deeper": "\u{1F600}\u{0}\"\\"]],
    ]

    @Test
    func everyCaseHasALiteral() {
        #expect(Self.sample["name"] == .string("Ann"))
        #expect(Self.sample["age"] == .integer(41))
        #expect(Self.sample["height"] == .number(1.75))
        #expect(Self.sample["isAdmin"] == .bool(true))
        #expect(Self.sample["manager"] == .some(.null))
        #expect(Self.sample["tags"]?.arrayValue?.count == 7)
        let id = 7
        #expect("user \(id)" as JSONValue == .string("user 7"))
    }

    @Test
    func subscriptsReturnNilForMissingValues() {
        #expect(Self.sample["missing"] == nil)
        #expect(Self.sample["name"]?["inner"] == nil)
        #expect(Self.sample[0] == nil)
        #expect(Self.sample["tags"]?[7] == nil)
        #expect(Self.sample["tags"]?[-1] == nil)
        #expect(Self.sample["nested"]?["deep"]?["deeper"]?.stringValue == "\u{1F600}\u{0}\"\\")
    }

    @Test
    func accessorsReturnOnlyTheirOwnType() {
        let integer: JSONValue = 2
        let number: JSONValue = 2.5
        #expect(integer.integerValue == 2 && integer.numberValue == 2 && integer.stringValue == nil)
        #expect(number.integerValue == nil && number.numberValue == 2.5 && number.boolValue == nil)
        #expect(JSONValue.number(3).integerValue == 3)
        #expect((nil as JSONValue).isNull && !integer.isNull)
        #expect((true as JSONValue).boolValue == true && (true as JSONValue).integerValue == nil)
        #expect(integer.arrayValue == nil && integer.objectValue == nil)
    }

    @Test(arguments: [
        sample, nil, true, 0, "", [], [:], .integer(.max), .integer(.min), .integer(9_007_199_254_740_993),
        .number(0.1), .number(-0.0), .number(1e300), .number(.leastNonzeroMagnitude), .number(1), .number(1e19),
        .number(-1e18),
        ["userID": ["inner_key": 1]],
    ])
    func anEncodedValueEqualsTheDecodedOne(value: JSONValue) throws {
        let encoder = JSONEncoder()
        let decoder = JSONDecoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        #expect(try decoder.decode(JSONValue.self, from: encoder.encode(value)) == value)
    }

    @Test
    func integersKeepEveryDigit() throws {
        let text = #"{"a":9007199254740993,"b":1,"c":1.5,"d":-9223372036854775808,"e":true,"f":0}"#
        let value = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(String(decoding: try encoder.encode(value), as: UTF8.self) == text)
        guard case .integer(1) = value["b"], case .bool(true) = value["e"], case .integer(0) = value["f"] else {
            Issue.record("integers and booleans are distinct: \(value)")
            return
        }
    }

    @Test
    func aWholeNumberIsEqualInEveryNotation() {
        #expect(JSONValue.integer(1) == .number(1))
        #expect(JSONValue.integer(1).hashValue == JSONValue.number(1).hashValue)
        #expect(JSONValue.integer(.max) != .number(0x1p63))
        #expect(Set<JSONValue>([.integer(2), .number(2), "2"]).count == 2)
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity])
    func aNumberThatIsNotFiniteIsAnEncodingErrorUnderEveryStrategy(number: Double) {
        let encoder = JSONEncoder()
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        #expect(throws: EncodingError.self) { try encoder.encode(["a": JSONValue.number(number)]) }
    }

    @Test(arguments: [#"{"a":[1e999]}"#, "{", "[1,,2]", "nul", ""])
    func invalidJSONIsADecodingError(text: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) }
    }

    @Test
    func theLastValueOfARepeatedLiteralKeyCounts() {
        #expect(["a": 1, "a": 2] as JSONValue == ["a": 2])
    }

    /// Foundation writes `1.252850414049463e+18`, and reads it as the integer 1252850414049463000.
    @Test
    func aLargeNumberSurvivesARoundTrip() throws {
        var random = SplitMix64(seed: 8)
        var numbers = [1.252850414049463e+18, 0x1p53, 0x1p53 + 2, 0x1p63, -0x1p63, 1e17, 1e300]
        for _ in 0..<2_000 {
            numbers.append(
                Double(
                    sign: .minus, exponent: .random(in: 50...66, using: &random),
                    significand: .random(in: 1..<2, using: &random)))
        }
        for number in numbers {
            let data = try JSONEncoder().encode(JSONValue.number(number))
            #expect(try JSONDecoder().decode(JSONValue.self, from: data) == .number(number), "\(number)")
            #expect(try JSONResponseDecoder.json.decode(JSONValue.self, from: data) == .number(number), "\(number)")
        }
    }
}
