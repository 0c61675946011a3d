// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseObservability

/// Known deviations of browsers and proxies from HAR 1.2, and how they are read.
@Suite(.throttled)
struct HARReadingTests {
    struct Deviation: Sendable, CustomTestStringConvertible {
        /// The program that writes it, and the deviation.
        let name: String
        var entry: String?
        var request = #"{"method": "GET", "url": "https://h.example/"}"#
        var response = #"{"status": 200}"#
        var warnings: [String] = []
        /// Whether it was read as expected.
        let isRead: @Sendable (HARDocument.Entry) -> Bool

        var testDescription: String { name }

        var text: String {
            let entry = entry ?? #"{"request": \#(request), "response": \#(response)}"#
            return #"{"log": {"version": "1.2", "creator": {"name": "n", "version": "1"}, "entries": [\#(entry)]}}"#
        }
    }

    private static func headers(_ text: String) -> String { #"{"status": 200, "headers": \#(text)}"# }

    private static func post(_ data: String) -> String {
        #"{"method": "POST", "url": "https://h.example/", "postData": \#(data)}"#
    }

    private static func field(_ name: String, _ value: String) -> HARDocument.Field {
        HARDocument.Field(name: name, value: value)
    }

    private static let noValue = "a header, cookie or query item has no value"

    static let headerDeviations: [Deviation] = [
        Deviation(
            name: "browsertime and older Firefox: several Set-Cookie in one value, a line break between them",
            response: headers(#"[{"name": "Set-Cookie", "value": "a=1; Path=/\nb=2"}]"#)
        ) { $0.response.headers == [field("Set-Cookie", "a=1; Path=/"), field("Set-Cookie", "b=2")] },
        Deviation(
            name: "Windows proxies: the same with CR and LF, and any other header",
            response: headers(#"[{"name": "Via", "value": "1.1 a\r\n1.1 b\r\n"}]"#)
        ) { $0.response.headers == [field("Via", "1.1 a"), field("Via", "1.1 b")] },
        Deviation(
            name: "a folded header is one",
            response: headers(#"[{"name": "X-Long", "value": "a\r\n  b"}]"#)
        ) { $0.response.headers == [field("X-Long", "a b")] },
        Deviation(
            name: "Fiddler: a header with the value null", response: headers(#"[{"name": "X-A", "value": null}]"#),
            warnings: [noValue]
        ) { $0.response.headers == [field("X-A", "")] },
        Deviation(
            name: "Firefox: a header without a value", response: headers(#"[{"name": "X-A"}, {"name": "X-B"}]"#),
            warnings: [noValue]
        ) { $0.response.headers == [field("X-A", ""), field("X-B", "")] },
        Deviation(
            name: "Slack: headers as pairs", response: headers(#"[["X-A", "1"], ["X-B", "2"]]"#),
            warnings: ["a name and a value are a list"]
        ) { $0.response.headers == [field("X-A", "1"), field("X-B", "2")] },
        Deviation(
            name: "scripts: headers as an object", response: headers(#"{"X-B": 2, "X-A": "1", "X-C": null}"#),
            warnings: ["headers is an object"]
        ) { $0.response.headers == [field("X-A", "1"), field("X-B", "2"), field("X-C", "")] },
        Deviation(
            name: "scripts: a number as a value", response: headers(#"[{"name": "Content-Length", "value": 12}]"#),
            warnings: ["value is not a text"]
        ) { $0.response.headers == [field("Content-Length", "12")] },
        Deviation(
            name: "a header without a name", response: headers(#"[{"value": "1"}, {"name": "X-A", "value": "1"}]"#),
            warnings: ["an element of headers cannot be read"]
        ) { $0.response.headers == [field("X-A", "1")] },
        Deviation(name: "Safari: headers null", response: headers("null")) { $0.response.headers == nil },
        Deviation(name: "headers as a number", response: headers("7"), warnings: ["headers is not a list"]) {
            $0.response.headers == nil && $0.response.status == 200
        },
        Deviation(
            name: "Firefox: a cookie without a value",
            response: #"{"status": 200, "cookies": [{"name": "a"}, {"name": "b", "value": null}]}"#, warnings: [noValue]
        ) { $0.response.cookies == [field("a", ""), field("b", "")] },
        Deviation(
            name: "Insomnia: cookies left out, query null",
            request: #"{"method": "GET", "url": "https://h.example/", "queryString": null}"#
        ) { $0.request.cookies == nil && $0.request.queryString == nil },
        Deviation(
            name: "a query item without a value",
            request: #"{"method": "GET", "url": "https://h.example/?a", "queryString": [{"name": "a"}]}"#,
            warnings: [noValue]
        ) { $0.request.queryString == [field("a", "")] },
    ]

    static let sizeDeviations: [Deviation] = [
        Deviation(
            name: "Charles and Safari: fractional sizes",
            response: #"{"status": 200, "bodySize": 12.5, "content": {"size": 3.9, "text": "abc"}}"#,
            warnings: ["size is not a whole number", "bodySize is not a whole number"]
        ) { $0.response.bodySize == 12 && $0.response.content?.size == 3 },
        Deviation(
            name: "Firefox: content size null", response: #"{"status": 200, "content": {"size": null, "text": "a"}}"#
        ) { $0.response.content?.size == nil && $0.response.content?.text == "a" },
        Deviation(
            name: "a size as a text", response: #"{"status": 200, "bodySize": "12"}"#,
            warnings: ["bodySize is not a number"]
        ) { $0.response.bodySize == 12 },
        Deviation(
            name: "a size out of range", response: #"{"status": 200, "bodySize": 1e300}"#,
            warnings: ["bodySize is not a whole number"]
        ) { $0.response.bodySize == .max },
        Deviation(
            name: "Chrome: times null",
            entry: #"""
                {"request": {"method": "GET", "url": "https://h.example/"}, "response": {"status": 200}, "time": null,
                 "timings": {"blocked": null, "dns": -1, "wait": 1.25}}
                """#
        ) { $0.time == nil && $0.timings?.dns == -1 && $0.timings?.wait == 1.25 },
        Deviation(
            name: "times as texts",
            entry: #"""
                {"request": {"method": "GET", "url": "https://h.example/"}, "response": {"status": 200},
                 "time": "12.5", "timings": "none", "startedDateTime": 1700000000}
                """#,
            warnings: ["startedDateTime is not a text", "time is not a number", "timings cannot be read"]
        ) { $0.time == 12.5 && $0.timings == nil && $0.startedDateTime == "1700000000" },
    ]

    static let responseDeviations: [Deviation] = [
        Deviation(
            name: "browsers: an entry without a response",
            entry: #"{"request": {"method": "GET", "url": "https://h.example/"}}"#, warnings: ["it has no response"]
        ) { $0.response.status == 0 },
        Deviation(name: "Fiddler: a response of null", response: "null", warnings: ["it has no response"]) {
            $0.response.status == 0
        },
        Deviation(
            name: "an invalid response", response: #""failed""#,
            warnings: ["response cannot be read", "it has no response"]
        ) { $0.response.status == 0 },
        Deviation(
            name: "browsers: a blocked request has status 0",
            response: #"{"status": 0, "statusText": "", "content": {}}"#
        ) { $0.response.status == 0 },
        Deviation(
            name: "BrowserMob: status -999 for no response", response: #"{"status": -999}"#,
            warnings: ["the status is invalid"]
        ) { $0.response.status == 0 },
        Deviation(
            name: "Flutter: the status error", response: #"{"status": "error"}"#, warnings: ["status is not a number"]
        ) { $0.response.status == 0 },
        Deviation(name: "the status as a text", response: #"{"status": "404"}"#, warnings: ["status is not a number"]) {
            $0.response.status == 404
        },
        Deviation(
            name: "the status null", response: #"{"status": null}"#, warnings: ["the response has no status"]
        ) { $0.response.status == 0 },
        Deviation(
            name: "Firefox: bodies left out",
            response: #"{"status": 200, "content": {"mimeType": "text/html", "size": 77300, "comment": "left out"}}"#
        ) { $0.response.content?.text == nil && $0.response.content?.size == 77300 },
        Deviation(
            name: "scripts: content as JSON instead of text",
            response: #"{"status": 200, "content": {"text": {"b": [1, true], "a": "x"}}}"#,
            warnings: ["text is not a text"]
        ) { $0.response.content?.text == #"{"a":"x","b":[1,true]}"# },
        Deviation(name: "content null", response: #"{"status": 200, "content": null}"#) { $0.response.content == nil },
        Deviation(
            name: "HTTP Toolkit: an invalid version", response: #"{"status": 200, "httpVersion": "HTTP/Q}T"}"#
        ) { $0.response.httpVersion == "HTTP/Q}T" },
        Deviation(
            name: "Chrome: a failure's text",
            entry: #"""
                {"request": {"method": "GET", "url": "https://h.example/"}, "response": {"status": 0},
                 "_error": "net::ERR_FAILED"}
                """#
        ) { $0._error?.message == "net::ERR_FAILED" },
        Deviation(
            name: "a failure of another shape",
            entry: #"""
                {"request": {"method": "GET", "url": "https://h.example/"}, "response": {"status": 0}, "_error": 7}
                """#,
            warnings: ["_error cannot be read"]
        ) { $0._error == nil },
    ]

    static let requestDeviations: [Deviation] = [
        Deviation(
            name: "a request without a method", request: #"{"url": "https://h.example/"}"#,
            warnings: ["the request has no method"]
        ) { $0.request.method == "GET" },
        Deviation(
            name: "Firefox: an empty body of a GET", request: post(#"{"mimeType": "", "params": [], "text": ""}"#)
        ) {
            $0.request.postData?.text == ""
        },
        Deviation(name: "Insomnia: a body without anything", request: post("{}")) { $0.request.postData?.text == nil },
        Deviation(name: "postData null", request: post("null")) { $0.request.postData == nil },
        Deviation(
            name: "BrowserMob: the fields of a form without their text",
            request: post(#"{"params": [{"name": "a", "value": "1"}, {"name": "b"}, {"name": "c", "value": 3}]}"#),
            warnings: [noValue, "value is not a text"]
        ) { $0.request.postData?.params?.map(\.value) == ["1", "", "3"] },
        Deviation(
            name: "HAR 1.3 and Reqable: a body in base64",
            request: post(#"{"mimeType": "text/plain", "text": "aGVs\nbG8=", "encoding": "base64"}"#)
        ) { $0.request.postData?.text == "hello" },
        Deviation(
            name: "the same with bytes that are not text",
            request: post(#"{"mimeType": "image/png", "text": "/9j/", "encoding": "base64"}"#)
        ) { $0.request.postData?.text == nil && $0.request.postData?.comment == "not kept: binary" },
        Deviation(
            name: "scripts: a body as JSON", request: post(#"{"mimeType": "application/json", "text": {"a": 1}}"#),
            warnings: ["text is not a text"]
        ) { $0.request.postData?.text == #"{"a":1}"# },
    ]

    @Test(arguments: headerDeviations + sizeDeviations + responseDeviations + requestDeviations)
    func filesOfOtherProgramsAreReadAsFarAsPossible(deviation: Deviation) throws {
        let document = try HARDocument(json: Data(deviation.text.utf8))
        let entry = try #require(document.log.entries.first)
        #expect(deviation.isRead(entry))
        #expect(document.warnings.map(\.description).sorted() == deviation.warnings.map { "entry 1: \($0)" }.sorted())
        // The document can be written and read again, without any deviation.
        let again = try HARDocument(json: document.json)
        #expect(deviation.isRead(try #require(again.log.entries.first)))
        #expect(again.warnings.isEmpty)
    }

    @Test func anUnreadableEntryIsSkippedAndTheOthersAreRead() throws {
        let good = #"{"request": {"method": "GET", "url": "https://h.example/"}, "response": {"status": 200}}"#
        let entries = [good, "{}", "null", #""x""#, #"{"request": {"method": "GET"}}"#, #"{"request": 1e999}"#, good]
        let text = #"{"log": {"entries": [\#(entries.joined(separator: ","))]}}"#
        let document = try HARDocument(json: Data(text.utf8))
        #expect(document.log.entries.count == 2)
        #expect(document.warnings.map(\.entry) == [2, 3, 4, 5, 6])
        #expect(document.warnings.allSatisfy { $0.text == "it has no readable request, and is skipped" })
    }

    @Test(arguments: [
        (#"{"name": "Firefox"}"#, ["the creator has no version"]), ("null", []),
        ("{}", ["the creator has no name", "the creator has no version"]),
        (#"{"name": "x", "version": 1.5}"#, ["version is not a text"]), (#""curl""#, ["creator cannot be read"]),
    ])
    func anyCreatorIsReadWithWarnings(creator: String, warnings: [String]) throws {
        let document = try HARDocument(json: Data(#"{"log": {"creator": \#(creator), "entries": []}}"#.utf8))
        #expect(document.warnings.map(\.description) == warnings)
    }

    @Test(arguments: [
        "\u{FEFF}%", "%\0\0\0", "  %\n", "%\0",
    ])
    func byteOrderMarksAndTrailingZerosAreIgnored(frame: String) throws {
        let text = frame.replacingOccurrences(of: "%", with: #"{"log": {"entries": []}}"#)
        #expect(try HARDocument(json: Data(text.utf8)).warnings.isEmpty)
    }

    /// Foundation's reader of JSON5 ends the process on some of them.
    @Test func textThatIsNoUTF8IsATypedError() {
        for start in [#"{"#, #"{"log": {"entries": ["#, "\u{FEFF}{", "{'a': "] {
            for byte in UInt8(0x80)...0xFF {
                for end in [#"og""#, ": 1}", "]}}", ""] {
                    let bytes = Data(start.utf8) + [byte] + Data(end.utf8)
                    #expect(throws: PulseError.self) { try HARDocument(json: bytes) }
                }
            }
        }
    }

    @Test func looseJSONIsReadWithAWarning() throws {
        let text = """
            {"log": {"entries": [{"request": {"method": "GET", "url": "https://h.example/"}, // by hand
            "response": {"status": 200, "bodySize": NaN}, "time": Infinity},]}}
            """
        let document = try HARDocument(json: Data(text.utf8))
        #expect(document.log.entries.first?.response.status == 200)
        #expect(document.log.entries.first?.response.bodySize == nil)
        #expect(document.warnings.first?.description == "the file is not strict JSON")
        #expect(document.warnings.count == 3)
        #expect(try HARDocument(json: document.json).log.entries.count == 1)
    }

    @Test func noWarningContainsAValueOfTheFile() throws {
        let text = #"""
            {"log": {"creator": {"name": 7}, "entries": [{"request": {"url": "https://h.example/?token=hunter2",
            "headers": [{"name": ["hunter2"], "value": {"a": "hunter2"}}], "postData": "hunter2"},
            "response": {"status": "hunter2", "headers": {"hunter2": "hunter2"}, "content": "hunter2"}}]}}
            """#
        let document = try HARDocument(json: Data(text.utf8))
        #expect(document.warnings.count > 5)
        #expect(!"\(document.warnings)".contains("hunter2"))
    }

    #if DEBUG
    @Test func nestedJSONTakesLinearTime() throws {
        func steps(_ depth: Int) throws -> Int {
            let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            let file = #"""
                {"log": {"entries": [{"request": {"method": "GET", "url": "https://h.example/"},
                "response": {"status": 200, "headers": {"X": \#(text)}, "content": {"text": \#(text)}}}]}}
                """#
            return try StepCount.taken {
                let document = try HARDocument(json: Data(file.utf8))
                #expect(document.log.entries.first?.response.content?.text == text)
            }
        }
        let (once, twice) = (try steps(200), try steps(400))
        #expect(once > 0 && twice < once * 3, "\(once), \(twice)")
    }
    #endif
}
