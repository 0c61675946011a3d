// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseObservability

@Suite(.throttled)
struct PulseReportTests {
    /// Texts that break out of a page without escaping.
    static let hostile = [
        "</script><script>document.title='pwned'</script>", "<!--<script>", "]]>", "\"'`${1}", "\u{2028}\u{2029}",
        "<img src=x onerror=alert(1)>", "&lt;&amp;", "\u{0}\u{1}\r\n\t\u{7F}", "\\u003c\\", "\u{FEFF}\u{202E}",
    ]

    /// The text between the tags of the data element.
    private func data(of html: String) throws -> Substring {
        let open = try #require(html.range(of: #"<script id="data" type="application/json">"#))
        let close = try #require(html.range(of: "</script>", range: open.upperBound..<html.endIndex))
        return html[open.upperBound..<close.lowerBound]
    }

    @Test(arguments: hostile)
    func hostileTextIsAlwaysShownAsText(text: String) throws {
        let headers: HTTPHeaders = [HTTPHeaders.Field(name: text, value: text)]
        let body = PulseRecording.Body(.text(text), byteCount: 1, contentType: text)
        var call = PulseRecording.Call.sample(
            url: text, requestHeaders: headers, requestBody: body,
            response: .init(statusCode: 200, headers: headers, body: body))
        call.marks = [PulseRecording.Call.Mark(kind: .retrying, offset: 0, detail: text)]
        let event = RecordedEvent(date: Date(timeIntervalSince1970: 0), kind: .warning, subject: text)
        let html = PulseReport(PulseRecording(calls: [call], events: [event]), title: text).html
        let data = try data(of: html)
        #expect(!data.unicodeScalars.contains { "<>&\u{2028}\u{2029}".unicodeScalars.contains($0) })
        #expect(!data.utf8.contains { $0 < 0x20 })
        let read = try JSONDecoder().decode(JSONValue.self, from: Data(data.utf8))
        #expect(read["calls"]?[0]?["exchanges"]?[0]?["url"]?.stringValue == text)
        #expect(read["calls"]?[0]?["exchanges"]?[0]?["requestHeaders"]?[0]?[1]?.stringValue == text)
        #expect(read["events"]?[0]?["subject"]?.stringValue == text)
        #expect(html.components(separatedBy: "<script").count == 3)
        #expect(html.components(separatedBy: "</script").count == 3)
        #expect(html.components(separatedBy: "<!--").count == 1)
    }

    @Test func theTitleIsEscaped() {
        let html = PulseReport(PulseRecording(calls: []), title: "<b>\"A\" & 'B'</b>").html
        #expect(html.contains("<title>&lt;b&gt;&quot;A&quot; &amp; &#39;B&#39;&lt;/b&gt;</title>"))
    }

    @Test func thePageLoadsNothing() {
        let html = PulseReport(PulseRecording(calls: [.sample()])).html
        #expect(html.contains("default-src 'none'"))
        for name in [
            "src=", "@import", "url(", "href=", "fetch(", "innerHTML", "insertAdjacent", "document.write", "eval(",
        ] {
            #expect(!html.contains(name), "\(name)")
        }
        // The name of an XML namespace, which is never loaded.
        #expect(html.components(separatedBy: "http://").count == 2)
    }

    @Test(arguments: [0, -1, TimeInterval.nan, .infinity, -.infinity, .greatestFiniteMagnitude])
    func anyNumberResultsInAValidPage(value: TimeInterval) throws {
        var call = PulseRecording.Call.sample(latency: value)
        call.marks = [PulseRecording.Call.Mark(kind: .retrying, offset: value, wait: value)]
        let event = RecordedEvent(date: Date(timeIntervalSince1970: value), kind: .warning, subject: "")
        let html = PulseReport(PulseRecording(calls: [call], events: [event])).html
        let read = try JSONDecoder().decode(JSONValue.self, from: Data(try data(of: html).utf8))
        #expect(read["calls"]?[0]?["latency"]?.numberValue?.isFinite == true)
    }

    @Test func thePageDrawsTheSameWaterfallAsTheText() throws {
        var call = PulseRecording.Call.sample(latency: 2)
        call.marks = [PulseRecording.Call.Mark(kind: .rateLimited, offset: 2, wait: 2, detail: "busy")]
        let read = try JSONDecoder().decode(
            JSONValue.self, from: Data(try data(of: PulseReport(PulseRecording(calls: [call])).html).utf8))
        let chart = try #require(read["calls"]?[0]?["chart"])
        #expect(chart["duration"]?.numberValue == 4000)
        for (index, line) in call.chart.lines.enumerated() {
            #expect(chart["lines"]?[index]?["kind"]?.stringValue == line.kind.rawValue)
            #expect(chart["lines"]?[index]?["title"]?.stringValue == line.title)
            #expect(chart["lines"]?[index]?["start"]?.numberValue == line.bar.start)
            #expect(chart["lines"]?[index]?["end"]?.numberValue == line.bar.end)
        }
        #expect(call.chart.lines.map(\.bar.end) == [0.5, 0.5, 1])
    }

    @Test func thePageTellsVirtualTimeFromMeasuredTime() throws {
        let calls = [true, false].map { isInVirtualTime in
            PulseRecording.Call(
                id: UUID(), endpointPath: "/a", route: "GetA", method: .get, host: "api.example.com",
                startedAt: Date(timeIntervalSince1970: 0), latency: 14, isInVirtualTime: isInVirtualTime)
        }
        let read = try JSONDecoder().decode(
            JSONValue.self, from: Data(try data(of: PulseReport(PulseRecording(calls: calls)).html).utf8))
        #expect(read["calls"]?[0]?["isVirtual"]?.boolValue == true)
        #expect(read["calls"]?[1]?["isVirtual"]?.boolValue == false)
    }

    @Test func aReportIsReadableByItsUserAloneAlsoInPlaceOfAnotherFile() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("report.html")
        try Data("old".utf8).write(to: file)
        let report = PulseReport(PulseRecording(calls: []))
        try report.write(to: file)
        #expect(try String(contentsOf: file, encoding: .utf8) == report.html)
        #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["report.html"])
    }

    @Test func aReportThatCannotBeWrittenIsAnError() {
        let file = URL(fileURLWithPath: "/dev/null/report.html")
        #expect(throws: PulseError.self) { try PulseReport(PulseRecording(calls: [])).write(to: file) }
    }
}
