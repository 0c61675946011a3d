// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore
import PulseObservability
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// When the client measures the progress of a transfer, and when its reports end.
@Suite(.throttled)
struct ProgressTests {
    private let heard = Heard()

    private var options: RequestOptions { RequestOptions().with(\.progress, value: heard.take) }

    private static let file = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-progress")

    /// Runs a closure for each request, as a transport without a wire.
    private struct ClosureTransport: Transport {
        let body: @Sendable (TransportRequest) async throws -> PulseResponse

        var capabilities: TransportCapabilities { .simulated }

        func send(_ request: TransportRequest) async throws -> PulseResponse { try await body(request) }
    }

    private func client(
        _ clock: TestClock = TestClock(), plugins: [any PulsePlugin] = [],
        _ body: @escaping @Sendable (TransportRequest) async throws -> PulseResponse
    ) -> PulseClient {
        ClientStage.client(plugins: plugins, clock: clock, over: ClosureTransport(body: body))
    }

    @Test(
        arguments: [
            (.none, .buffered(limit: 1000), false), (.data(Data()), .buffered(limit: 1000), false),
            (.data(Data(count: 65_536)), .buffered(limit: 1000), false),
            (.data(Data(count: 65_537)), .buffered(limit: 1000), true),
            (.stream { ByteStream([]) }, .buffered(limit: 1000), true), (.none, .streamed, false),
            (.none, .file(file, resumeOffset: 0), true),
            (.data(Data(count: 1)), .file(file, resumeOffset: 0), true),
        ] as [(RequestBody, TransportRequest.Delivery, Bool)])
    func aSubscriberOfEventsMeasuresOnlyLargeTransfers(
        body: RequestBody, delivery: TransportRequest.Delivery, isMeasured: Bool
    ) async throws {
        defer { try? FileManager.default.removeItem(at: Self.file) }
        let request = Request<Data>(.put, "/a").body(body)
        let (bus, sink) = (PulseEventBus(), RecordingSink())
        let mock = MockTransport.responding()
        let client = ClientStage.client(over: mock, events: bus)
        _ = try await client.perform(client.plan(request, RequestOptions(), CallShape(delivery: delivery)))
        bus.addSink(sink)
        _ = try await client.perform(client.plan(request, RequestOptions(), CallShape(delivery: delivery)))
        _ = try await client.perform(client.plan(request, options, CallShape(delivery: delivery)))
        #expect(mock.transportRequests.map { $0.progress != nil } == [false, isMeasured, true])
        await client.shutdown()
    }

    /// A transport may still report when its request has ended, as a task that feeds an upload does.
    @Test(arguments: [false, true])
    func nothingIsReportedAfterTheResult(isFailure: Bool) async throws {
        let late = Locked<(@Sendable (TransferProgress) -> Void)?>(nil)
        let clock = TestClock()
        let client = client(clock) { request in
            for completed in 1...3 { request.progress?(.init(completed: Int64(completed), total: 9)) }
            late.withLock { $0 = request.progress }
            if isFailure { throw PulseError.noConnection }
            return PulseResponse(statusCode: 204, request: request.urlRequest)
        }
        _ = try? await client.rawRequest(Request<Data>(.put, "/a").body(.text("x")), options: options)
        #expect(heard.completed == [1, 3])
        await clock.advance(by: 1)
        late.withLock { $0 }?(.init(completed: 9, total: 9))
        #expect(heard.completed == [1, 3])
        await client.shutdown()
    }

    /// The server may respond before it has read the whole body.
    @Test func aStreamedResponseEndsTheReports() async throws {
        let late = Locked<(@Sendable (TransferProgress) -> Void)?>(nil)
        let client = client { request in
            request.progress?(.init(completed: 1, total: nil))
            late.withLock { $0 = request.progress }
            var response = PulseResponse(statusCode: 200, request: request.urlRequest)
            response.body = .stream(
                ByteStream(next: {
                    request.progress?(.init(completed: 2, total: nil))
                    return nil
                }))
            return response
        }
        let response = try await client.perform(
            client.plan(Request<Data>(.put, "/a").body(.text("x")), options, CallShape(delivery: .streamed)))
        #expect(heard.completed == [1])
        for try await _ in try #require(response.bytes) {}
        #expect(heard.completed == [1, 2])
        late.withLock { $0 }?(.init(completed: 3, total: 3))
        #expect(heard.completed == [1, 2])
        await client.shutdown()
    }

    /// Such a request may outlive the call, and has a body of its own.
    @Test func requestsOfPluginsReportNothing() async throws {
        let other = ClosurePlugin { request, context, next in
            var login = request
            login.httpBody = Data("login".utf8)
            _ = try await next.send(ready: login, limit: 1000)
            _ = try await next.detached()(request)
            return try await next(request)
        }
        let measured = Locked<[Bool]>([])
        let client = client(plugins: [other]) { request in
            measured.withLock { $0.append(request.progress != nil) }
            return PulseResponse(statusCode: 204, request: request.urlRequest)
        }
        _ = try await client.rawRequest(Request<Data>(.put, "/a").body(.text("x")), options: options)
        #expect(measured.withLock { $0 } == [false, false, true])
        await client.shutdown()
    }

    @Test func theClientsClockLimitsTheReports() async throws {
        let clock = TestClock(autoAdvances: true)
        let client = client(clock) { request in
            for completed in 1...100 {
                request.progress?(.init(completed: Int64(completed), total: nil))
                try await clock.sleep(0.02)
            }
            return PulseResponse(statusCode: 204, request: request.urlRequest)
        }
        _ = try await client.rawRequest(Request<Data>(.put, "/a").body(.text("x")), options: options)
        #expect(heard.completed == (0..<20).map { $0 * 5 + 1 } + [100])
        await client.shutdown()
    }
}
