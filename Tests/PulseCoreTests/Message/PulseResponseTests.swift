// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct PulseResponseTests {
    private let request = URLRequest(url: URL(fileURLWithPath: "/x"))

    // MARK: Trailers

    @Test func theTrailersOfAStreamComeAtItsEnd() async throws {
        let hasEnded = Locked(false)
        let stream = ByteStream(next: {
            hasEnded.withLock { $0 = true }
            return nil
        })
        stream.trailersAtEnd = { hasEnded.withLock { $0 } ? ["T": "1"] : [:] }
        var response = PulseResponse(statusCode: 200, request: request)
        response.body = .stream(stream)
        var rest = response
        rest.removeStream()
        #expect(response.trailers.isEmpty && rest.trailers.isEmpty && rest.bytes == nil)
        #expect(try await stream.collect(upTo: 1).isEmpty)
        #expect(response.trailers == ["T": "1"] && rest.trailers == ["T": "1"])
        #expect(response.headers.isEmpty)
    }

    @Test func aBufferedResponseHasItsTrailers() {
        var response = PulseResponse(statusCode: 200, request: request)
        #expect(response.trailers.isEmpty)
        response.trailers = ["T": "1"]
        #expect(response.trailers == ["T": "1"] && response.headers.isEmpty)
        response.trailers = [:]
        #expect(response.trailers.isEmpty)
    }

    // MARK: HTTPURLResponse

    @Test(arguments: [Int.min, -1, 0, 99, 200, 599, 1000, Int(Int32.max), Int.max])
    func anHTTPURLResponseIsCreatedForAnyStatus(status: Int) throws {
        let request = try PulseCoreTests.request()
        let response = PulseResponse(statusCode: status, headers: ["A": "b"], request: request)
        if let http = response.httpResponse { #expect(http.statusCode == status) }
    }

    @Test(arguments: [
        ("Content-Type", ""), ("Content-Type", ";"), ("Content-Type", ";;;=;"), ("Content-Type", "a/b; charset="),
        ("Content-Type", "a/b; charset=\""), ("Content-Type", "a/b; charset=\"x"), ("Content-Type", "a/b; charset=\\"),
        ("Content-Type", "text/html;charset=\"a\\\""), ("Content-Type", " "), ("Content-Type", ","),
        ("Content-Type", "="),
        ("Content-Length", "-1"), ("Content-Length", "99999999999999999999"), ("Content-Length", ""),
        ("Content-Disposition", ""), ("Content-Disposition", "attachment; filename=\"\""),
        ("Content-Disposition", "attachment; filename=\"../../etc/passwd"), ("Content-Disposition", "; filename="),
        ("Content-Disposition", "attachment; filename*=UTF-8''%"), ("Content-Disposition", "\""), ("", ""), ("", "x"),
        ("A B", "x\r\ny"), ("\u{1F600}", "\u{0}"), ("Content-Encoding", ","), ("Content-Disposition", "a=\"\\"),
    ])
    func creatingAnHTTPURLResponseNeverTraps(name: String, value: String) throws {
        let request = try PulseCoreTests.request()
        let response = PulseResponse(statusCode: 200, headers: [name: value], request: request)
        let http = response.httpResponse
        _ = http?.suggestedFilename
        _ = http?.mimeType
        _ = http?.textEncodingName
        _ = http?.expectedContentLength
    }

    @Test
    func aResponseWithoutAURLHasNoHTTPURLResponse() throws {
        var request = try PulseCoreTests.request()
        request.url = nil
        #expect(PulseResponse(statusCode: 200, request: request).httpResponse == nil)
    }

    @Test
    func theHTTPURLResponseJoinsLinesAndIgnoresNameCase() throws {
        let headers: HTTPHeaders = ["Via": "a", "content-type": "text/plain", "via": "b"]
        let request = try PulseCoreTests.request()
        let http = PulseResponse(statusCode: 418, headers: headers, request: request).httpResponse
        #expect(http?.statusCode == 418)
        #expect(http?.value(forHTTPHeaderField: "Content-Type") == "text/plain")
        #expect(http?.value(forHTTPHeaderField: "Via") == "a, b")
    }

    @Test
    func aResponseFromFoundationKeepsItsValues() throws {
        let address = try url("https://h/p")
        let http = try #require(
            HTTPURLResponse(
                url: address, statusCode: 404, httpVersion: "HTTP/1.1", headerFields: ["B": "2", "A": "1", "C-C": "3"]))
        let response = PulseResponse(
            data: Data("x".utf8), httpResponse: http, request: URLRequest(url: address), latency: 0.5)
        #expect(response.statusCode == 404)
        #expect(response.headers.map(\.name) == ["A", "B", "C-C"])
        #expect(response.headers["c-c"] == "3")
        #expect(response.data == Data("x".utf8))
        #expect(response.latency == 0.5)
        #expect(response.origin == .network)
        #expect(response.httpResponse === http)
    }

    @Test
    func aNewResponseIsBufferedCompleteAndFromTheNetwork() {
        let response = PulseResponse(statusCode: 200, request: request)
        #expect(response.data.isEmpty && response.headers.isEmpty && response.redirects.isEmpty)
        #expect(response.bytes == nil && response.file == nil && response.timings == nil)
        #expect(!response.isTruncated)
        #expect(response.origin == .network)
        #expect(response.latency == 0)
    }

    // MARK: Decoding

    private struct User: Decodable, Equatable {
        let id: Int
    }

    @Test
    func errorBodiesCanBeDecoded() throws {
        let response = PulseResponse(statusCode: 422, data: Data(#"{"id":7}"#.utf8), request: request)
        #expect(try response.decode(User.self) == User(id: 7))
    }

    @Test
    func decodingNoBytesIsAnEmptyBodyError() throws {
        let response = PulseResponse(statusCode: 200, request: request)
        #expect(#expect(throws: PulseError.self) { try response.decode(User.self) }?.kind == .emptyBody)
    }

    @Test(arguments: [" ", "{}", #"{"id":"x"}"#, "[", "null"])
    func aDecodingErrorNamesTheType(body: String) throws {
        let response = PulseResponse(statusCode: 200, data: Data(body.utf8), request: request)
        let error = #expect(throws: PulseError.self) { try response.decode(User.self) }
        guard case .decodingFailed(let type, let underlying) = error else {
            Issue.record("not a decoding failure: \(String(describing: error))")
            return
        }
        #expect(type == "User")
        #expect(underlying is DecodingError)
    }

    @Test
    func aDecodersPulseErrorIsThrownUnchanged() throws {
        struct Picky: ResponseDecoder {
            func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
                throw PulseError.emptyBody
            }
        }
        let response = PulseResponse(statusCode: 200, request: request)
        let error = #expect(throws: PulseError.self) { try response.decode(User.self, using: Picky()) }
        #expect(error?.kind == .emptyBody)
    }

    @Test func aBodyIsChangedInPlace() throws {
        var response = PulseResponse(
            statusCode: 200, data: Data(repeating: 1, count: 1 << 20),
            request: URLRequest(url: try #require(URL(string: "https://a.example"))))
        let before = response.data.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        response.data[7] = 2
        #expect(response.data.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } == before)
        #expect(response.data[7] == 2)
    }

    @Test func changingACopyLeavesTheOriginalUnchanged() throws {
        let request = URLRequest(url: try #require(URL(string: "https://a.example/1")))
        let other = URLRequest(url: try #require(URL(string: "https://a.example/2")))
        let original = PulseResponse(statusCode: 200, headers: ["A": "1"], data: Data("a".utf8), request: request)
        let changes: [(inout PulseResponse) -> Void] = [
            { $0.statusCode = 201 }, { $0.headers["A"] = "2" }, { $0.data.append(Data("b".utf8)) },
            { $0.request = other }, { $0.latency = 1 }, { $0.origin = .cache },
            { $0.timings = PulseResponse.Timings() },
            { $0.isTruncated = true },
            { $0.redirects = [PulseResponse.Redirect(statusCode: 302, url: URL(fileURLWithPath: "/"))] },
        ]
        var changed = original
        for change in changes { change(&changed) }
        #expect(original.statusCode == 200)
        #expect(original.headers["A"] == "1")
        #expect(original.data == Data("a".utf8))
        #expect(original.request.url == request.url)
        #expect(original.latency == 0)
        #expect(original.origin == .network)
        #expect(original.timings == nil)
        #expect(original.bytes == nil)
        #expect(original.file == nil)
        #expect(!original.isTruncated)
        #expect(original.redirects.isEmpty)
        #expect(changed.statusCode == 201)
        #expect(changed.headers["A"] == "2")
        #expect(changed.data == Data("ab".utf8))
        #expect(changed.request.url == other.url)
        #expect(changed.isTruncated)
        #expect(changed.redirects.count == 1)
    }
}
