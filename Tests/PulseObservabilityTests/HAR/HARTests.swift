// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct HARTests {
    private func entries(_ recording: PulseRecording) throws -> [JSONValue] {
        let log = try JSONDecoder().decode(JSONValue.self, from: recording.har())["log"]
        #expect(log?["version"] == "1.2")
        #expect(log?["creator"]?["name"] == "PulseKit")
        guard case .array(let entries)? = log?["entries"] else {
            Issue.record("no entries")
            return []
        }
        return entries
    }

    @Test func anEntryHasAllFieldsThatTheFormatRequires() throws {
        var timings = PulseResponse.Timings()
        timings.queued = 0
        timings.connected = 0.010
        timings.secured = 0.030
        timings.requestSent = 0.031
        timings.firstByte = 0.131
        timings.lastByte = 0.1315
        timings.networkProtocol = "http/1.1"
        timings.remoteAddress = "127.0.0.1"
        timings.bytesReceived = 40
        let call = PulseRecording.Call.sample(
            url: "https://api.example.com/a?page=2&name=A%20B&flag", requestHeaders: ["Accept": "*/*"],
            requestBody: PulseRecording.Body(.text("{}"), byteCount: 2, contentType: "application/json"),
            response: .init(
                statusCode: 302, headers: ["Location": "/b", "X-Many": "1", "x-many": "2"],
                body: PulseRecording.Body(.text("hello"), byteCount: 5, contentType: "text/plain"), timings: timings))
        let entry = try #require(try entries(PulseRecording(calls: [call])).first)
        #expect(entry["startedDateTime"] == "2026-01-01T00:00:01.000Z")
        #expect(entry["serverIPAddress"] == "127.0.0.1")
        #expect(entry["cache"] == [:])
        let request = entry["request"]
        #expect(request?["httpVersion"] == "HTTP/1.1")
        #expect(
            request?["queryString"] == [
                ["name": "page", "value": "2"], ["name": "name", "value": "A B"], ["name": "flag", "value": ""],
            ])
        #expect(request?["postData"] == ["mimeType": "application/json", "text": "{}"])
        #expect(request?["bodySize"] == 2)
        let response = entry["response"]
        #expect(response?["statusText"] == "Found")
        #expect(response?["redirectURL"] == "/b")
        #expect(response?["bodySize"] == 40)
        #expect(response?["content"] == ["mimeType": "text/plain", "size": 5, "text": "hello"])
        #expect(response?["headers"]?[2] == ["name": "x-many", "value": "2"])
        #expect(
            entry["timings"] == [
                "blocked": -1, "dns": -1, "connect": 30, "ssl": 20, "send": 1, "wait": 100, "receive": 0.5,
            ])
        #expect(entry["time"] == 131.5)
    }

    @Test func aRequestWithoutAResponseHasStatusZeroAndAnError() throws {
        let failure = PulseError.Summary(kind: .timeout, message: "timed out")
        let entry = try #require(
            try entries(PulseRecording(calls: [.sample(response: nil, failure: failure)])).first)
        #expect(entry["response"]?["status"] == 0)
        #expect(entry["response"]?["content"]?["size"] == 0)
        #expect(entry["_error"]?["kind"] == "timeout")
    }

    @Test func attemptsAndRedirectsAreEntriesInTheOrderOfTheirStart() async throws {
        let count = Locked(0)
        let stage = RecorderStage { request in
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            return PulseResponse(statusCode: isFirst ? 503 : 200, request: request)
        }
        _ = try await stage.client.rawRequest(Request<EmptyResponse>(.get, "/a"))
        let entries = try entries(stage.recorder.recording())
        #expect(entries.map { $0["response"]?["status"] } == [503, 200])
        #expect(entries.map { $0["_pulse"]?["attempt"] } == [1, 2])
        #expect(
            entries.map { $0["startedDateTime"] } == ["2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.500Z"])
        await stage.client.shutdown()
    }

    @Test func anOmittedBodyHasACommentWithTheReason() throws {
        let call = PulseRecording.Call.sample(
            requestBody: PulseRecording.Body(.omitted(.file), contentType: "image/png"),
            response: .init(statusCode: 200, body: PulseRecording.Body(.bytes(Data([1, 2])), byteCount: 2)))
        let entry = try #require(try entries(PulseRecording(calls: [call])).first)
        #expect(entry["request"]?["postData"]?["comment"] == "not kept: file")
        #expect(entry["request"]?["bodySize"] == -1)
        #expect(entry["response"]?["content"]?["encoding"] == "base64")
        #expect(entry["response"]?["content"]?["text"] == "AQI=")
    }

    @Test(arguments: [0, -1, TimeInterval.nan, .infinity, -.infinity, .greatestFiniteMagnitude])
    func anyNumberResultsInAReadableFile(value: TimeInterval) throws {
        var timings = PulseResponse.Timings()
        timings.firstByte = value
        timings.remoteAddress = "not an address"
        let call = PulseRecording.Call(
            id: UUID(), endpointPath: "", route: "", method: .get, host: "",
            startedAt: Date(timeIntervalSince1970: value), latency: value,
            exchanges: [
                PulseRecording.Exchange(
                    id: 1, offset: value, request: .init(method: "", url: ""),
                    response: .init(statusCode: 200, timings: timings), duration: value)
            ])
        let entry = try #require(try entries(PulseRecording(calls: [call])).first)
        #expect(entry["serverIPAddress"] == nil)
        #expect((entry["time"]?.numberValue ?? -1) >= 0)
        #expect(entry["startedDateTime"]?.stringValue?.count == 24)
    }

    @Test(arguments: [
        ("https://h.example/a?b=c", "https://h.example/a?b=c"), ("https://h.example/a#part", "https://h.example/a"),
        ("https://[::1]:80/a[1]?b[]=1|2", "https://[::1]:80/a%5B1%5D?b%5B%5D=1%7C2"),
        ("https://h.example/aa…", "https://h.example/aa%E2%80%A6"),
        ("https://***REDACTED***@h.example?q=%zz", "https://***REDACTED***@h.example?q=%25zz"), ("", ""),
        ("/a b", "/a%20b"),
    ])
    func aURLIsEncodedAsTheFormatRequires(text: String, written: String) {
        #expect(HARDocument.url(text) == written)
    }

    @Test func anInvalidHARFileIsADecodingError() {
        for text in ["", "{}", "[]", #"{"log":{}}"#, #"{"log":{"entries":{}}}"#, #"{"log":{"entries":null}}"#] {
            #expect(throws: PulseError.self) { try HARDocument(json: Data(text.utf8)) }
        }
    }

    @Test func aFileOfAnotherProgramIsRead() throws {
        let text = """
            \u{FEFF}{"log": {"entries": [{"request": {"method": "GET", "url": "https://h.example/"},
            "response": {"status": 200, "content": {}}, "_priority": "High"}]}}
            """
        #expect(try HARDocument(json: Data(text.utf8)).log.entries.count == 1)
    }
}
