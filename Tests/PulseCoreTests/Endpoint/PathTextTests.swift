// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct PathTextTests {
    private enum Order: String {
        case newest
        case oldestFirst = "oldest first"
    }

    private struct Team: RawRepresentable, CustomStringConvertible {
        let rawValue: Int
        var description: String { "team-\(rawValue)" }
    }

    /// Makes its argument a literal path.
    private func text(_ path: PathText) throws -> String { try path.text }

    @Test
    func eachInterpolationIsOneEncodedSegment() throws {
        let (id, name, uuid) = (7, "a/b?c#d ;é", UUID())
        #expect(try text("/users/\(id)/repos/\(name)") == "/users/7/repos/a%2Fb%3Fc%23d%20%3B%C3%A9")
        #expect(try text("/files/file-\(uuid).json") == "/files/file-\(uuid.uuidString).json")
        #expect(try text("/plain/%20") == "/plain/%20")
    }

    @Test
    func aValueIsItsDescriptionOrItsRawValue() throws {
        #expect(try text("/\(true)/\(1.5)/\(Substring("s"))/\(Character("c"))") == "/true/1.5/s/c")
        #expect(try text("/\(Order.newest)/\(Order.oldestFirst)") == "/newest/oldest%20first")
        #expect(try text("/\(Team(rawValue: 7))") == "/team-7")
    }

    /// Both forms follow the same rules.
    @Test(arguments: ["a", "a/b", "..", ".", "", "%2e%2e", "a b", "\u{301}", "?", "&", "="])
    func aPathTextAcceptsAndRefusesTheSameValuesAsATemplate(value: String) {
        let texts = [Result { try text("/a/\(value)/b") }, Result { try text("/a?b=\(value)&c") }]
        let templates = ["/a/{x}/b", "/a?b={x}&c"].map { template in
            Result { try PathTemplate(template).expand(["x": value]) }
        }
        #expect(texts.map { try? $0.get() } == templates.map { try? $0.get() })
        #expect(texts.map(\.failureKind) == templates.map(\.failureKind))
    }

    @Test
    func aValueOfTheQueryIsEncodedAndMayBeEmpty() throws {
        let (query, none) = ("a&b=c+d/?", "")
        #expect(try text("/search?q=\(query)&page=\(2)") == "/search?q=a%26b%3Dc%2Bd%2F%3F&page=2")
        #expect(try text("/search?q=\(none)") == "/search?q=")
        #expect(throws: PulseError.self) { try text("/search/\(none)?q=\(query)") }
    }

    @Test
    func anEmptyValueIsAnErrorOnlyIfItsSegmentIsEmpty() throws {
        let (none, part) = ("", "x")
        #expect(try text("/report\(none).pdf") == "/report.pdf")
        #expect(try text("/users/x\(none)") == "/users/x")
        #expect(try text("/\(none)\(part)/\(part)\(none)/\(none)x?\(none)") == "/x/x/x?")
        #expect(try text("/a/\(none)\(segments: ["b", "c"])") == "/a/b/c")
        let first: [PathText] = ["\(none)/c", "https://\(none)/c"]
        let second: [PathText] = [
            "/\(part)/\(none)", "/\(part)/\(none)/c", "/\(part)/\(none)?d", "/\(part)/\(none)\(none)/c",
            "/\(part)/\(none)\(raw: "/c")", "/\(part)/\(segments: [none])",
        ]
        for (paths, reason) in [(first, "value 1 is empty"), (second, "value 2 is empty")] {
            for path in paths {
                let error = #expect(throws: PulseError.self) { try path.text }
                #expect(error.map { "\($0)" }?.contains(reason) == true)
            }
        }
        // Nothing between two dots leaves a dot segment.
        #expect(throws: PulseError.self) { try text("/a/.\(none)./b") }
    }

    @Test(arguments: ["", ".", ".."])
    func anErrorNamesThePositionAndNeverTheValue(value: String) {
        let secret = "t0p-s3cret"
        let error = #expect(throws: PulseError.self) { try text("/a/\(secret)/\(value)/b?c=\(secret)") }
        #expect(error?.kind == .invalidRequest)
        let message = error.map { "\($0)" } ?? ""
        #expect(message.contains("/a/{id}/{id}/b: ") && !message.contains("t0p"))
        #expect(message.contains(value.isEmpty ? "value 2 is empty" : "dot segment"))
    }

    @Test
    func valuesThatTogetherMakeADotSegmentAreRefused() {
        let dot = "."
        #expect(throws: PulseError.self) { try text("/a/\(dot)\(dot)/b") }
        #expect(throws: PulseError.self) { try text("/a/.\(dot)") }
        #expect(throws: PulseError.self) { try text("/a/%2e\(dot)") }
        // After the question mark it is not a segment.
        #expect((try? text("/a?b=/\(dot)\(dot)/")) == "/a?b=/../")
    }

    // MARK: More than a segment

    @Test
    func segmentsAreEncodedOneByOne() throws {
        let folders = ["tea & co", "a/b", "2024"]
        #expect(try text("/files/\(segments: folders)/last") == "/files/tea%20%26%20co/a%2Fb/2024/last")
        #expect(try text("/files/\(segments: 1...3)") == "/files/1/2/3")
        for refused in [[], ["a", ""], ["a", "..", "b"]] {
            #expect(throws: PulseError.self) { try text("/files/\(segments: refused)") }
        }
    }

    @Test
    func rawTextAndAnotherPathStayAsTheyAre() throws {
        let (root, id): (PathText, String) = ("/v2/teams/\("a/b")", "c d")
        #expect(try text("\(root)/users/\(id)") == "/v2/teams/a%2Fb/users/c%20d")
        let rest = "a/b%20c?d=e&f"
        #expect(try text("/users/\(raw: rest)=\(id)") == "/users/a/b%20c?d=e&f=c%20d")
        let (dots, empty): (String, PathText) = ("a/../b", "/v2/\("")")
        #expect(throws: PulseError.self) { try text("/users/\(raw: dots)") }
        #expect(throws: PulseError.self) { try text("\(empty)/users") }
    }

    @Test
    func aURLIsTheStartOfAPathOrAValue() throws {
        let target = try url("https://h.example:8443/v1")
        #expect(try text("\(target)/users/\("a/b")") == "https://h.example:8443/v1/users/a%2Fb")
        #expect(try text("/links/\(target)") == "/links/https%3A%2F%2Fh.example%3A8443%2Fv1")
        let base = target.absoluteString
        let error = #expect(throws: PulseError.self) { try text("\(base)/users") }
        #expect(error.map { "\($0)" }?.contains(#"\(raw: value)"#) == true)
        #expect(try text("\(raw: base)/users") == "https://h.example:8443/v1/users")
    }

    @Test
    func aHostWithAPortIsAnErrorThatTellsWhatToWrite() throws {
        let (host, hostAndPort) = ("h.example", "h.example:8443")
        let error = #expect(throws: PulseError.self) { try text("https://\(hostAndPort)/v1") }
        let message = error.map { "\($0)" } ?? ""
        #expect(message.contains("value 1 is a host with a port") && message.contains(#"\(raw: value)"#))
        #expect(!message.contains("8443"))
        #expect(try text("https://\(raw: hostAndPort)/v1") == "https://h.example:8443/v1")
        #expect(try text("https://\(host):\(8443)/v1") == "https://h.example:8443/v1")
        #expect(try text("/proxy/http://\(hostAndPort)") == "/proxy/http://h.example%3A8443")
        #expect(try text("login?to=http://\(hostAndPort)") == "login?to=http://h.example%3A8443")
    }

    // MARK: Placeholders

    @Test
    func aPlaceholderOfALiteralNeedsAValue() throws {
        let path: PathText = "/users/{id}"
        #expect(throws: PulseError.self) { try path.text }
        #expect(try path.filled(with: ["id": "a/b"]).text == "/users/a%2Fb")
        // In a query a brace may be a part of a filter.
        #expect(try text(#"/users?filter={"a":1}"#) == #"/users?filter={"a":1}"#)
        #expect(try PathText(String("/users/{id}")).text == "/users/{id}")
        #expect(throws: PulseError.self) { try PathText(PathTemplate("/users?a={a}")).text }
    }

    @Test
    func interpolationsAndPlaceholdersDoNotMix() {
        let secret = "t0p-s3cret"
        let path: PathText = "/users/\(secret)/{id}"
        for values in [[:], ["id": "7"]] {
            let error = #expect(throws: PulseError.self) { try path.filled(with: values) }
            #expect(error?.kind == .invalidRequest)
            #expect(error.map { "\($0)" }?.contains("t0p") == false)
        }
    }

    // MARK: Texts

    @Test
    func theRouteHasAPlaceholderForEachInterpolation() {
        func route(_ path: PathText) -> String { path.route(.get, hasValues: false) }
        #expect(route("/users/\("ada")/repos/\("engine")?page=\(2)") == "GET /users/{id}/repos/{id}")
        #expect(route("/reports/2024/\("ada")") == "GET /reports/2024/{id}")
        #expect(route("/files/\(segments: ["a", "b"])/\(raw: "c/7")") == "GET /files/{id}/c/{id}")
        #expect(route("/users/7") == "GET /users/{id}")
        // With an interpolation anywhere, the numbers of the literal are no values.
        #expect(route("/reports/2024?day=\(3)") == "GET /reports/2024")
    }

    @Test
    func pathsAreEqualIfTheirTextsAre() {
        let (literal, path): (PathText, PathText) = ("/users/7", "/users/\(7)")
        #expect(literal == path && path == PathText(String("/users/7")))
        #expect(Set([literal, path]).count == 1)
        let (empty, other): (PathText, PathText) = ("/users/\("")", "/users/")
        #expect(empty != other)
    }

    @Test
    func theDescriptionShowsNoQuery() {
        let (path, refused): (PathText, PathText) = ("https://bob@h.example/users/\(7)?token=\("s3cret")", "/a/\("")")
        #expect("\(path)" == "/users/7")
        #expect("\(refused)".contains("value 1 is empty"))
    }

    @Test
    func aValueThatWasAPartOfThePathIsWarnedOf() {
        let (slash, mark, pair) = ("s3cret/b", "s3cret?b", "s3cret=b")
        let warned: [PathText] = ["/a/\(slash)", "/a/\(1)/\(mark)", "/a?\(pair)", "/a?b=c&\(pair)"]
        for warning in warned.map(\.warning) {
            #expect(warning?.contains("path /a") == true && warning?.contains("s3cret") == false)
        }
        #expect(warned[1].warning?.contains("value 2 ") == true)
        let quiet: [PathText] = [
            "/a/\(pair)", "/a?b=\(slash)", "/a?b=\(pair)", "/a/\(raw: slash)", "/a/\(segments: [slash])",
            "/a b/\("c d")",
        ]
        #expect(quiet.allSatisfy { $0.warning == nil })
    }
}

// MARK: - Mistakes

private struct Plain: Sendable {
    let id: Int
}

/// The compiler warns of each of these, but not of a call through a protocol.
private protocol Mistakes {
    static func optional(_ id: Int?) -> PathText
    static func date(_ date: Date) -> PathText
    static func array(_ values: [Int]) -> PathText
    static func set(_ values: Set<String>) -> PathText
    static func dictionary(_ values: [String: Int]) -> PathText
    static func range(_ range: Range<Int>) -> PathText
    static func closedRange(_ range: ClosedRange<Int>) -> PathText
    static func data(_ data: Data) -> PathText
    static func plain(_ value: Plain) -> PathText
    static func existential(_ value: any CustomStringConvertible) -> PathText
}

private enum DeprecatedPaths: Mistakes {
    @available(*, deprecated)
    static func optional(_ id: Int?) -> PathText { "/users/\(id)" }

    @available(*, deprecated)
    static func date(_ date: Date) -> PathText { "/reports/\(date)" }

    @available(*, deprecated)
    static func array(_ values: [Int]) -> PathText { "/values/\(values)" }

    @available(*, deprecated)
    static func set(_ values: Set<String>) -> PathText { "/values/\(values)" }

    @available(*, deprecated)
    static func dictionary(_ values: [String: Int]) -> PathText { "/values/\(values)" }

    @available(*, deprecated)
    static func range(_ range: Range<Int>) -> PathText { "/values/\(range)" }

    @available(*, deprecated)
    static func closedRange(_ range: ClosedRange<Int>) -> PathText { "/values/\(range)" }

    @available(*, deprecated)
    static func data(_ data: Data) -> PathText { "/values/\(data)" }

    @available(*, deprecated)
    static func plain(_ value: Plain) -> PathText { "/values/\(value)" }

    @available(*, deprecated)
    static func existential(_ value: any CustomStringConvertible) -> PathText { "/values/\(value)" }
}

extension PathTextTests {
    @Test
    func optionalsDatesCollectionsBytesAndValuesWithoutATextAreRefused() {
        let mistakes: any Mistakes.Type = DeprecatedPaths.self
        for (path, reason) in [
            (mistakes.optional(7), "is an optional"), (mistakes.optional(nil), "is an optional"),
            (mistakes.date(Date(timeIntervalSince1970: 0)), "is a date"),
            (mistakes.array([7, 8]), "has several parts"), (mistakes.set(["a"]), "has several parts"),
            (mistakes.dictionary(["a": 7]), "has several parts"), (mistakes.range(1..<2), "has several parts"),
            (mistakes.closedRange(1...2), "has several parts"), (mistakes.data(Data([7])), "is bytes"),
            (mistakes.plain(Plain(id: 7)), "is of type Plain"),
        ] {
            let error = #expect(throws: PulseError.self) { try path.text }
            #expect(error?.kind == .invalidRequest)
            #expect(error.map { "\($0)" }?.contains("{id}: value 1 \(reason)") == true)
        }
    }

    @Test
    func anExistentialIsItsDescription() throws {
        let mistakes: any Mistakes.Type = DeprecatedPaths.self
        #expect(try mistakes.existential("a/b").text == "/values/a%2Fb")
    }
}

extension Result where Success == String, Failure == any Error {
    fileprivate var failureKind: PulseError.Kind? {
        guard case .failure(let error) = self else { return nil }
        return (error as? PulseError)?.kind
    }
}
