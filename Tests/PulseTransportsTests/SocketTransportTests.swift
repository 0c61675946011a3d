// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseTesting
import TestSupport
import Testing

import PulseTransports

@Suite(.throttled)
struct SocketTransportTests {
    private static func responses(
        _ count: Int, of body: Data
    ) async throws -> [PulseResponse] {
        try await MockServer.run { server in
            server.fallback { _ in .data(body) }
            let transport = SocketTransport()
            var responses: [PulseResponse] = []
            for _ in 0..<count {
                let request = TransportRequest(urlRequest: URLRequest(url: server.baseURL), idleTimeout: 600)
                responses.append(try await transport.send(request))
            }
            await transport.shutdown()
            return responses
        }
    }

    @Test func timingsReportTheEndOfEachPhase() async throws {
        let body = Data(repeating: 7, count: 1000)
        let response = try #require(try await Self.responses(1, of: body).first)
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

    @Test func aReusedConnectionHasNoConnectTimings() async throws {
        let responses = try await Self.responses(2, of: Data("response".utf8))
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
            let transport = SocketTransport()
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
            let transport = SocketTransport()
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

    @Test func anInvalidProxyIsRejectedBeforeAnythingIsSent() async throws {
        try await MockServer.run { server in
            server.fallback { _ in .text("response") }
            let transport = SocketTransport()
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
            let transport = SocketTransport()
            _ = try await transport.send(
                TransportRequest(
                    urlRequest: request, body: .bytes(Data(repeating: 2, count: 1_000)),
                    delivery: .file(file, resumeOffset: 0),
                    progress: { step in reported.withLock { $0.append(step) } }))
            await transport.shutdown()
        }
        #expect(reported.withLock { $0 }.allSatisfy { $0.completed <= 1_000 })
    }

    @Test(arguments: ["", " ", "\t "]) func aBlankFieldValueIsSentEmpty(value: String) async throws {
        let fields = try await MockServer.run { server in
            server.fallback { _ in .text("response") }
            let transport = SocketTransport()
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
