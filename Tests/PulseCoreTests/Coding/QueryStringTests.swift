// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct QueryStringTests {
    static let hostile = [
        URLQueryItem(name: "a", value: "x y+z"),
        URLQueryItem(name: "a", value: "&=#?/"),
        URLQueryItem(name: "\"q\"\r\n", value: "%20%zz"),
        URLQueryItem(name: "\u{1F600}", value: "\u{0}"),
        URLQueryItem(name: "~*", value: ""),
        URLQueryItem(name: "bare", value: nil),
    ]

    @Test
    @HeavyWork func namesAndValuesAreEscapedInAQuery() {
        #expect(
            QueryEncoder.queryString(Self.hostile) == """
                a=x%20y%2Bz&a=%26%3D%23%3F%2F&%22q%22%0D%0A=%2520%25zz&%F0%9F%98%80=%00&~%2A=&bare
                """)
    }

    @Test
    @HeavyWork func namesAndValuesAreEscapedInAForm() {
        #expect(
            QueryEncoder.formString(Self.hostile) == """
                a=x+y%2Bz&a=%26%3D%23%3F%2F&%22q%22%0D%0A=%2520%25zz&%F0%9F%98%80=%00&%7E*=&bare
                """)
    }

    @Test
    @HeavyWork func noItemsGiveAnEmptyString() {
        #expect(QueryEncoder.queryString([]) == "")
        #expect(QueryEncoder.formString([]) == "")
    }

    @Test
    @HeavyWork func aParserReadsTheEncodedItems() {
        var generator = SplitMix64(seed: 3)
        for _ in 0..<1_000 {
            let items = (0..<Int.random(in: 0...5, using: &generator)).map { _ in
                URLQueryItem(
                    name: generator.hostileText(minimumLength: 1, maxLength: 12),
                    value: generator.hostileText(maxLength: 12))
            }
            #expect(parse(QueryEncoder.formString(items)) == items)
            #expect(parse(QueryEncoder.queryString(items)) == items)
        }
    }

    @Test
    @HeavyWork func aNameOfTenKilobytesSurvivesARoundTrip() {
        let items = [URLQueryItem(name: String(repeating: "&\u{E9} ", count: 2_500), value: "1")]
        #expect(parse(QueryEncoder.formString(items)) == items)
    }

    /// WHATWG URL, section 5.1, application/x-www-form-urlencoded parsing; written from the standard, not from the
    /// code.
    private func parse(_ form: String) -> [URLQueryItem] {
        form.utf8.split(separator: UInt8(ascii: "&")).map { sequence in
            let parts = sequence.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let texts = parts.map { part in
                var bytes: [UInt8] = []
                var rest = Array(part)[...]
                while let byte = rest.popFirst() {
                    if byte == UInt8(ascii: "%"), rest.count >= 2,
                        let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
                    {
                        bytes.append(value)
                        rest = rest.dropFirst(2)
                    } else {
                        bytes.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
                    }
                }
                return String(decoding: bytes, as: UTF8.self)
            }
            return URLQueryItem(name: texts[0], value: texts.count > 1 ? texts[1] : "")
        }
    }
}
