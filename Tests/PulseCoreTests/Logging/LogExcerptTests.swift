// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct LogExcerptTests {
    struct Sample: Sendable {
        let type: String?
        let text: String
    }

    /// A secret of letters and digits in every syntax, next to text that is not secret.
    private static let secret = "s3cr3tV4lu3"
    private static let samples = [
        Sample(type: "application/json", text: #"{"user":"ada","password":"s3cr3tV4lu3","note":"é\u00e9","page":1}"#),
        Sample(type: "application/json", text: #"{"a":[1,{"\u0074oken":{"x":["s3cr3tV4lu3","s3cr3tV4lu3"]}}],"b":2}"#),
        Sample(
            type: nil, text: #"{"inner":"{\"token\":\"s3cr3tV4lu3\",\"c\":1}","url":"https:\/\/u:s3cr3tV4lu3@h\/"}"#),
        Sample(
            type: "application/json",
            text: #"{"body":"{\u0022user\u0022:\u0022ada\u0022,\u0022password\u0022:\u0022s3cr3tV4lu3\u0022}","b":2}"#),
        Sample(type: "application/x-www-form-urlencoded", text: "user=ada&%70assword=s3cr3tV4lu3&next=%2Fa&b=2"),
        Sample(
            type: "application/x-www-form-urlencoded",
            text: "user=ada&next=https%3A%2F%2Fada%3As3cr3tV4lu3%40h.example%2F&b=2"),
        Sample(
            type: "multipart/form-data; boundary=b",
            text: "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nada\r\n--b\r\n"
                + "Content-Disposition: form-data; name=\"password\"\r\n\r\ns3cr3tV4lu3\r\n--b--\r\n"),
        Sample(type: "text/plain", text: "see https://ada:s3cr3tV4lu3@h.example/p and Basic YTpzM2NyM3RWNGx1Mw== so"),
        Sample(type: "text/plain", text: "Cookie: a=s3cr3tV4lu3; b=c\nX: y\nauthorization: bearer s3cr3tV4lu3\n"),
        Sample(type: "text/xml", text: "<a>1</a><Password type=\"x\">s3cr3tV4lu3</Password><b>2</b>"),
        Sample(type: "text/xml", text: "<a>&lt;Password a=&quot;1&quot;&gt;s3cr3tV4lu3&lt;/Password&gt;&lt;b&gt;2</a>"),
        Sample(type: "text/html", text: "<a b='{&quot;x&quot;:1,&quot;password&quot;:&quot;s3cr3tV4lu3&quot;}'>c</a>"),
        Sample(type: "text/plain", text: "jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJzM2NyM3QifQ.s3cr3tV4lu3 end"),
    ]

    /// Whether the text shows a piece of the secret that cannot be there by accident.
    private static func shows(_ text: String) -> Bool {
        ["s3cr", "cr3t", "tV4l", "YTpzM2", "eyJzdWI"].contains { text.contains($0) }
    }

    @Test(arguments: samples)
    func aCutNeverRevealsASecretAcrossIt(sample: Sample) {
        let data = Data(sample.text.utf8)
        for limit in 0...(data.count + 1) {
            let shown = LogExcerpt(.standard, limit: limit).body(data, contentType: sample.type)
            #expect(!Self.shows(shown), "\(limit): \(shown)")
        }
    }

    @Test(arguments: samples)
    func aSecretAtTheEndOfTheWindowIsNeverRevealed(sample: Sample) {
        // The window ends at each byte of the sample once.
        for padding in 0...sample.text.utf8.count {
            let data = Data(sample.text.utf8)
            for (limit, lookahead) in [(padding, 40), (max(0, padding - 40), 64)] {
                let excerpt = LogExcerpt(.standard, limit: limit, lookahead: lookahead)
                let shown = excerpt.body(data, contentType: sample.type)
                #expect(!Self.shows(shown), "\(limit), \(lookahead): \(shown)")
            }
        }
    }

    @Test func aSecretAfterLongMaskedSecretsIsNeverRevealed() {
        for length in 0...200 {
            let text =
                "password=" + String(repeating: "x", count: length)
                + " see https://ada:s3cr3tV4lu3@h.example/ and basic s3cr3tValue and eyJhbGciOiJ9.eyJzdWIiOiJzM2NyM3QifQ.s3c"
            for body in [text, "{\"note\": \"\(text)\"}"] {
                let shown = LogExcerpt(.standard, limit: 60, lookahead: 64).body(Data(body.utf8), contentType: nil)
                #expect(!Self.shows(shown), "\(length): \(shown)")
            }
        }
    }

    @Test func aSecretInNestedJSONOfALongBodyIsNeverRevealed() {
        let start = #"{"body":"{\u0022user\u0022:\u0022ada\u0022,\u0022password\u0022:\u0022s3cr3tV4lu3\u0022,"#
        let text = start + #"\u0022note\u0022:\u0022"# + String(repeating: "0123456789 ", count: 3000) + #"\u0022}"}"#
        let shown = LogExcerpt(.standard, limit: 4096).body(Data(text.utf8), contentType: "application/json")
        let masked = start.replacingOccurrences(of: Self.secret, with: Redaction.mask)
        #expect(shown.hasPrefix(masked + #"\u0022note\u0022:\u00220123456789 "#))
    }

    @Test func anExcerptIsNeverCutWithinAScalar() {
        let text = "é€😀" + String(repeating: "é€😀", count: 20)
        for limit in 1...text.utf8.count {
            for lookahead in [0, 1, 2, 3, 5, 1000] {
                let excerpt = LogExcerpt(.standard, limit: limit, lookahead: lookahead)
                for type in [nil, "text/plain"] {
                    let shown = excerpt.body(Data(text.utf8), contentType: type)
                    #expect(!shown.contains("\u{FFFD}"), "\(limit)")
                    #expect(!shown.hasPrefix("<"), "\(limit): \(shown)")
                }
            }
        }
    }

    @Test func anExcerptStatesTheTotalSize() {
        let excerpt = LogExcerpt(.standard, limit: 4)
        #expect(excerpt.body(Data("abcd".utf8), contentType: nil) == "abcd")
        #expect(excerpt.body(Data("abcde".utf8), contentType: nil) == "abcd… (5 bytes in all)")
        #expect(excerpt.body(Data([0, 1]), contentType: "image/png") == "<2 bytes of image/png>")
        #expect(excerpt.body(Data([0]), contentType: nil) == "<1 byte>")
        #expect(excerpt.body(Data([0]), contentType: "a/b\u{1B}[2K\n") == "<1 byte of a/b\\u{1B}[2K\\n>")
        #expect(LogExcerpt(.standard, limit: 0).body(Data("abcd".utf8), contentType: "a/b") == "<4 bytes of a/b>")
        #expect(LogExcerpt(.standard, limit: -1).body(Data("abcd".utf8), contentType: nil) == "<4 bytes>")
        #expect(LogExcerpt(.standard, limit: .max).body(Data("abcd".utf8), contentType: nil) == "abcd")
    }

    @Test func aCompressedBodyIsNotText() {
        let excerpt = LogExcerpt(.standard, limit: 100)
        let data = Data("abc".utf8)
        #expect(excerpt.body(data, contentType: "text/plain", contentEncoding: "gzip") == "<3 bytes of text/plain>")
        #expect(excerpt.body(data, contentType: "text/plain", contentEncoding: "identity") == "abc")
    }

    @Test func aCutHostileHeaderRevealsNoSecret() {
        let excerpt = LogExcerpt(.standard, limit: 100)
        let long = String(repeating: "x", count: 1 << 20)
        let shown = excerpt.headerValue(long, for: "X-Long")
        #expect(shown == String(repeating: "x", count: 100) + "… (1048576 bytes in all)")
        #expect(excerpt.headerValue(long, for: "X-Token") == Redaction.mask)
        #expect(excerpt.headerValue("a\u{1B}[2K\u{7}\tb", for: "X") == "a\\u{1B}[2K\\u{07}\\tb")
        for length in 60...140 {
            let url = "https://h/" + String(repeating: "y", count: length) + "?x=//ada:s3cr3tV4lu3@h/&token=s3cr3tV4lu3"
            #expect(!Self.shows(excerpt.headerValue(url, for: "Location")))
        }
    }

    @Test func onlyABoundedPartOfALargeBodyIsScanned() {
        let text = "token=s3cr3tV4lu3 " + String(repeating: "0123456789 ", count: 400_000)
        let shown = LogExcerpt(.standard, limit: 40).body(Data(text.utf8), contentType: "text/plain")
        #expect(shown == "token=***REDACTED*** 0123456789 01234567… (\(text.utf8.count) bytes in all)")
        // A secret larger than the window leaves nothing to show after its name.
        let large = #"{"a":1,"token":""# + String(repeating: "s3cr3tV4lu3", count: 100_000) + #"","b":2}"#
        let masked = LogExcerpt(.standard, limit: 4096).body(Data(large.utf8), contentType: "application/json")
        #expect(!Self.shows(masked))
        #expect(masked.hasPrefix(#"{"a":1,"token":"#))
    }
}
