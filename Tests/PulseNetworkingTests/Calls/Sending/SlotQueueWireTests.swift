// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

@testable import PulseCalls
@testable import PulseTransports

/// A request that waits for a slot is still in this process: the host has not seen it, and the wait is not the host's
/// time.
@Suite(.tags(.threads), .throttled)
struct SlotQueueWireTests {
    /// One slot, which is in use.
    private struct Stage {
        let clock = TestClock()
        let server: MockServer
        let transport = SocketTransport(maxConnectionsPerHost: 1)
        let client: PulseClient
        private let holder: Task<Void, any Error>

        init(_ server: MockServer, plugins: [any PulsePlugin], retrying: RetryPolicy = .none) async throws {
            self.server = server
            server.on(.get, "/hold") { _ in .raw([.stall]) }
            client = ClientStage.client(of: server, plugins: plugins, retry: retrying, clock: clock, over: transport)
            holder = Task { [transport] in
                let request = URLRequest(url: server.baseURL.appendingPathComponent("hold"))
                _ = try await transport.send(TransportRequest(urlRequest: request, idleTimeout: 600))
            }
            try await server.requests(atLeast: 1)
        }

        /// A call that waits for the slot.
        func waiting(
            _ method: HTTPMethod = .get, _ options: RequestOptions = RequestOptions()
        ) -> Task<PulseResponse, any Error> {
            let call = Task.startingNow { [client] in
                try await client.rawRequest(Request<Data>(method, "/data"), options: options)
            }
            #expect(transport.waiterCount(server.baseURL) == 1)
            return call
        }

        func free() {
            holder.cancel()
        }

        func shutdown() async {
            holder.cancel()
            _ = await holder.result
            await client.shutdown()
            await transport.shutdown()
        }

        var count: Int { server.requests.count { $0.path == "/data" } }
    }

    /// Trap: unsent calls open the circuit of a healthy host.
    @Test(arguments: [false, true])
    func aDeadlineThatExpiresInTheSlotQueueIsNoFailureOfTheHost(isSent: Bool) async throws {
        try await MockServer.run { server in
            server.on(.get, "/data") { _ in .raw([.stall]) }
            let breaker = CircuitBreakerPlugin(failureThreshold: 1)
            let stage = try await Stage(server, plugins: [breaker])
            let call = stage.waiting(.get, RequestOptions().with(\.deadline, value: 5))
            if isSent {
                stage.free()
                try await server.wait { $0.requests.contains { $0.path == "/data" } }
            }
            await stage.clock.sleepers(atLeast: 1, for: .deadline)
            await stage.clock.advance(by: 5)
            let error = await #expect(throws: PulseError.self) { try await call.value }
            #expect(error?.kind == .deadlineExceeded)
            #expect(breaker.state(for: server.baseURL) == (isSent ? .open : .closed))
            #expect(stage.count == (isSent ? 1 : 0))
            await stage.shutdown()
        }
    }

    @Test func aDeadlineThatExpiresInAWillSendHookIsNoFailureOfTheHost() async throws {
        try await MockServer.run { server in
            let breaker = CircuitBreakerPlugin(failureThreshold: 1)
            let stage = try await Stage(server, plugins: [breaker, Looking()])
            let call = Task {
                try await stage.client.rawRequest(
                    Request<Data>(.get, "/data"), options: RequestOptions().with(\.deadline, value: 5))
            }
            await stage.clock.sleepers(atLeast: 1)
            await stage.clock.sleepers(atLeast: 1, for: .deadline)
            await stage.clock.advance(by: 5)
            let error = await #expect(throws: PulseError.self) { try await call.value }
            #expect(error?.kind == .deadlineExceeded)
            #expect(breaker.state(for: server.baseURL) == .closed)
            await stage.shutdown()
        }
    }

    @Test func aLongWaitInTheSlotQueueMakesNoSlowCall() async throws {
        try await MockServer.run { server in
            server.on(.get, "/data") { _ in .text("data") }
            let window = CircuitBreakerPlugin.Policy.RateWindow(calls: 1, minimumCalls: 1, slowCallDuration: 10)
            let breaker = CircuitBreakerPlugin(policy: CircuitBreakerPlugin.Policy(trip: .rate(window)))
            let stage = try await Stage(server, plugins: [breaker])
            let call = stage.waiting()
            await stage.clock.advance(by: 100)
            stage.free()
            _ = try await call.value
            #expect(breaker.state(for: server.baseURL) == .closed)
            await stage.shutdown()
        }
    }

    /// Nor does a copy count as sent before it is.
    @Test func aRequestInTheSlotQueueIsNotHedged() async throws {
        try await MockServer.run { server in
            let hold = Locked(false)
            server.on(.get, "/data") { _ in hold.withLock { $0 } ? .raw([.stall]) : .text("data") }
            let hedging = HedgingPlugin(delay: .fixed(1), maxCopies: 8)
            let warm = ClientStage.client(of: server, plugins: [hedging], retry: .default)
            // Enough for all possible copies.
            for _ in 0..<160 { _ = try await warm.rawRequest(Request<Data>(.get, "/data")) }
            await warm.shutdown()
            hold.withLock { $0 = true }
            server.forgetRequests()
            let stage = try await Stage(server, plugins: [hedging])
            let call = stage.waiting()
            for _ in 0..<3 {
                await stage.clock.sleepers(atLeast: 1)
                await stage.clock.advance(by: 1)
            }
            #expect(stage.transport.waiterCount(server.baseURL) == 1)
            stage.free()
            try await server.wait { $0.requests.contains { $0.path == "/data" } }
            for _ in 0..<3 {
                await stage.clock.sleepers(atLeast: 1)
                await stage.clock.advance(by: 1)
            }
            // The first copy waits; another one would only wait behind it.
            #expect(stage.transport.waiterCount(server.baseURL) == 1)
            // Checked before the cancellation, which may free the connection a moment before it reaches the copy.
            #expect(stage.count == 1)
            call.cancel()
            _ = await call.result
            await stage.shutdown()
        }
    }

    /// It is no failure of the host, nothing was sent, and another attempt would wait as long.
    @Test func aWaitInTheSlotQueueEndsAtItsLimit() async throws {
        try await MockServer.run { server in
            let breaker = CircuitBreakerPlugin(failureThreshold: 1)
            let counting = Counting()
            let eager = RetryPolicy.immediate()
            let stage = try await Stage(server, plugins: [breaker, counting], retrying: eager)
            let error = await #expect(throws: PulseError.self) {
                try await stage.client.rawRequest(
                    Request<Data>(.post, "/data"), options: RequestOptions().with(\.poolTimeout, value: 0.05))
            }
            #expect(error?.isPoolTimeout == true)
            #expect(error?.phase == .beforeSend)
            let text = error.map { "\($0)" } ?? ""
            #expect(text.contains("waited 0.05 s") && text.contains(" to \(server.baseURL.host ?? "-"),"), "\(text)")
            #expect(counting.attempts.withLock { $0 } == 1)
            #expect(counting.sent.withLock { $0 } == 0)
            #expect(breaker.state(for: server.baseURL) == .closed)
            stage.free()
            #expect(stage.count == 0)
            await stage.shutdown()
        }
    }

    /// The attempt before it was sent.
    @Test func aWaitInVainTakesBackItsOwnRequestAlone() async throws {
        try await MockServer.run { server in
            server.on(.put, "/data") { _ in .status(503) }
            server.on(.get, "/hold") { _ in .raw([.stall]) }
            let clock = TestClock()
            let counting = Counting()
            let transport = SocketTransport(maxConnectionsPerHost: 1)
            let client = ClientStage.client(
                of: server, plugins: [counting], retry: RetryPolicy(maxAttempts: 2, backoffStrategy: .constant(1)),
                clock: clock, over: transport)
            let call = Task {
                try await client.rawRequest(
                    Request<Data>(.put, "/data"), options: RequestOptions().with(\.poolTimeout, value: 0.05))
            }
            await clock.sleepers(atLeast: 1)
            let holder = Task {
                let request = URLRequest(url: server.baseURL.appendingPathComponent("hold"))
                return try await transport.send(TransportRequest(urlRequest: request, idleTimeout: 600))
            }
            try await server.wait { $0.requests.contains { $0.path == "/hold" } }
            await clock.advance(by: 1)
            let error = await #expect(throws: PulseError.self) { try await call.value }
            #expect(error?.isPoolTimeout == true)
            #expect(counting.attempts.withLock { $0 } == 2)
            #expect(counting.sent.withLock { $0 } == 1)
            holder.cancel()
            _ = await holder.result
            await client.shutdown()
            await transport.shutdown()
        }
    }

    /// Trap: as many feeds as a host has slots make every other call wait.
    @Test func openFeedsLeaveTheSlotsToOtherCalls() async throws {
        try await MockServer.run { server in
            server.onEvents("/feed") { _, feed in
                try await feed.send(ServerSentEvent(data: "x"))
                // Silent until the client leaves.
                for await _ in AsyncStream<Never>.makeStream().stream {}
            }
            server.on(.get, "/data") { _ in .text("data") }
            let configuration = PulseConfiguration.patient(with: server).with(\.retryPolicy, value: .never)
                .with(\.maxConnectionsPerHost, value: 2).with(\.poolTimeout, value: 5)
            let transport = StandardTransport(configuration)
            let client = ClientStage.client(configuration, over: transport)
            var feeds = (0..<4).map { _ in client.serverSentEvents("/feed").makeAsyncIterator() }
            for index in feeds.indices {
                let event = try await feeds[index].next()
                #expect(event?.data == "x")
            }
            #expect(try await client.get("/data", as: String.self) == "data")
            feeds = []
            await client.shutdown()
            await transport.shutdown()
        }
    }

    /// Its body is a stream too, but it ends.
    @Test func aDownloadTakesASlot() async throws {
        try await MockServer.run { server in
            server.on(.get, "/file") { _ in .data(Data(count: 100_000)).fault(.stall, at: .body(1_000)) }
            server.on(.get, "/data") { _ in .text("data") }
            let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: directory) }
            let transport = SocketTransport(maxConnectionsPerHost: 1)
            let client = ClientStage.client(of: server, retry: .default, over: transport)
            let download = Task {
                try await client.download("/file", to: directory.appendingPathComponent("file"))
            }
            try await server.wait { ($0.connections.first?.sentByteCount ?? 0) > 1_000 }
            let call = Task.startingNow { try await client.get("/data", as: String.self) }
            #expect(transport.waiterCount(server.baseURL) == 1)
            download.cancel()
            #expect(try await call.value == "data")
            _ = await download.result
            await client.shutdown()
            await transport.shutdown()
        }
    }

    /// The request was sent in the end.
    @Test func aPOSTThatIsLostAfterTheSlotQueueIsNotResent() async throws {
        try await MockServer.run { server in
            server.on(.post, "/data") { _ in .raw([.reset]) }
            let eager = RetryPolicy.immediate()
            let stage = try await Stage(server, plugins: [], retrying: eager)
            let call = stage.waiting(.post)
            stage.free()
            await #expect(throws: PulseError.self) { try await call.value }
            #expect(stage.count == 1)
            await stage.shutdown()
        }
    }
}

/// Counts the attempts of a call, and those that were sent.
private struct Counting: PulsePlugin {
    let identifier = "counting"
    let attempts = Locked(0)
    let sent = Locked(-1)

    func willSend(_ request: URLRequest, for context: PluginContext) async {
        attempts.withLock { $0 += 1 }
    }

    func didComplete(_ context: PluginContext) async {
        sent.withLock { $0 = context.call.sentCount }
    }
}

/// Delays a request until the task is cancelled.
private struct Looking: PulsePlugin {
    let identifier = "looking"

    func willSend(_ request: URLRequest, for context: PluginContext) async {
        try? await context.clock.sleep(1000)
    }
}
#endif
