// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore
import PulseObservability
import PulsePlatform
import PulsePlugins
import PulseTesting
import PulseTransfers
import PulseTransports
import TestSupport
import Testing

/// Uploads over real sockets, and the sequence of a transfer's steps.
@Suite(.tags(.threads), .throttled)
struct UploadTests {
    private struct Created: Codable, Sendable, Equatable {
        let size: Int
    }

    private struct Put: Endpoint {
        typealias Response = Created
        let path = "/file"
        let method = HTTPMethod.put
        var body: RequestBody
    }

    private static func client(_ server: MockServer, _ clock: TestClock = TestClock()) -> PulseClient {
        ClientStage.client(of: server, plugins: [.auth(Tokens())], retry: .default, clock: clock)
    }

    private static func stream(_ count: Int, of size: Int = 1 << 18) -> RequestBody {
        .stream(length: Int64(count * size)) {
            let rest = Locked(count)
            return ByteStream(next: {
                rest.withLock { rest in
                    defer { rest -= 1 }
                    return rest > 0 ? Data(repeating: 7, count: size) : nil
                }
            })
        }
    }

    @Test func anUploadReportsItsProgressAndReturnsTheValue() async throws {
        try await MockServer.run { server in
            server.on(.put, "/file", script: [.status(401), try .json(Created(size: 1 << 20))])
            let client = Self.client(server)
            let heard = Heard()
            let value = try await client.upload(Put(body: Self.stream(4)), progress: heard.take)
            #expect(value == Created(size: 1 << 20))
            let reports = heard.reports
            #expect(reports.last == TransferProgress(completed: 1 << 20, total: 1 << 20, attempt: 2))
            #expect(reports.map(\.attempt) == reports.map(\.attempt).sorted())
            #expect(reports.allSatisfy { $0.fraction.map { $0 > 0 && $0 <= 1 } == true })
            #expect(server.requests.map(\.bodyByteCount) == [1 << 20, 1 << 20])
            await client.shutdown()
        }
    }

    @Test func anUploadWhoseDiskHangsEndsByItsDeadline() async throws {
        try await MockServer.run { server in
            let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: directory) }
            let file = directory.appendingPathComponent("file")
            try Data(count: 10).write(to: file)
            let disk = DispatchSemaphore(value: 0)
            BlockingThreadPool.files(of: file).begin { disk.wait() }
            let clock = TestClock()
            let client = Self.client(server, clock)
            let options = RequestOptions().with(\.deadline, value: 2)
            let call = Task { try await client.upload(Put(body: .file(file)), options: options) }
            await clock.sleepers(atLeast: 1, for: .deadline)
            await clock.advance(by: 2)
            let error = await #expect(throws: PulseError.self) { try await call.value }
            #expect(error?.kind == .deadlineExceeded && server.requests.isEmpty)
            disk.signal()
            await client.shutdown()
        }
    }

    @Test func aFileIsUploadedToAPath() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString).mp4")
        try Data(count: 10).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try await MockServer.run { server in
            server.fallback { request in try .json(Created(size: request.bodyByteCount)) }
            let client = Self.client(server)
            let heard = Heard()
            try await client.upload(
                file, to: "/files/{name}", path: ["name": "a/b"], query: ["v": 1], headers: ["X-A": "1"],
                progress: heard.take)
            #expect(heard.reports.last == TransferProgress(completed: 10, total: 10))
            let made = try await client.upload(
                file, to: "/files/c", method: .post, contentType: "video/x", query: ["v": 2], headers: ["X-A": "2"],
                as: Created.self)
            #expect(made == Created(size: 10))
            var last: PulseClient.TransferUpdate<EmptyResponse>?
            for try await update in client.uploading(file, to: "/files/d", query: ["v": 3], headers: ["X-A": "3"]) {
                last = update
            }
            guard case .finished = last else {
                Issue.record("the last step is the value")
                return
            }
            #expect(server.requests.map(\.method) == [.put, .post, .put])
            #expect(server.requests.map(\.target) == ["/files/a%2Fb?v=1", "/files/c?v=2", "/files/d?v=3"])
            #expect(server.requests.map { $0.headers["Content-Type"] } == ["video/mp4", "video/x", "video/mp4"])
            #expect(server.requests.map { $0.headers["X-A"] } == ["1", "2", "3"])
            await client.shutdown()
        }
    }

    @Test func theStepsOfAnUploadEndWithItsValue() async throws {
        try await MockServer.run { server in
            server.on(.put, "/file") { request in try .json(Created(size: request.bodyByteCount)) }
            let client = Self.client(server)
            let uploads = client.uploading(Put(body: .data(Data(count: 10))))
            #expect(server.connectionCount == 0)
            // Each iterator makes an upload of its own.
            for number in 1...2 {
                var updates: [PulseClient.TransferUpdate<Created>] = []
                for try await update in uploads { updates.append(update) }
                #expect(
                    updates == [.progress(TransferProgress(completed: 10, total: 10)), .finished(Created(size: 10))])
                #expect(server.requests.count == number)
            }
            await client.shutdown()
        }
    }

    @Test func aFailureIsThrownOnceAfterTheLastProgress() async throws {
        try await MockServer.run { server in
            server.on(.put, "/file") { _ in .status(413) }
            let client = Self.client(server)
            var iterator = client.uploading(Put(body: .data(Data(count: 10)))).makeAsyncIterator()
            let first = try await iterator.next()
            #expect(first == .progress(TransferProgress(completed: 10, total: 10)))
            let error = await #expect(throws: PulseError.self) { try await iterator.next() }
            #expect(error?.statusCode == 413)
            let end = try await iterator.next()
            #expect(end == nil)
            await client.shutdown()
        }
    }

    enum End: CaseIterable { case leaving, cancelling }

    @Test(arguments: End.allCases)
    func leavingTheLoopClosesTheWire(by end: End) async throws {
        try await MockServer.run { server in
            // Reads nothing, so that the upload never ends.
            server.on(.put, "/file", reading: .interrupted(after: 1, .stall)) { _ in .status(204) }
            let client = Self.client(server)
            let (starts, started) = AsyncStream<Void>.makeStream()
            let reader = Task {
                for try await _ in client.uploading(Put(body: Self.stream(1000))) {
                    // The first progress may come before there is a connection to close.
                    try await server.wait { !$0.connections.isEmpty }
                    started.yield()
                    if end == .leaving { return }
                }
            }
            for await _ in starts { break }
            if end == .cancelling {
                reader.cancel()
                let error = await #expect(throws: PulseError.self) { try await reader.value }
                #expect(error?.kind == .cancelled)
            } else {
                try await reader.value
            }
            try await server.connectionsClosedByClient()
            await client.shutdown()
        }
    }
}
