// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct QueryEncoderTests {
    private struct Filter: Encodable {
        var zone = "eu"
        var userID = 7
        var tags = ["b", "a"]
        var range = Range(from: 1, to: nil)

        struct Range: Encodable {
            var from: Int
            var to: Int?
        }
    }

    private func encode(
        _ value: some Encodable, _ change: (inout QueryEncoder.Options) -> Void = { _ in }
    ) throws -> String {
        var options = QueryEncoder.Options()
        change(&options)
        // Unescaped, for readable expectations; the escapes have separate tests.
        return try QueryEncoder(options: options).items(from: value)
            .map { "\($0.name)=\($0.value ?? "nil")" }.joined(separator: "&")
    }

    @Test
    func membersAreSortedAndArraysKeepTheirOrder() throws {
        #expect(try encode(Filter()) == "range[from]=1&tags=b&tags=a&userID=7&zone=eu")
    }

    @Test
    func unsortedMembersKeepTheirDeclaredOrder() throws {
        #expect(try encode(Filter()) { $0.sortsKeys = false } == "zone=eu&userID=7&tags=b&tags=a&range[from]=1")
        let dictionary = Dictionary(uniqueKeysWithValues: (0..<50).map { (String(1_000 + $0), $0) })
        #expect(try encode(dictionary) { $0.sortsKeys = false } == encode(dictionary), "a dictionary has no order")
        let numbered = Dictionary(uniqueKeysWithValues: (1_000..<1_050).map { ($0, $0) })
        #expect(try encode(numbered) { $0.sortsKeys = false } == encode(numbered))
    }

    @Test(arguments: [
        (QueryEncoder.Options.Arrays.repeated, "a=1&a=2&o[x]=1&o[x]=2"),
        (.brackets, "a[]=1&a[]=2&o[][x]=1&o[][x]=2"),
        (.indexed, "a[0]=1&a[1]=2&o[0][x]=1&o[1][x]=2"),
    ])
    func arraysFollowTheOption(arrays: QueryEncoder.Options.Arrays, expected: String) throws {
        struct Value: Encodable {
            var a = [1, 2]
            var o = [["x": 1], ["x": 2]]
        }
        #expect(try encode(Value()) { $0.arrays = arrays } == expected)
    }

    @Test
    func indicesAreSortedAsNumbers() throws {
        let value = ["a": Array(0..<11)]
        let expected = (0..<11).map { "a[\($0)]=\($0)" }.joined(separator: "&")
        #expect(try encode(value) { $0.arrays = .indexed } == expected)
    }

    @Test
    func commaSeparationRefusesAmbiguousElements() throws {
        #expect(try encode(["a": [1, 2, 3], "b": []]) { $0.arrays = .comma } == "a=1,2,3")
        #expect(try QueryEncoder.commas.queryString(from: ["a": ["x", "y"]]) == "a=x%2Cy")
        #expect(throws: PulseError.self) { try encode(["a": ["x,y"]]) { $0.arrays = .comma } }
        #expect(throws: PulseError.self) { try encode(["a": [["x": 1]]]) { $0.arrays = .comma } }
        #expect(throws: PulseError.self) { try encode(["a": [[1]]]) { $0.arrays = .comma } }
    }

    @Test
    func nestedNamesMayUseDots() throws {
        let value = ["a": ["b": ["c": 1]]]
        #expect(try encode(value) == "a[b][c]=1")
        #expect(try encode(value) { $0.nesting = .dots } == "a.b.c=1")
    }

    @Test
    func booleansAndNilsFollowTheOptions() throws {
        struct Value: Encodable {
            var flag = true
            var off = false
            var none: Bool?
            var text: String?
            var number: UInt16?
            var list: [Int?] = [1, nil]
            var nested: Filter?
        }
        #expect(try encode(Value()) == "flag=true&list=1&off=false")
        let expected = "flag=1&list=1&list=&nested=&none=&number=&off=0&text="
        let encoded = try encode(Value()) {
            $0.booleans = .numeric
            $0.nils = .empty
        }
        #expect(encoded == expected)
        #expect(try encode(["a": Int?.none, "b": 1]) == "b=1")
        #expect(
            try encode(["a": [Int?.none, 1]]) {
                $0.nils = .empty
                $0.arrays = .comma
            } == "a=,1")
    }

    @Test(arguments: [
        (QueryEncoder.Options.Dates.iso8601, "d=2001-09-09T01:46:40Z"),
        (.secondsSince1970, "d=1000000000.25"),
        (.millisecondsSince1970, "d=1000000000250"),
        (.custom { "at \(Int($0.timeIntervalSince1970))" }, "d=at 1000000000"),
    ])
    func datesFollowTheOption(dates: QueryEncoder.Options.Dates, expected: String) throws {
        let value = ["d": Date(timeIntervalSince1970: 1_000_000_000.25)]
        #expect(try encode(value) { $0.dates = dates } == expected)
    }

    @Test
    func wholeSecondsHaveNoFraction() throws {
        #expect(try encode(["d": Date(timeIntervalSince1970: -5)]) { $0.dates = .secondsSince1970 } == "d=-5")
    }

    @Test(arguments: [Double.nan, .infinity, 1e300, -1e300, .greatestFiniteMagnitude])
    func aDateOutOfRangeIsAnError(seconds: Double) {
        let value = ["d": Date(timeIntervalSince1970: seconds)]
        #expect(throws: PulseError.self) { try encode(value) }
        #expect(throws: PulseError.self) { try encode(value) { $0.dates = .millisecondsSince1970 } }
    }

    @Test
    func snakeCaseMatchesJSONEncoderExceptForALeadingUppercaseLetter() throws {
        let names = [
            "a", "userID", "myURLProperty", "userName2", "a1B", "_private", "_OneTwo", "already_snake",
            "x", "aB", "ABc", "", "one two",
        ]
        for name in names {
            let json = JSONEncoder()
            json.keyEncodingStrategy = .convertToSnakeCase
            let expected = try JSONDecoder().decode([String: Int].self, from: json.encode(Named(name: name))).keys.first
            let encoded = try encode(Named(name: name)) { $0.keys = .snakeCase }
            #expect(encoded == "\(expected ?? "")=1")
        }
        #expect(try encode(Named(name: "URL")) { $0.keys = .snakeCase } == "url=1")
        #expect(try encode(Named(name: "HTTPServer")) { $0.keys = .snakeCase } == "http_server=1")
    }

    private struct Named: Encodable {
        var name: String

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: AnyKey.self)
            try container.encode(1, forKey: AnyKey(stringValue: name))
        }
    }

    private struct AnyKey: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    @Test
    func dictionaryKeysAreNotChanged() throws {
        struct Value: Encodable {
            var userIndex = ["someKey": ["innerKey": 1]]
            var theFilter = Filter.Range(from: 1, to: 2)
        }
        #expect(
            try encode(Value()) { $0.keys = .snakeCase }
                == "the_filter[from]=1&the_filter[to]=2&user_index[someKey][innerKey]=1")
        #expect(
            try encode(Value()) { $0.keys = .custom { $0.uppercased() } }
                == "THEFILTER[FROM]=1&THEFILTER[TO]=2&USERINDEX[someKey][innerKey]=1")
    }

    @Test
    func scalarTypesAreWrittenAsTheirText() throws {
        struct Value: Encodable {
            var data = Data([0xFB, 0xFF])
            var decimal = Decimal(string: "12345678901234567890.123") ?? 0
            var double = 0.1
            var float: Float = 1.5
            var int8: Int8 = -8
            var uint64 = UInt64.max
            var url = URL(string: "https://h.test/?a=b")
            var uuid = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
            var choice = Choice.second

            enum Choice: String, Encodable { case second = "2nd" }
        }
        #expect(
            try encode(Value()) { $0.sortsKeys = false } == """
                data=+/8=&decimal=12345678901234567890.123&double=0.1&float=1.5&int8=-8&uint64=18446744073709551615\
                &url=https://h.test/?a=b&uuid=01020304-0506-0708-090A-0B0C0D0E0F10&choice=2nd
                """)
    }

    @Test
    func superEncodersAndNestedContainersWriteToTheirKey() throws {
        class Base: Encodable {
            var base = 1
        }
        final class Derived: Base {
            private enum Keys: CodingKey { case own, list, nested }

            override func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Keys.self)
                var list = container.nestedUnkeyedContainer(forKey: .list)
                try list.encode("x")
                try list.encodeNil()
                #expect(list.count == 2)
                var inner = list.nestedContainer(keyedBy: Keys.self)
                var nested = container.nestedContainer(keyedBy: Keys.self, forKey: .nested)
                try super.encode(to: container.superEncoder())
                try nested.encode(2, forKey: .own)
                try inner.encode(3, forKey: .own)
                try container.encode(4, forKey: .own)
                try container.encode(5, forKey: .own)
                var again = encoder.container(keyedBy: Keys.self)
                try super.encode(to: again.superEncoder(forKey: .nested))
                try again.encodeIfPresent(Int?.none, forKey: .list)
            }
        }
        #expect(
            try encode(Derived()) { $0.sortsKeys = false } == "list=x&list[own]=3&nested[base]=1&super[base]=1&own=5")
    }

    @Test
    func requestingTwoKindsOfContainerIsAnError() {
        struct Confused: Encodable {
            func encode(to encoder: any Encoder) throws {
                var list = encoder.unkeyedContainer()
                try list.encode(1)
                var members = encoder.container(keyedBy: AnyKey.self)
                try members.encode(1, forKey: AnyKey(stringValue: "a"))
                try list.encode(2)
            }
        }
        #expect(throws: PulseError.self) { try encode(Confused()) }
        #expect(throws: PulseError.self) { try encode(["a": [Confused()]]) }
    }

    @Test(arguments: [
        "text" as any Encodable & Sendable, 1, true, [1, 2], Date(), ["a"] as Set, JSONValue.string("x"),
    ])
    func aTopLevelValueWithoutNamesIsInvalid(value: any Encodable & Sendable) {
        let error = #expect(throws: PulseError.self) { try QueryEncoder().items(from: value) }
        guard case .encodingFailed(EncodingError.invalidValue) = error else {
            Issue.record("not an invalid value: \(String(describing: error))")
            return
        }
    }

    @Test
    func anEmptyValueGivesNoItems() throws {
        struct Empty: Encodable {}
        #expect(try encode(Empty()) == "")
        #expect(try encode([String: Int]()) == "")
        #expect(try encode(Filter?.none) == "")
        #expect(try encode(["a": [Int]()]) == "")
    }

    @Test
    func anErrorOfTheValueIsWrapped() {
        struct Failure: Error {}
        struct Failing: Encodable {
            func encode(to encoder: any Encoder) throws { throw Failure() }
        }
        let error = #expect(throws: PulseError.self) { try QueryEncoder().items(from: ["a": Failing()]) }
        guard case .encodingFailed(underlying: is Failure) = error else {
            Issue.record("not wrapped: \(String(describing: error))")
            return
        }
    }

    @Test(arguments: [Double.nan, .infinity])
    func anInfiniteNumberIsAnErrorWithItsPath(number: Double) {
        let error = #expect(throws: PulseError.self) { try QueryEncoder().items(from: ["a": [1, number]]) }
        guard case .encodingFailed(EncodingError.invalidValue(_, let context)) = error else {
            Issue.record("not an invalid value: \(String(describing: error))")
            return
        }
        #expect(context.codingPath.map(\.stringValue) == ["a", "1"])
    }

    @Test
    func jsonValuesAreEncodedLikeOtherValues() throws {
        #expect(try encode(["b": [1, "x"], "a": ["k": true, "n": nil]] as JSONValue) == "a[k]=true&b=1&b=x")
    }
}

extension QueryEncoder {
    fileprivate static var commas: QueryEncoder {
        var options = Options()
        options.arrays = .comma
        return QueryEncoder(options: options)
    }

    /// Encodes itself endlessly, with or without a step of the coding path.
    private struct Endless: Encodable {
        var hasSteps: Bool

        private enum Key: CodingKey { case next }

        func encode(to encoder: any Encoder) throws {
            if hasSteps {
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(self, forKey: .next)
            } else {
                var container = encoder.singleValueContainer()
                try container.encode(self)
            }
        }
    }

    private static func nested(_ depth: Int) -> JSONValue {
        (0..<depth).reduce(1) { value, _ in ["a": value] }
    }

    @Test(arguments: [true, false])
    func aTooDeeplyNestedValueIsAnError(hasSteps: Bool) throws {
        let error = #expect(throws: PulseError.self) { try QueryEncoder().items(from: Endless(hasSteps: hasSteps)) }
        guard case .encodingFailed = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(try QueryEncoder().items(from: Self.nested(100)).count == 1)
        #expect(throws: PulseError.self) { try QueryEncoder().items(from: Self.nested(102)) }
        #expect(throws: PulseError.self) { try QueryEncoder().items(from: Self.nested(20_000)) }
    }

    #if DEBUG
    @Test
    func encodingTakesLinearTime() throws {
        func steps(_ count: Int) throws -> Int {
            let value = JSONValue.object(["a": .array(Array(repeating: Self.nested(50), count: count))])
            return try StepCount.taken { _ = try QueryEncoder().items(from: value) }
        }
        #expect(try steps(80) < 9 * steps(40) / 4)
    }
    #endif
}
