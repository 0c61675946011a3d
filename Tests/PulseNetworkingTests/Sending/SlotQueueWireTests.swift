// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore
import PulseObservability
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

@testable import PulseNetworking
@testable import PulseTransports

/// A request that waits for a slot is still in this process: the host has not seen it, and the wait is not the host's
/// time.
@Suite(.tags(.threads), .throttled, .timeLimit(.minutes(15)))
struct SlotQueueWireTests {
    /// One slot, which is in use.
    private struct Stage {
        let clock = TestClock()
        let server: MockServer
        let transport = CurlTransport(maximumConnectionsPerHost: 1)
        let client: PulseClient
        private let holder: Task<Void, any Error>

        init(_ server: MockServer, plugins: [any PulsePlugin], retrying: RetryPolicy = .none) async throws {
            self.server = server
            server.on(.get, "/hold") { _ in .raw([.stall]) }
            client = PulseClient(
                configuration: PulseConfiguration.patient(with: server).with(\.clock, value: clock)
                    .with(\.retryPolicy, value: retrying),
                plugins: plugins, transport: transport, events: PulseEventBus())
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
            let window = CircuitBreakerPolicy.RateWindow(calls: 1, minimumCalls: 1, slowCallDuration: 10)
            let breaker = CircuitBreakerPlugin(policy: CircuitBreakerPolicy(trip: .rate(window)))
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
            let hedging = HedgingPlugin(delay: .fixed(1), maximumCopies: 8)
            let warm = PulseClient(
                configuration: PulseConfiguration.patient(with: server), plugins: [hedging], events: PulseEventBus())
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

    /// The request was sent in the end.
    @Test func aPOSTThatIsLostAfterTheSlotQueueIsNotResent() async throws {
        try await MockServer.run { server in
            server.on(.post, "/data") { _ in .raw([.reset]) }
            let eager = RetryPolicy(maxAttempts: 3, backoffStrategy: .immediate)
            let stage = try await Stage(server, plugins: [], retrying: eager)
            let call = stage.waiting(.post)
            stage.free()
            await #expect(throws: PulseError.self) { try await call.value }
            #expect(stage.count == 1)
            await stage.shutdown()
        }
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
