// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import PulseTransports
import TestSupport
import Testing

@Suite(.tags(.threads), .throttled)
struct URLSessionDownloadWireTests {
    /// A file with `content`, and the result of a download over it.
    private static func download(
        over old: String, from offset: Int64 = 0, appliesBackpressure: Bool,
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        responding respond: @escaping @Sendable (RecordedRequest) async throws -> MockServer.Response
    ) async throws -> (result: Result<PulseResponse, PulseError>, file: String) {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("download-\(UUID())")
        try Data(old.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let transport = URLSessionTransport(maxConnectionsPerHost: 2, appliesBackpressure: appliesBackpressure)
        return try await MockServer.run { server in
            server.fallback(respond)
            let request = TransportRequest(
                urlRequest: URLRequest(url: server.baseURL), delivery: .file(file, resumeOffset: offset),
                idleTimeout: 600,
                progress: progress)
            let result: Result<PulseResponse, PulseError>
            do {
                result = .success(try await transport.send(request))
            } catch {
                result = .failure(PulseError(wrapping: error))
            }
            await transport.shutdown()
            return (result, String(decoding: try Data(contentsOf: file), as: UTF8.self))
        }
    }

    @Test(arguments: [true, false])
    func anEmptyBodyEmptiesTheFile(appliesBackpressure: Bool) async throws {
        let (result, file) = try await Self.download(over: "old", appliesBackpressure: appliesBackpressure) { _ in
            .text("")
        }
        #expect(try result.get().file != nil)
        #expect(file == "")
    }

    @Test(arguments: [true, false], [1000, 3 << 20])
    func anErrorBodyIsTruncatedAndTheFileStaysUnchanged(appliesBackpressure: Bool, size: Int) async throws {
        let body = String(repeating: "x", count: size)
        let (result, file) = try await Self.download(over: "old", appliesBackpressure: appliesBackpressure) { _ in
            .text(body, status: 500)
        }
        let response = try result.get()
        #expect(response.statusCode == 500)
        #expect(response.isTruncated == (size > 64 << 10))
        // A download task delivers no part of a body that it truncates before its end.
        let isKnown = appliesBackpressure || size < 1 << 20
        #expect(response.data.count == min(size, 64 << 10) || !isKnown && response.data.isEmpty)
        #expect(response.file == nil)
        #expect(file == "old")
    }

    @Test func anIncompleteDownloadLeavesTheFileUnchanged() async throws {
        let (result, file) = try await Self.download(over: "old", appliesBackpressure: false) { _ in
            .text("a new body").truncated(after: 4)
        }
        #expect(throws: PulseError.self) { try result.get() }
        #expect(file == "old")
    }

    @Test(arguments: [true, false])
    func downloadProgressIncludesTheExistingBytes(appliesBackpressure: Bool) async throws {
        let steps = Locked<[TransferProgress]>([])
        let (result, file) = try await Self.download(
            over: "0123456789", from: 5, appliesBackpressure: appliesBackpressure,
            progress: { step in steps.withLock { $0.append(step) } },
            responding: { _ in .text("part", status: 206, headers: ["Content-Range": "bytes 5-8/9"]) })
        _ = try result.get()
        #expect(file == "01234part")
        #expect(steps.withLock { $0.last } == TransferProgress(completed: 9, total: 9))
    }

    @Test func aStreamDeliversBytesWhileTheServerSendsTheRest() async throws {
        let (more, sent) = AsyncStream<Data>.makeStream()
        let transport = URLSessionTransport(maxConnectionsPerHost: 1, appliesBackpressure: true)
        try await MockServer.run { server in
            server.fallback { _ in .init(status: 200, body: .stream(more), framing: .untilClose) }
            let response = try await transport.send(
                TransportRequest(urlRequest: URLRequest(url: server.baseURL), delivery: .streamed, idleTimeout: 600))
            var chunks = try #require(response.bytes).makeAsyncIterator()
            for text in ["one", "two"] {
                sent.yield(Data(text.utf8))
                #expect(try await chunks.next() == Data(text.utf8))
            }
            sent.finish()
            #expect(try await chunks.next() == nil)
            await transport.shutdown()
        }
    }

    @Test func aLateReaderGetsEveryByteInOrder() async throws {
        let body = Data((0..<(6 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 13) })
        let transport = URLSessionTransport(maxConnectionsPerHost: 1, appliesBackpressure: true)
        try await MockServer.run { server in
            server.fallback { _ in .init(status: 200, body: .data(body), framing: .untilClose) }
            let response = try await transport.send(
                TransportRequest(urlRequest: URLRequest(url: server.baseURL), delivery: .streamed, idleTimeout: 600))
            // By then everything has arrived, which is more than a pipe holds.
            try await server.wait { $0.openConnectionCount == 0 }
            #expect(try await response.bytes?.collect(upTo: .max) == body)
            await transport.shutdown()
        }
    }

    /// The streams share a session: nothing of it may limit them either.
    @Test func openStreamsLeaveTheSlotsToOtherRequests() async throws {
        let transport = URLSessionTransport(maxConnectionsPerHost: 1, appliesBackpressure: true)
        try await MockServer.run { server in
            server.fallback { request in
                request.path == "/endless"
                    ? .init(status: 200, body: .repeating(Data(repeating: 1, count: 4096), times: 2000)) : .text("next")
            }
            let url = server.baseURL.appendingPathComponent("endless")
            var streams: [ByteStream] = []
            for _ in 0..<3 {
                let response = try await transport.send(
                    TransportRequest(
                        urlRequest: URLRequest(url: url), delivery: .streamed, idleTimeout: 600, mayBeResent: true))
                streams.append(try #require(response.bytes))
            }
            let next = try await transport.send(
                TransportRequest(urlRequest: URLRequest(url: server.baseURL), idleTimeout: 600, mayBeResent: true))
            #expect(next.data == Data("next".utf8))
            streams.forEach { $0.cancel() }
            await transport.shutdown()
        }
    }
}
