// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct HTTPHeadersTests {
    private let several: HTTPHeaders = [
        "Via": "a", "Accept": "text/html", "via": "b", "Set-Cookie": "a=1", "VIA": "c", "set-cookie": "b=2; HttpOnly",
    ]

    @Test
    func aFieldHasATypedName() {
        var headers: HTTPHeaders = ["content-type": "text/css", "ETag": "1"]
        #expect(headers[.contentType] == "text/css" && headers[.etag] == "1" && headers[.location] == nil)
        headers[.contentType] = "text/html"
        headers[.etag] = nil
        #expect(headers == ["Content-Type": "text/html"])
        #expect(headers[HTTPHeaders.Name("CONTENT-TYPE")] == "text/html")
        #expect(HTTPHeaders.Name("content-type") == .contentType)
        #expect(Set([HTTPHeaders.Name("content-type"), .contentType]).count == 1)
    }

    // MARK: Reading

    @Test
    @HeavyWork func headersKeepOrderSpellingAndRepetition() {
        #expect(several.map(\.name) == ["Via", "Accept", "via", "Set-Cookie", "VIA", "set-cookie"])
        #expect(several.values(for: "vIa") == ["a", "b", "c"])
        #expect(several.count == 6)
        #expect(several[2] == HTTPHeaders.Field(name: "via", value: "b"))
        #expect(several.last?.value == "b=2; HttpOnly")
    }

    @Test(arguments: [
        ("Via", "a, b, c"), ("via", "a, b, c"), ("ACCEPT", "text/html"), ("Set-Cookie", "a=1"), ("SET-COOKIE", "a=1"),
        ("Missing", nil), ("", nil), ("Vi", nil),
    ])
    @HeavyWork func linesOfANameAreJoinedExceptSetCookie(name: String, value: String?) {
        #expect(several[name] == value)
        #expect(several.contains(name) == (value != nil))
    }

    @Test
    @HeavyWork func namesAreComparedByASCIICaseOnly() {
        let headers: HTTPHeaders = ["\u{130}": "dotted", "K": "kelvin"]
        #expect(headers["i\u{307}"] == nil)
        #expect(headers["\u{212A}"] == nil)
        #expect(headers["k"] == "kelvin")
    }

    // MARK: Writing

    @Test
    @HeavyWork func settingAValueReplacesAllLinesAtTheFirstPosition() {
        var headers = several
        headers["via"] = "new"
        #expect(headers.map(\.name) == ["via", "Accept", "Set-Cookie", "set-cookie"])
        #expect(headers["Via"] == "new")
        headers["X-New"] = "1"
        #expect(headers.last == HTTPHeaders.Field(name: "X-New", value: "1"))
    }

    @Test
    @HeavyWork func settingTheLastOrOnlyFieldKeepsTheOthers() {
        var headers: HTTPHeaders = ["A": "1", "B": "2"]
        headers["b"] = "3"
        headers["a"] = "4"
        #expect(Array(headers) == [.init(name: "a", value: "4"), .init(name: "b", value: "3")])
    }

    @Test
    @HeavyWork func settingNilRemovesEveryLine() {
        var headers = several
        headers["SET-cookie"] = nil
        #expect(headers.values(for: "Set-Cookie").isEmpty)
        headers.remove("via")
        headers.remove("Missing")
        #expect(Array(headers) == [.accept("text/html")])
    }

    @Test
    @HeavyWork func addingAFieldKeepsExistingOnes() {
        var headers: HTTPHeaders = ["Vary": "Accept"]
        headers.add(name: "vary", value: "Origin")
        #expect(headers["Vary"] == "Accept, Origin")
    }

    // MARK: Dictionaries and literals

    @Test
    @HeavyWork func aDictionarySurvivesARoundTrip() {
        let dictionary = ["B": "2", "A": "1", "C": ""]
        let headers = HTTPHeaders(dictionary)
        #expect(headers.map(\.name) == ["A", "B", "C"])
        #expect(headers.dictionary == dictionary)
        #expect(several.dictionary == ["Via": "a, b, c", "Accept": "text/html", "Set-Cookie": "a=1"])
        #expect(HTTPHeaders().dictionary.isEmpty)
    }

    @Test
    @HeavyWork func theDictionaryAgreesWithTheSubscript() {
        var random = SplitMix64(seed: 0xD1C7)
        let letters = ["a", "A", "b", "B", "-", "x1", "\u{E9}", "e\u{301}"]
        var headers = HTTPHeaders()
        for line in 0..<2000 {
            let length = Int.random(in: 1...5, using: &random)
            let name = (0..<length).map { _ in letters[Int.random(in: letters.indices, using: &random)] }.joined()
            headers.add(name: name, value: "\(line)")
            if line % 100 == 0 { headers.add(name: ["Set-Cookie", "set-COOKIE"][line / 100 % 2], value: "\(line)") }
        }
        var plain: [String: String] = [:]
        var seen: Set<String> = []
        for field in headers where seen.insert(field.name.asciiLowercased).inserted {
            plain[field.name] = headers[field.name]
        }
        // Equal dictionaries may still differ in the bytes of their keys.
        #expect(headers.dictionary == plain)
        #expect(Set(headers.dictionary.keys.map { Array($0.utf8) }) == Set(plain.keys.map { Array($0.utf8) }))
    }

    /// A lookup for each name would take minutes.
    @Test
    @HeavyWork func theDictionaryTakesLinearTime() {
        let headers = HTTPHeaders((0..<100_000).map { HTTPHeaders.Field(name: "X-\($0)", value: "") })
        #expect(headers.dictionary.count == 100_000)
    }

    @Test
    @HeavyWork func literalsAndHelpersCreateTheirFields() {
        let headers: HTTPHeaders = [
            .authorization(bearer: "t"), .authorization(username: "Aladdin", password: "open sesame"), .accept("a/b"),
            .acceptLanguage("de"), .contentType("text/plain"), .userAgent("x/1"),
        ]
        #expect(
            headers.map { "\($0.name): \($0.value)" } == [
                "Authorization: Bearer t", "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Accept: a/b",
                "Accept-Language: de", "Content-Type: text/plain", "User-Agent: x/1",
            ])
        let umlaut = HTTPHeaders.Field.authorization(username: "test", password: "123\u{A3}")
        #expect(umlaut.value == "Basic dGVzdDoxMjPCow==")
    }

    @Test
    @HeavyWork func equalityAndHashIgnoreOnlyTheCaseOfNames() {
        let left: HTTPHeaders = ["Content-Type": "a/b", "X": "1"]
        let right: HTTPHeaders = ["content-TYPE": "a/b", "x": "1"]
        #expect(left == right)
        #expect(Set([left, right]).count == 1)
        #expect(left != ["Content-Type": "A/B", "X": "1"])
        #expect(left != ["X": "1", "Content-Type": "a/b"])
    }

    // MARK: Validation

    @Test
    @HeavyWork func controlCharactersButTabsAreRefusedInAValue() {
        for byte in UInt8(0)..<128 {
            let headers: HTTPHeaders = ["X-A": "b\(Character(Unicode.Scalar(byte)))c"]
            expectValidity(of: headers, byte >= 32 && byte != 127 || byte == 9, "byte \(byte)")
        }
        expectValidity(of: ["X-A": "a\r\nX-B: c"], false, "CR LF is one Character")
        expectValidity(of: ["X-A": "Gr\u{FC}\u{1F600}"], true, "obs-text")
        expectValidity(of: ["X-A": ""], true, "empty")
    }

    @Test
    @HeavyWork func nonTokenBytesAreRefusedInAName() {
        let token = Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
        for byte in UInt8(0)..<128 {
            let headers: HTTPHeaders = ["X\(Character(Unicode.Scalar(byte)))Y": "1"]
            expectValidity(of: headers, token.contains(byte), "byte \(byte)")
        }
        for name in ["", "X\r\nY", "\u{E9}", "X\u{301}", "\u{1F600}"] {
            expectValidity(of: [name: "1"], false, name.debugDescription)
        }
    }

    @Test
    @HeavyWork func aLongNameIsValidatedLikeAShortOne() {
        let name = String(repeating: "x", count: 10_240)
        expectValidity(of: [name: "1"], true, "10 KB")
        expectValidity(of: [name + " ": "1"], false, "10 KB and a space")
    }

    @Test
    @HeavyWork func aValidationErrorNamesTheHeaderAndNeverItsValue() throws {
        let headers: HTTPHeaders = ["X-Plain": "hunter2\r\n"]
        let error = #expect(throws: PulseError.self) { try headers.validate() }
        let text = "\(try #require(error))"
        #expect(text.contains("X-Plain"))
        #expect(!text.contains("hunter2"))
    }

    @Test
    @HeavyWork func textsMaskTheValuesOfSecretFields() {
        let headers: HTTPHeaders = [
            .authorization(bearer: "hunter2"), .accept("text/html"), .init(name: "set-cookie", value: "a=hunter2"),
            .init(name: "X-API-Key", value: "hunter2"),
            .init(name: "Location", value: "/x?access_token=hunter2&page=7"),
        ]
        let lines = headers.description.split(separator: "\n")
        #expect(lines.count == headers.count)
        #expect(lines[1] == "Accept: text/html")
        #expect(lines[2] == "set-cookie: \(Redaction.mask)")
        #expect(lines[4].contains("page=7"))
        for text in texts(of: headers) + texts(of: [headers]) { #expect(!text.contains("hunter2")) }
    }

    @Test func aPrintedFieldIsOneLineWithoutControls() {
        let headers: HTTPHeaders = [.init(name: "X-A", value: "a\u{1B}]0;x\rb\u{9B}\u{202E}"), .accept("text/html")]
        let line = #"X-A: a\u{1B}]0;x\rb\u{009B}\u{202E}"#
        #expect(headers.description == line + "\nAccept: text/html")
        #expect(headers.first.map { String(reflecting: $0) } == line)
    }

    private func expectValidity(
        of headers: HTTPHeaders, _ isValid: Bool, _ what: String, at location: SourceLocation = #_sourceLocation
    ) {
        let error: PulseError?
        do {
            try headers.validate()
            error = nil
        } catch let refusal {
            error = refusal as? PulseError
        }
        #expect(error?.kind == (isValid ? nil : .invalidRequest), "\(what)", sourceLocation: location)
    }

    @Test func aValueKeepsItsReceivedBytes() {
        let samples: [([UInt8], String)] = [
            ([0x61], "a"), ([0xE9], "\u{E9}"), ([0xC3, 0xA9], "\u{E9}"), ([0xC3, 0xA9, 0xE9], "\u{C3}\u{A9}\u{E9}"),
        ]
        for (bytes, value) in samples {
            var field = bytes.withUnsafeBytes { HTTPHeaders.Field(name: "A", octets: $0) }
            #expect(field.value == value)
            #expect(field.octets == bytes)
            #expect(HTTPHeaders([field]).octets(for: "a") == [bytes])
            field.value = "\u{E9}"
            #expect(field.octets == [0xC3, 0xA9])
        }
    }
}
