// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseObservability
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

import PulseCalls
import PulseTransports

/// The progress of bodies over real sockets. The client's clock stands still, so that each attempt reports its first
/// and its last value.
@Suite(.tags(.threads), .throttled)
struct ProgressWireTests {
    private static let megabyte: Int64 = 1 << 20
    /// The size of a piece that a transport reads at once.
    private static let piece: Int64 = 256 << 10

    private let heard = Heard()

    private var options: RequestOptions { RequestOptions().with(\.progress, value: heard.take) }

    private func client(
        _ server: MockServer, plugins: [any PulsePlugin] = [], retry: RetryPolicy = .none,
        events: PulseEventBus = PulseEventBus()
    ) -> PulseClient {
        ClientStage.client(
            of: server, plugins: plugins, retry: retry, clock: TestClock(), over: SocketTransport(), events: events)
    }

    private static func withFile(of count: Int, _ body: (URL) async throws -> Void) async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        try Data(repeating: 7, count: count).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try await body(file)
    }

    private static func stream(of chunks: [Int], length: Int64?) -> RequestBody {
        .stream(length: length) { ByteStream(chunks.map { Data(repeating: 7, count: $0) }) }
    }

    // MARK: Uploads

    @Test(
        arguments: [
            (.data(Data(count: 10)), [10], 10), (.data(Data(count: 1 << 20)), [piece, megabyte], megabyte),
            (stream(of: [100, 100, 100], length: 300), [100, 300], 300),
            (stream(of: [100, 100, 100], length: nil), [100, 300], nil),
            (.data(Data()), [0], 0), (stream(of: [], length: 0), [0], 0), (stream(of: [], length: nil), [0], 0),
        ] as [(RequestBody, [Int64], Int64?)])
    func anUploadReportsItsBytesUpToTheTotal(body: RequestBody, completed: [Int64], total: Int64?) async throws {
        try await MockServer.run { server in
            let atResponse = Locked<TransferProgress?>(nil)
            server.on(.put, "/a") { _ in
                atResponse.withLock { $0 = heard.reports.last }
                return .status(204)
            }
            let client = client(server)
            _ = try await client.rawRequest(Request<Data>(.put, "/a").body(body), options: options)
            #expect(heard.reports == completed.map { TransferProgress(completed: $0, total: total) })
            #expect(server.requests.count == 1)
            // A server may take its time to respond to a complete body.
            if total != nil { #expect(atResponse.withLock { $0 } == heard.reports.last) }
            await client.shutdown()
        }
    }

    @Test(arguments: [(1 << 20, [piece, megabyte]), (0, [0])] as [(Int, [Int64])])
    func aFileReportsItsBytesUpToTheTotal(size: Int, completed: [Int64]) async throws {
        try await MockServer.run { server in
            server.fallback { _ in .status(204) }
            try await Self.withFile(of: size) { file in
                let client = client(server)
                _ = try await client.rawRequest(Request<Data>(.put, "/a").body(.file(file)), options: options)
                #expect(heard.reports == completed.map { TransferProgress(completed: $0, total: Int64(size)) })
                #expect(server.requests.map(\.bodyByteCount) == [size])
                await client.shutdown()
            }
        }
    }

    /// Fails in the middle: the client has sent what the sockets hold, and the server has read a little of that.
    @Test func aFailureEndsTheReports() async throws {
        let piece = Data(repeating: 7, count: 256 << 10)
        try await MockServer.run { server in
            server.on(.put, "/a", reading: .interrupted(after: 1, .reset)) { _ in .status(204) }
            let client = client(server)
            let total = 256 << 20 as Int64
            let body = RequestBody.stream(length: total) {
                let rest = Locked(1024)
                return ByteStream(next: {
                    rest.withLock { rest in
                        defer { rest -= 1 }
                        return rest > 0 ? piece : nil
                    }
                })
            }
            await #expect(throws: PulseError.self) {
                try await client.rawRequest(Request<Data>(.put, "/a").body(body), options: options)
            }
            let reports = heard.reports
            #expect(reports.count == 2 && reports.first?.completed == Self.piece)
            #expect(reports.allSatisfy { $0.completed < total && $0.total == total })
            await client.shutdown()
            #expect(heard.reports == reports)
        }
    }

    // MARK: Attempts

    private var twoAttempts: [TransferProgress] {
        [(Self.piece, 1), (Self.megabyte, 1), (Self.piece, 2), (Self.megabyte, 2)].map {
            .init(completed: $0, total: Self.megabyte, attempt: $1)
        }
    }

    @Test func aRetryStartsAnew() async throws {
        try await MockServer.run { server in
            server.on(.put, "/a", script: [.status(503), .status(204)])
            try await Self.withFile(of: 1 << 20) { file in
                let client = client(server, retry: .immediate(2))
                _ = try await client.rawRequest(Request<Data>(.put, "/a").body(.file(file)), options: options)
                #expect(heard.reports == twoAttempts)
                await client.shutdown()
            }
        }
    }

    @Test func aReplayAfterATokenRefreshStartsAnew() async throws {
        try await MockServer.run { server in
            server.on(.post, "/a", script: [.status(401), .status(204)])
            let client = client(server, plugins: [.auth(Tokens())])
            let body = RequestBody.data(Data(count: 1 << 20))
            _ = try await client.rawRequest(Request<Data>(.post, "/a").body(body), options: options)
            #expect(heard.reports == twoAttempts)
            #expect(server.requests.map { $0.headers["Authorization"] } == ["Bearer t1", "Bearer t2"])
            await client.shutdown()
        }
    }

    @Test func aRedirectThatKeepsTheBodyStartsAnew() async throws {
        try await MockServer.run { server in
            server.on(.post, "/a") { _ in .status(307, headers: ["Location": "/b"]) }
            server.on(.post, "/b") { _ in .status(204) }
            let client = client(server)
            let body = Self.stream(of: [1 << 18, 1 << 18, 1 << 19], length: Self.megabyte)
            _ = try await client.rawRequest(Request<Data>(.post, "/a").body(body), options: options)
            #expect(heard.reports == twoAttempts)
            await client.shutdown()
        }
    }

    @Test func aRedirectToGETReportsNothingMore() async throws {
        try await MockServer.run { server in
            server.on(.post, "/a") { _ in .status(303, headers: ["Location": "/b"]) }
            server.on(.get, "/b") { _ in .text("b") }
            let client = client(server)
            let body = RequestBody.data(Data(count: 10))
            _ = try await client.rawRequest(Request<Data>(.post, "/a").body(body), options: options)
            #expect(heard.reports == [.init(completed: 10, total: 10)])
            await client.shutdown()
        }
    }

    // MARK: Downloads

    @Test(arguments: [100_000, 0])
    func aDownloadReportsItsBytesUpToTheTotal(size: Int) async throws {
        try await MockServer.run { server in
            server.on(.get, "/a") { _ in .data(Data(repeating: 7, count: size)) }
            try await Self.withFile(of: 0) { file in
                let client = client(server)
                _ = try await client.perform(
                    client.plan(Request<Data>(.get, "/a"), options, CallShape(delivery: .file(file, resumeOffset: 0))))
                #expect(heard.reports.last == .init(completed: Int64(size), total: Int64(size)))
                #expect(heard.reports.count <= 2)
                #expect(try Data(contentsOf: file).count == size)
                await client.shutdown()
            }
        }
    }

    @Test func aResumedDownloadCountsTheExistingBytes() async throws {
        try await MockServer.run { server in
            server.on(.get, "/a") { _ in
                .data(Data(count: 50), status: 206, headers: ["Content-Range": "bytes 50-99/100"])
            }
            try await Self.withFile(of: 50) { file in
                let client = client(server)
                _ = try await client.perform(
                    client.plan(Request<Data>(.get, "/a"), options, CallShape(delivery: .file(file, resumeOffset: 50))))
                #expect(heard.reports.last == .init(completed: 100, total: 100))
                await client.shutdown()
            }
        }
    }

    // MARK: Events

    @Test func theSameReportsAreEvents() async throws {
        let sink = RecordingSink()
        try await MockServer.run { server in
            server.on(.put, "/a", script: [.status(503), .status(204)])
            try await Self.withFile(of: 1 << 20) { file in
                let client = client(server, retry: .immediate(2), events: PulseEventBus(sink: sink))
                _ = try await client.rawRequest(Request<Data>(.put, "/a").body(.file(file)))
                await client.shutdown()
            }
        }
        var attempts: [Int] = []
        let reports = sink.events.compactMap { event -> TransferProgress? in
            guard case .transferProgress(let call, let completed, let total) = event else { return nil }
            attempts.append(call.attempt)
            return TransferProgress(completed: completed, total: total, attempt: call.attempt)
        }
        #expect(reports == twoAttempts)
        #expect(attempts == [1, 1, 2, 2])
        let names = ["attemptStarted", "transferProgress", "transferProgress", "responseReceived"]
        #expect(sink.names == ["requestStarted"] + names + ["requestRetrying"] + names + ["requestCompleted"])
    }

    /// With a subscriber of events, a small body must still be sent the faster way.
    @Test func aSmallBodyIsMeasuredOnlyForItsCall() async throws {
        let sink = RecordingSink()
        try await MockServer.run { server in
            server.fallback { _ in .status(204) }
            let client = client(server, events: PulseEventBus(sink: sink))
            let put = Request<Data>(.put, "/a").body(.data(Data(count: 10)))
            _ = try await client.rawRequest(put)
            #expect(!sink.names.contains("transferProgress"))
            _ = try await client.rawRequest(put, options: options)
            #expect(sink.names.count { $0 == "transferProgress" } == 1)
            await client.shutdown()
        }
    }
}
#endif
