// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct PercentEncodingTests {
    static let everyByte = String(String.UnicodeScalarView((0..<0x80).map { Unicode.Scalar(UInt8($0)) }))

    @Test(arguments: [
        ("/users/42", "/users/42"),
        ("/a b", "/a%20b"),
        ("/caf\u{E9}", "/caf%C3%A9"),
        ("/%2F%2f", "/%2F%2f"),
        ("/100%", "/100%25"),
        ("/%zz/%4", "/%25zz/%254"),
        ("/a;b=c,d!$&'()*+:@-._~", "/a;b=c,d!$&'()*+:@-._~"),
        ("/?#[]", "/%3F%23%5B%5D"),
        ("/\r\n\u{0}\"<>\\^`{|}\u{7F}", "/%0D%0A%00%22%3C%3E%5C%5E%60%7B%7C%7D%7F"),
        ("/\u{1F600}", "/%F0%9F%98%80"),
        ("", ""),
    ])
    @HeavyWork func pathEncodingKeepsEscapesAndLegalCharacters(text: String, encoded: String) {
        #expect(PercentEncoding.path(text) == encoded)
    }

    @Test(arguments: [
        ("a/b?c#d", "a%2Fb%3Fc%23d"),
        ("%41", "%2541"),
        ("..", ".."),
        ("a;v=1@x:y", "a%3Bv%3D1%40x%3Ay"),
        ("AZaz09-._~", "AZaz09-._~"),
    ])
    @HeavyWork func segmentEncodingKeepsOnlyUnreserved(text: String, encoded: String) {
        #expect(PercentEncoding.segment(text) == encoded)
    }

    @Test(arguments: [
        ("a+b c", "a%2Bb%20c", "a%2Bb+c"),
        ("a&b=c", "a%26b%3Dc", "a%26b%3Dc"),
        ("~*-._", "~%2A-._", "%7E*-._"),
        ("%20", "%2520", "%2520"),
        ("\u{E9}", "%C3%A9", "%C3%A9"),
        ("\r\n", "%0D%0A", "%0D%0A"),
    ])
    @HeavyWork func queryAndFormEncodingDiffer(text: String, query: String, form: String) {
        #expect(PercentEncoding.query(text) == query)
        #expect(PercentEncoding.form(text) == form)
    }

    @Test
    @HeavyWork func queryTextKeepsItsDelimiters() {
        #expect(PercentEncoding.queryText("a=1&b=x+y%20z&c=/?:@") == "a=1&b=x+y%20z&c=/?:@")
        #expect(PercentEncoding.queryText("f[a]=\"b c\"&p=50%") == "f%5Ba%5D=%22b%20c%22&p=50%25")
    }

    @Test
    @HeavyWork func everyASCIICharacterSurvivesARoundTrip() throws {
        let rules: [(String) -> String] = [
            PercentEncoding.path, PercentEncoding.segment, PercentEncoding.query, PercentEncoding.queryText,
        ]
        for encode in rules {
            for scalar in Self.everyByte.unicodeScalars where scalar != "%" {
                let encoded = encode(String(scalar))
                #expect(encoded == String(scalar) || encoded.utf8.count == 3)
                #expect(PercentEncoding.decode(encoded) == String(scalar))
            }
        }
    }

    @Test
    @HeavyWork func randomTextSurvivesARoundTrip() {
        var generator = SplitMix64(seed: 1)
        for _ in 0..<2_000 {
            let text = generator.hostileText(maxLength: 40)
            #expect(PercentEncoding.decode(PercentEncoding.segment(text)) == text)
            #expect(PercentEncoding.decode(PercentEncoding.query(text)) == text)
            let form = PercentEncoding.form(text).replacingOccurrences(of: "+", with: "%20")
            #expect(PercentEncoding.decode(form) == text)
            let path = PercentEncoding.path(text)
            #expect(PercentEncoding.path(path) == path, "encoding a path twice changes nothing")
        }
    }

    @Test(arguments: ["%", "%4", "a%4", "%zz", "%C3", "%FF", "%ED%A0%80", "%C0%AF"])
    @HeavyWork func malformedEscapesAreNotDecoded(text: String) {
        #expect(PercentEncoding.decode(text) == nil)
    }

    @Test
    @HeavyWork func decodingKeepsNUL() {
        #expect(PercentEncoding.decode("a%00b") == "a\u{0}b")
    }

    @Test(arguments: [".", "..", "/a/./b", "/a/..", "/%2e/", "/%2E%2e", "/.%2e/a", "%2E./a", "/%/../a", "/a/%2e%2E"])
    @HeavyWork func dotSegmentsAreDetectedInEverySpelling(path: String) {
        #expect(PercentEncoding.containsDotSegment(path))
    }

    @Test(arguments: ["", "/", "/...", "/a.b", "/.a", "/a..", "/%2ea", "/%252e", "/..%2f", "/%2e%2e%2e", "/%2", "//"])
    @HeavyWork func otherSegmentsWithDotsAreNotDotSegments(path: String) {
        #expect(!PercentEncoding.containsDotSegment(path))
    }
}
