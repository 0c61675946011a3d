// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct MockTransportTests {
    private static let body = Data("0123456789".utf8)

    private static func transport(status: Int = 200, data: Data = body) -> MockTransport {
        MockTransport { PulseResponse(statusCode: status, headers: ["A": "b"], data: data, request: $0) }
    }

    private static func request(
        _ delivery: TransportRequest.Delivery = .buffered(limit: 100), _ target: String = "/"
    ) -> TransportRequest {
        TransportRequest(urlRequest: .mock(.get, target), delivery: delivery)
    }

    @Test func returnsTheResponseOfTheClosure() async throws {
        let transport = MockTransport { request in
            PulseResponse(
                data: Data((request.url?.path ?? "").utf8), httpResponse: .mock(statusCode: 201), request: request,
                latency: 0.01)
        }
        let response = try await transport.send(Self.request(.buffered(limit: 100), "/users"))
        #expect(response.statusCode == 201)
        #expect(response.data == Data("/users".utf8))
        #expect(response.latency == 0.01)
        #expect(response.origin == .mock)
        #expect(transport.capabilities == .simulated)
    }

    @Test func recordsRequestsInTheirOrder() async throws {
        let transport = Self.transport()
        for path in ["/1", "/2", "/3"] { _ = try await transport.send(Self.request(.streamed, path)) }
        #expect(transport.requests.map { $0.url?.path } == ["/1", "/2", "/3"])
        #expect(transport.transportRequests.map(\.delivery) == [.streamed, .streamed, .streamed])
    }

    @Test func passesTheClosuresErrorUnchanged() async {
        struct Broken: Error, Equatable { let code: Int }
        let transport = MockTransport { _ in throw Broken(code: 7) }
        await #expect(throws: Broken(code: 7)) { try await transport.send(Self.request()) }
        #expect(transport.requests.count == 1)
    }

    @Test func refusesAnUpgrade() async {
        let transport = Self.transport()
        await #expect { try await transport.send(Self.request(.upgrade)) } throws: {
            ($0 as? PulseError)?.kind == .unsupported
        }
        #expect(transport.requests.isEmpty)
    }

    // MARK: Cancellation

    @Test func aCallCancelledWhileItsClosureRespondsThrows() async throws {
        let (reached, reach) = AsyncStream<Void>.makeStream()
        let gate = AsyncStream<Void>.makeStream()
        let transport = MockTransport { request in
            reach.yield()
            // Ignores cancellation, as a closure may: the transport waits for it.
            await Task.detached { for await _ in gate.stream {} }.value
            return PulseResponse(statusCode: 200, request: request)
        }
        let call = Task { try await transport.send(Self.request()) }
        for await _ in reached { break }
        call.cancel()
        gate.continuation.finish()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(transport.requests.count == 1)
    }

    @Test func cancelsTheClosureWithTheCall() async throws {
        let clock = TestClock()
        let wasCancelled = AsyncStream<Bool>.makeStream()
        let transport = MockTransport { request in
            defer {
                wasCancelled.continuation.yield(Task.isCancelled)
                wasCancelled.continuation.finish()
            }
            try await clock.sleep(60)
            return PulseResponse(statusCode: 200, request: request)
        }
        let call = Task { try await transport.send(Self.request()) }
        await clock.sleepers(atLeast: 1)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        for await value in wasCancelled.stream { #expect(value) }
        #expect(clock.sleeperCount == 0)
    }

    @Test func neverSendsACancelledCall() async {
        let transport = Self.transport()
        let call = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await transport.send(Self.request())
        }
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(transport.requests.isEmpty)
    }

    @Test func refusesRequestsAfterShutdown() async {
        let transport = Self.transport()
        await transport.shutdown()
        await #expect(throws: PulseError.self) { try await transport.send(Self.request()) }
        #expect(transport.requests.isEmpty)
    }

    @Test func servesManyConcurrentCalls() async throws {
        let transport = Self.transport()
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<500 { group.addTask { try await transport.send(Self.request()).data.count } }
            for try await count in group { #expect(count == 10) }
        }
        #expect(transport.requests.count == 500)
    }

    // MARK: Delivery

    @Test(arguments: [9, 10])
    func enforcesTheLimitOfABufferedBody(_ limit: Int) async throws {
        let streamed = MockTransport { request in
            var response = PulseResponse(statusCode: 200, request: request)
            response.body = .stream(ByteStream([Data("01234".utf8), Data("56789".utf8)]))
            return response
        }
        for transport in [Self.transport(), streamed] {
            if limit == 10 {
                let response = try await transport.send(Self.request(.buffered(limit: limit)))
                #expect(response.data == Self.body && response.bytes == nil)
            } else {
                await #expect { try await transport.send(Self.request(.buffered(limit: limit))) } throws: {
                    guard case .responseTooLarge(limit: 9) = PulseError(wrapping: $0) else { return false }
                    #expect(($0 as? TransportFailure)?.response?.statusCode == 200)
                    return true
                }
            }
        }
    }

    @Test func streamsTheBodyOfA2xx() async throws {
        let response = try await Self.transport(status: 206).send(Self.request(.streamed))
        #expect(response.data.isEmpty)
        #expect(try await response.bytes?.collect(upTo: 100) == Self.body)
    }

    @Test func passesOnAStreamOfTheClosure() async throws {
        let stream = ByteStream([Data("a".utf8)])
        let transport = MockTransport { request in
            var response = PulseResponse(statusCode: 200, request: request)
            response.body = .stream(stream)
            return response
        }
        #expect(try await transport.send(Self.request(.streamed)).bytes === stream)
    }

    @Test func writesTheBodyOfA2xxToAFile() async throws {
        try await withTemporaryFile { file in
            try Data("old and longer than the new".utf8).write(to: file)
            let response = try await Self.transport().send(Self.request(.file(file, resumeOffset: 0)))
            #expect(response.file == file && response.data.isEmpty)
            #expect(try Data(contentsOf: file) == Self.body)
        }
    }

    @Test(arguments: [(206, "oh0123456789"), (200, "0123456789")])
    func continuesAFileOnlyForAPartialResponse(_ status: Int, content: String) async throws {
        try await withTemporaryFile { file in
            try Data("ohne".utf8).write(to: file)
            let progress = Locked<[TransferProgress]>([])
            var request = Self.request(.file(file, resumeOffset: 2))
            request.progress = { step in progress.withLock { $0.append(step) } }
            _ = try await Self.transport(status: status).send(request)
            #expect(try String(decoding: Data(contentsOf: file), as: UTF8.self) == content)
            let size = Int64(content.utf8.count)
            #expect(progress.withLock { $0 } == [TransferProgress(completed: size, total: size)])
        }
    }

    @Test func reportsTheUploadBeforeTheClosureRuns() async throws {
        let piece = 256 << 10
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        try Data(count: piece + 1).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let chunks = { @Sendable in ByteStream([Data(count: 1), Data(count: 2)]) }
        let bodies: [(TransportRequest.Body, [Int], total: Int?)] = [
            (.bytes(Data(count: 10)), [10], 10), (.bytes(Data(count: 2 * piece)), [piece, 2 * piece], 2 * piece),
            (.bytes(Data()), [0], 0), (.none, [], nil), (.file(file), [piece, piece + 1], piece + 1),
            (.file(file.appendingPathComponent("missing")), [], nil),
            (.stream(RequestBody.Stream(length: 3, make: chunks)), [3], 3),
            (.stream(RequestBody.Stream(length: nil, make: chunks)), [1, 3], nil),
            (.stream(RequestBody.Stream(length: nil) { ByteStream([]) }), [0], 0),
            (.stream(RequestBody.Stream(length: nil, isOneShot: true) { throw PulseError.emptyBody }), [], nil),
        ]
        for (body, completed, total) in bodies {
            let progress = Locked<[TransferProgress]>([])
            let expected = completed.map { TransferProgress(completed: Int64($0), total: total.map(Int64.init)) }
            let transport = MockTransport { request in
                #expect(progress.withLock { $0 } == expected, "\(body)")
                return PulseResponse(statusCode: 204, request: request)
            }
            var request = Self.request(.buffered(limit: 10))
            request.body = body
            request.progress = { step in progress.withLock { $0.append(step) } }
            _ = try await transport.send(request)
        }
    }

    @Test func aFileThatCannotBeWrittenIsAnError() async {
        let file = URL(fileURLWithPath: "/nowhere/at/all")
        await #expect { try await Self.transport().send(Self.request(.file(file, resumeOffset: 0))) } throws: {
            ($0 as? TransportFailure)?.code == .cannotWriteToFile
        }
    }

    @Test(arguments: [64 << 10, 64 << 10 + 1])
    func truncatesTheBodyOfAnErrorInAStreamOrDownload(_ size: Int) async throws {
        try await withTemporaryFile { file in
            for delivery in [TransportRequest.Delivery.streamed, .file(file, resumeOffset: 0)] {
                let transport = Self.transport(status: 404, data: Data(count: size))
                let response = try await transport.send(Self.request(delivery))
                #expect(response.data.count == 64 << 10)
                #expect(response.isTruncated == (size > 64 << 10))
                #expect(response.bytes == nil && response.file == nil)
                #expect(!FileManager.default.fileExists(atPath: file.path))
            }
        }
    }

    @Test func truncatesAnEndlessErrorBody() async throws {
        let transport = MockTransport { request in
            var response = PulseResponse(statusCode: 500, request: request)
            response.body = .stream(ByteStream(next: { Data(count: 1000) }))
            return response
        }
        let response = try await transport.send(Self.request(.streamed))
        #expect(response.data.count == 64 << 10 && response.isTruncated)
    }

    private func withTemporaryFile(_ body: (URL) async throws -> Void) async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try await body(file)
    }
}

@Suite(.throttled)
struct HTTPURLResponseMockTests {
    @Test func aMockedResponseHasItsStatusAndHeaders() {
        let response = HTTPURLResponse.mock(statusCode: 429, headers: ["Retry-After": "3"])
        #expect(response.statusCode == 429)
        #expect(response.value(forHTTPHeaderField: "retry-after") == "3")
        #expect(HTTPURLResponse.mock().statusCode == 200)
    }

    @Test(arguments: [-1, 0, 99, 1000, Int.max, Int.min])
    func makesAResponseFromAnyParts(_ status: Int) {
        let response = HTTPURLResponse.mock(
            statusCode: status, headers: ["": "", "a\r\nb": "\0", "Content-Length": "-5", "Content-Type": ";;"])
        #expect(response.url != nil)
    }
}
