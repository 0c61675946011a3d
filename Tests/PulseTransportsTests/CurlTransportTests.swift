// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled, .timeLimit(.minutes(15)))
struct CurlTransportTests {
    private static func responses(
        _ count: Int, of body: Data, byHTTP1: Bool
    ) async throws -> [PulseResponse] {
        try await MockServer.run { server in
            server.fallback { _ in .data(body) }
            let transport: any Transport = byHTTP1 ? HTTP1Transport(over: CurlTransport()) : CurlTransport()
            var responses: [PulseResponse] = []
            for _ in 0..<count {
                let request = TransportRequest(urlRequest: URLRequest(url: server.baseURL), idleTimeout: 600)
                responses.append(try await transport.send(request))
            }
            await transport.shutdown()
            return responses
        }
    }

    @Test(arguments: [false, true])
    func timingsReportTheEndOfEachPhase(byHTTP1: Bool) async throws {
        let body = Data(repeating: 7, count: 1000)
        let response = try #require(try await Self.responses(1, of: body, byHTTP1: byHTTP1).first)
        let timings = try #require(response.timings)
        let moments = [
            timings.queued, timings.nameResolved, timings.connected, timings.requestSent, timings.firstByte,
            timings.lastByte,
        ]
        let known = moments.compactMap { $0 }
        #expect(known.count == moments.count)
        #expect(known == known.sorted())
        #expect(known.allSatisfy { (0...response.latency).contains($0) })
        #expect(timings.secured == nil)
        #expect(timings.isConnectionReused == false)
        #expect(timings.networkProtocol == "http/1.1")
        #expect(timings.remoteAddress == "127.0.0.1")
        #expect(timings.bytesReceived == 1000)
        #expect(timings.bytesDecoded == 1000)
    }

    @Test(arguments: [false, true])
    func aReusedConnectionHasNoConnectTimings(byHTTP1: Bool) async throws {
        let responses = try await Self.responses(2, of: Data("response".utf8), byHTTP1: byHTTP1)
        let timings = try #require(responses.last?.timings)
        #expect(timings.isConnectionReused == true)
        #expect(timings.nameResolved == nil)
        #expect(timings.connected == nil)
        #expect(timings.firstByte != nil)
    }

    @Test func theTimingsOfADownloadIncludeItsLastByte() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        let timings = try await MockServer.run { server in
            server.fallback { _ in .data(Data(repeating: 7, count: 100_000)) }
            let transport = CurlTransport()
            let response = try await transport.send(
                TransportRequest(
                    urlRequest: URLRequest(url: server.baseURL), delivery: .file(file, resumeOffset: 0),
                    idleTimeout: 600))
            await transport.shutdown()
            return response.timings
        }
        #expect(timings?.lastByte != nil)
        #expect(timings?.bytesDecoded == 100_000)
    }

    @Test func aTotalThatOverflowsWithTheOffsetIsUnknown() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data(repeating: 7, count: 100).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let reported = Locked<[TransferProgress]>([])
        try await MockServer.run { server in
            server.fallback { _ in
                .raw([
                    .text("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 100-200/*\r\n"),
                    .text("Content-Length: \(Int64.max)\r\n\r\npart"), .close,
                ])
            }
            let transport = CurlTransport()
            let request = TransportRequest(
                urlRequest: URLRequest(url: server.baseURL), delivery: .file(file, resumeOffset: 100),
                idleTimeout: 600,
                progress: { step in reported.withLock { $0.append(step) } })
            await #expect {
                try await transport.send(request)
            } throws: {
                PulseError(wrapping: $0).kind == .transport
            }
            await transport.shutdown()
        }
        #expect(reported.withLock { $0.last } == TransferProgress(completed: 104, total: nil))
    }

    /// The error number is that of the address that failed last.
    @Test(
        arguments: [
            (ECONNREFUSED, false, true, .cannotConnectToHost), (ENETUNREACH, true, true, .cannotConnectToHost),
            (ENETUNREACH, true, false, .notConnectedToInternet), (ENETUNREACH, false, true, .notConnectedToInternet),
            (EHOSTUNREACH, true, true, .notConnectedToInternet),
        ] as [(Int32, Bool, Bool, URLError.Code)])
    func aPossibleRefusalAtAnotherAddressIsNotAMissingNetwork(
        number: Int32, hasTriedBothFamilies: Bool, hasDefaultRoute: Bool, expected: URLError.Code
    ) {
        let code = CurlFailure.connectCode(
            Int(number), hasTriedBothFamilies: hasTriedBothFamilies, hasDefaultRoute: hasDefaultRoute)
        #expect(code == expected)
    }

    @Test func anInvalidProxyIsRejectedBeforeAnythingIsSent() async throws {
        try await MockServer.run { server in
            server.fallback { _ in .text("response") }
            let transport = CurlTransport()
            let request = TransportRequest(
                urlRequest: URLRequest(url: server.baseURL), proxy: .http(host: "", port: 3128))
            await #expect {
                try await transport.send(request)
            } throws: {
                PulseError(wrapping: $0).kind == .invalidRequest
            }
            #expect(server.requests.isEmpty)
            await transport.shutdown()
        }
    }

    /// With a request body, progress is only that of the body.
    @Test func progressReportsOneDirectionOnly() async throws {
        let reported = Locked<[TransferProgress]>([])
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        try await MockServer.run { server in
            server.fallback { _ in .data(Data(repeating: 1, count: 100_000)) }
            var request = URLRequest(url: server.baseURL)
            request.httpMethod = "PUT"
            let transport = CurlTransport()
            _ = try await transport.send(
                TransportRequest(
                    urlRequest: request, body: .bytes(Data(repeating: 2, count: 1_000)),
                    delivery: .file(file, resumeOffset: 0),
                    progress: { step in reported.withLock { $0.append(step) } }))
            await transport.shutdown()
        }
        #expect(reported.withLock { $0 }.allSatisfy { $0.completed <= 1_000 })
    }

    /// In the words of libcurl versions from 7.68.
    @Test(
        arguments: [
            (1, "", .maybeSent, false, true), (8, "", .responseStarted, true, true),
            (56, "Illegal or missing hexadecimal sequence in chunked-encoding", .responseStarted, false, true),
            (56, "chunk hex-length longer than 16", .responseStarted, false, true),
            (56, "Too large response headers: 307204 > 307200", .responseStarted, true, true),
            (56, "Recv failure: Connection reset by peer", .responseStarted, true, false),
            (100, "", .responseStarted, true, true), (100, "", .maybeSent, false, true),
            (100, "", .beforeSend, false, false),
            (43, "", .maybeSent, false, true), (43, "", .beforeSend, false, false),
            (27, "", .responseStarted, true, true), (27, "", .maybeSent, false, true),
            (27, "", .responseStarted, false, false), (27, "", .beforeSend, false, false),
            (28, "", .maybeSent, false, false),
        ] as [(Int, String, PulseError.Phase, Bool, Bool)])
    func anInvalidResponseIsRecognizedInEachLibcurlVersion(
        result: Int, text: String, phase: PulseError.Phase, isReadingHead: Bool, isBad: Bool
    ) {
        #expect(CurlFailure.isInvalidResponse(result, text, phase, isReadingHead: isReadingHead) == isBad)
    }

    /// In the words of libcurl 7.88 and 8.23.
    @Test(
        arguments: [
            (52, "Empty reply from server", true),
            (16, "nghttp2 shuts down connection with error 6", true), (16, "", false),
            (92, "HTTP/2 stream 1 was not closed cleanly: PROTOCOL_ERROR (err 1)", true),
            (92, "HTTP/2 stream 1 was closed cleanly, but before getting  all response header fields", true),
            (92, "[HTTP2] [1] received invalid frame: FRAME[WINDOW_UPDATE, incr=0], error -505", true),
            (92, "Invalid HTTP header field was received: frame type: 1, stream: 1", true),
            (92, "HTTP/2 stream 1 was not closed cleanly: INTERNAL_ERROR (err 2)", false),
            (18, "HTTP/2 stream 1 was not closed cleanly before end of the underlying stream", false),
        ])
    func aProtocolErrorIsRecognizedInEachLibcurlVersion(result: Int, text: String, isProtocolError: Bool) {
        #expect(CurlFailure.isProtocolError(result, text) == isProtocolError)
    }

    @Test func theTextOfAFailureIsOnOneLine() {
        #expect(CurlFailure(code: 8, text: "a\u{1B}[0m\nb").description == #"libcurl 8: a\u{1B}[0m\nb"#)
    }

    @Test(arguments: ["", " ", "\t "]) func aBlankFieldValueIsSentEmpty(value: String) async throws {
        let fields = try await MockServer.run { server in
            server.fallback { _ in .text("response") }
            let transport = CurlTransport()
            var request = URLRequest(url: server.baseURL)
            request.allHTTPHeaderFields = ["X-Blank": value]
            _ = try await transport.send(TransportRequest(urlRequest: request, idleTimeout: 600))
            await transport.shutdown()
            return server.activity.requests.map { $0.headers["X-Blank"] }
        }
        #expect(fields == [""])
    }
}
#endif
