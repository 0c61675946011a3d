// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct PathTemplateTests {
    @Test(arguments: [
        ("/users/{id}/posts/{post}", ["id": "7", "post": "x"], "/users/7/posts/x"),
        ("/files/file-{name}.json", ["name": "a b/c"], "/files/file-a%20b%2Fc.json"),
        ("/plain", [:], "/plain"),
        ("", [:], ""),
        ("{a}", ["a": "1"], "1"),
        ("/{a}{b}", ["a": "1", "b": "2"], "/12"),
        ("/{id}/copy/{id}", ["id": "7"], "/7/copy/7"),
        ("/find?q={q}", ["q": "a&b=c d"], "/find?q=a%26b%3Dc%20d"),
        ("/find?q={q}", ["q": ".."], "/find?q=.."),
        ("/find?q={q}", ["q": ""], "/find?q="),
        ("/caf\u{E9} %2F/{a}", ["a": "\u{E9}"], "/caf\u{E9} %2F/%C3%A9"),
        ("/{a}", ["a": "%2e%2e"], "/%252e%252e"),
        ("/{a}", ["a": "..."], "/..."),
        ("/{a}", ["a": "a?b#c;d\r\n\u{0}"], "/a%3Fb%23c%3Bd%0D%0A%00"),
    ])
    @HeavyWork func eachPlaceholderBecomesOneEncodedSegment(template: String, values: [String: String], path: String)
        throws
    {
        #expect(try PathTemplate(template).expand(values) == path)
    }

    @Test
    @HeavyWork func anyValueWithADescriptionIsAccepted() throws {
        let template: PathTemplate = "/{int}/{uuid}/{text}"
        let uuid = UUID()
        let path = try template.expand(["int": 42, "uuid": uuid, "text": Substring("x")])
        #expect(path == "/42/\(uuid)/x")
    }

    @Test(arguments: [
        ("/users/{id}", [:]),
        ("/users/{id}", ["id": "1", "extra": "2"]),
        ("/users", ["id": "1"]),
        ("/users/{id}", ["id": ""]),
        ("/users/x{id}", ["id": ""]),
        ("/users/{id}?q={q}", ["id": "", "q": "?"]),
        ("/users/{id}", ["id": "."]),
        ("/users/{id}", ["id": ".."]),
        ("/users/{a}{b}/x", ["a": ".", "b": "."]),
        ("/users/.{a}?q=1", ["a": "."]),
        ("/users/%2e{a}", ["a": "."]),
        ("/files/{rest...}", ["rest": "a"]),
    ])
    @HeavyWork func valuesThatDoNotFitAreRefused(template: String, values: [String: String]) throws {
        let error = #expect(throws: PulseError.self) { try PathTemplate(template).expand(values) }
        guard case .invalidRequest = error else {
            Issue.record("not an invalid request: \(String(describing: error))")
            return
        }
    }

    @Test(arguments: ["/{id", "/id}", "/{a{b}}", "/{}", "/{...}", "/{a/b}", "/{a b}", "/}{", "/{rest...}/x", "{{a}"])
    @HeavyWork func anInvalidTemplateIsAnInvalidURL(template: String) throws {
        let error = #expect(throws: PulseError.self) { try PathTemplate(template).expand(["id": "1", "a": "1"]) }
        guard case .invalidURL = error else {
            Issue.record("not an invalid URL: \(String(describing: error))")
            return
        }
        #expect(PathTemplate(template).match("/x") == nil)
    }

    @Test
    @HeavyWork func anErrorNamesTheParameterAndNeverTheValue() {
        let secret = "s3cr3t"
        let error = #expect(throws: PulseError.self) {
            try PathTemplate("/a/{id}").expand(["id": "1", "token": secret])
        }
        guard case .invalidRequest(let reason) = error else {
            Issue.record("no error")
            return
        }
        #expect(reason.contains("token") && reason.contains("/a/{id}") && !reason.contains(secret))
    }

    @Test
    @HeavyWork func noValueEverAddsASegmentAQueryOrAFragment() throws {
        var generator = SplitMix64(seed: 2)
        let template: PathTemplate = "/a/{x}/b/pre-{y}.json"
        for _ in 0..<3_000 {
            let x = generator.hostileText(minimumLength: 1, maxLength: 12)
            let y = generator.hostileText(minimumLength: 1, maxLength: 12)
            guard x != ".", x != ".." else { continue }
            let path = try template.expand(["x": x, "y": y])
            #expect(path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).count == 5)
            #expect(path.utf8.allSatisfy(ASCIISet.path.union(ASCIISet("%")).contains))
            #expect(template.match(path) == ["x": x, "y": y])
        }
    }

    @Test(arguments: [
        ("/users/{id}", "/users/42", ["id": "42"]),
        ("users/{id}", "/users/42?a=1#f", ["id": "42"]),
        ("/users/{id}", "/us%65rs/a%2Fb%20c", ["id": "a/b c"]),
        ("/us%65rs/{id}?x={y}", "/users/1", ["id": "1"]),
        ("/f/{name}.json", "/f/a.json.json", ["name": "a.json"]),
        ("/{a}-{b}", "/1-2-3", ["a": "1", "b": "2-3"]),
        ("/{a}{b}", "/\u{E9}xy", ["a": "\u{E9}", "b": "xy"]),
        ("/{id}/x/{id}", "/1/x/1", ["id": "1"]),
        ("/files/{rest...}", "/files/a/b%20c/d", ["rest": "a/b c/d"]),
        ("/files/{rest...}", "/files/a//", ["rest": "a//"]),
        ("/files/{rest...}", "/files/", ["rest": ""]),
        ("/a/", "/a/", [:]),
        ("", "/", [:]),
    ])
    @HeavyWork func aMatchReturnsTheDecodedValues(template: String, path: String, values: [String: String]) {
        #expect(PathTemplate(template).match(path) == values)
    }

    @Test(arguments: [
        ("/users/{id}", "/users"), ("/users/{id}", "/users/"), ("/users/{id}", "/users/1/"),
        ("/users/{id}", "/users/1/posts"), ("/users/{id}", "/Users/1"), ("/users/{id}", "/users%2F1"),
        ("/users/{id}", "/users/%zz"), ("/users/{id}", "/users/%FF"), ("/a", "/a/"), ("/a/", "/a"),
        ("/f/{name}.json", "/f/.json"), ("/f/{name}.json", "/f/a.jso"), ("/{id}/x/{id}", "/1/x/2"),
        ("/files/{rest...}", "/files"), ("/files/{rest...}", "/other/a"), ("/caf\u{E9}", "/cafe%CC%81"),
    ])
    @HeavyWork func aDifferentPathDoesNotMatch(template: String, path: String) {
        #expect(PathTemplate(template).match(path) == nil)
    }

    @Test
    @HeavyWork func aCombiningMarkAfterASlashDoesNotHideTheSlash() {
        #expect(PathTemplate("/a/{x}").match("/a/\u{301}b") == ["x": "\u{301}b"])
        #expect(PathTemplate("/{x}").match("/a/\u{301}b") == nil)
    }

    @Test(arguments: [
        ("/{a}-{b}.json", "/x-y-z.json", ["a": "x", "b": "y-z"]),
        ("/{a}{b}-{c}", "/xy-z", ["a": "x", "b": "y", "c": "z"]),
        ("/{a}-{a}", "/x-x", ["a": "x"]), ("/{a}{a}", "/xx", ["a": "x"]),
        ("/{a}ab{b}", "/aabab", ["a": "a", "b": "ab"]),
        ("/{a}-{rest...}", "/x-y/z-", ["a": "x", "rest": "y/z-"]), ("/{a}/{a}-{b}", "/x-/x--y", ["a": "x-", "b": "y"]),
    ])
    func aPlaceholderEndsAtTheFirstOccurrenceOfTheTextAfterIt(template: String, path: String, values: [String: String])
    {
        #expect(PathTemplate(template).match(path) == values)
    }

    #if DEBUG
    @Test(arguments: ["a", "ab"])
    func matchingTakesLinearTime(unit: String) {
        func steps(_ count: Int) -> Int {
            let template = "/" + (0..<count).map { "{p\($0)}aab" }.joined() + "x"
            let path = "/" + String(repeating: unit, count: 8 * count) + "y"
            return StepCount.taken { #expect(PathTemplate(template).match(path) == nil) }
        }
        #expect(steps(200) < 9 * max(steps(100), 1) / 4 + 100)
        let long = PathTemplate("/{a}" + String(repeating: "a", count: 1000) + "b{c}z")
        #expect(StepCount.taken { _ = long.match("/" + String(repeating: "a", count: 20_000)) } < 50_000)
    }
    #endif
}
