// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

/// A shared request has the latest deadline of its calls, and they share its failures.
@Suite(.throttled)
struct CoalescingDeadlineTests {
    private struct Plain: Endpoint {
        typealias Response = Data

        let path = "/a"
    }

    private struct Stage {
        let plugin = CoalescingPlugin()
        let breaker = CircuitBreakerPlugin(failureThreshold: 1)
        let clock = TestClock()
        let gate = Gate(isOpen: true)
        let transport: MockTransport
        let client: PulseClient

        /// - Parameter responses: one after the other, the last one repeatedly; nil means no response.
        init(_ responses: [(status: Int, retryAfter: Int?)?], breaks: Bool = false) {
            let left = Locked(responses)
            let gate = gate
            transport = MockTransport { request in
                await gate.pass()
                let response = left.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
                guard let response else {
                    try await Task.sleep(nanoseconds: .max)
                    throw CancellationError()
                }
                let headers = response.retryAfter.map { ["Retry-After": "\($0)"] } ?? [:]
                return PulseResponse(
                    statusCode: response.status, headers: HTTPHeaders(headers), request: request)
            }
            client = ClientStage.client(
                .root, plugins: [plugin] + (breaks ? [breaker] : []), retry: RetryPolicy(backoffStrategy: .constant(1)),
                clock: clock, over: transport)
        }

        func start(deadline: TimeInterval?) -> Task<PulseResponse, any Error> {
            Task.startingNow {
                try await client.rawRequest(Plain(), options: RequestOptions().with(\.deadline, value: deadline))
            }
        }
    }

    private static func failure(_ task: Task<PulseResponse, any Error>) async -> PulseError? {
        guard case .failure(let error) = await task.result else { return nil }
        return PulseError(wrapping: error)
    }

    @Test func aRetryAfterBeyondAllDeadlinesIsNotWaitedFor() async {
        let stage = Stage([(503, 30)])
        stage.gate.close()
        let calls = [5.0, 10].map { stage.start(deadline: $0) }
        #expect(stage.plugin.waiterCount == 2)
        stage.gate.open()
        // At once: the clock is stopped.
        for call in calls {
            let error = await Self.failure(call)
            #expect(error?.kind == .http)
            #expect(error?.statusCode == 503)
        }
        #expect(stage.plugin.waiterCount == 0)
        #expect(stage.transport.requests.count == 1)
        #expect(!stage.clock.sleeps.contains(30))
    }

    @Test func aRetryHappensIfOneCallHasTimeAndOtherErrorsHaveTheFailure() async throws {
        let stage = Stage([(503, 10), (200, nil)])
        stage.gate.close()
        let hasty = stage.start(deadline: 5)
        let patient = stage.start(deadline: nil)
        #expect(stage.plugin.waiterCount == 2)
        stage.gate.open()
        // The retry, and the deadline.
        await stage.clock.sleepers(atLeast: 1)
        await stage.clock.sleepers(atLeast: 1, for: .deadline)
        await stage.clock.advance(by: 5)
        let error = await Self.failure(hasty)
        #expect(error?.kind == .deadlineExceeded)
        #expect(error?.statusCode == 503)
        await stage.clock.advance(by: 5)
        #expect(try await patient.value.statusCode == 200)
        #expect(stage.transport.requests.count == 2)
    }

    @Test func aDeadlineErrorDuringARetryHasTheFailureBeforeIt() async throws {
        let stage = Stage([(503, nil), nil])
        let call = stage.start(deadline: 5)
        await stage.clock.sleepers(atLeast: 1)
        await stage.clock.sleepers(atLeast: 1, for: .deadline)
        await stage.clock.advance(by: 1)
        await stage.gate.arrivals(atLeast: 2)
        await stage.clock.advance(by: 4)
        let error = await Self.failure(call)
        #expect(error?.kind == .deadlineExceeded)
        #expect(error?.statusCode == 503)
    }

    @Test func aHostThatExceedsAllDeadlinesHasFailed() async {
        let stage = Stage([nil], breaks: true)
        let calls = [5.0, 8].map { stage.start(deadline: $0) }
        #expect(stage.plugin.waiterCount == 2)
        await stage.gate.arrivals(atLeast: 1)
        await stage.clock.sleepers(atLeast: 1, for: .deadline)
        await stage.clock.advance(by: 5)
        #expect(await Self.failure(calls[0])?.kind == .deadlineExceeded)
        #expect(stage.breaker.state(for: "https://api.example.com") == .closed)
        await stage.clock.sleepers(atLeast: 1, for: .deadline)
        await stage.clock.advance(by: 3)
        #expect(await Self.failure(calls[1])?.kind == .deadlineExceeded)
        await stage.client.shutdown()
        #expect(stage.breaker.state(for: "https://api.example.com") == .open)
    }

    // MARK: Calls that join during a wait

    private static func start(_ client: PulseClient, deadline: TimeInterval?) -> Task<PulseResponse, any Error> {
        let options = RequestOptions().with(\.deadline, value: deadline).with(\.waitsForConnectivity, value: true)
        return Task.startingNow { try await client.rawRequest(Plain(), options: options) }
    }

    /// Advances the clock to each sleeper until the task has ended.
    private static func outcome(
        of task: Task<PulseResponse, any Error>, _ clock: TestClock
    ) async -> Result<PulseResponse, any Error> {
        let mover = Task {
            while !Task.isCancelled {
                await clock.sleepers(atLeast: 1)
                await clock.advance(by: 10)
            }
        }
        defer { mover.cancel() }
        return await task.result
    }

    @Test func aWaitForAConnectionHasTheLatestDeadlineOfItsCallers() async throws {
        let (clock, plugin, monitor) = (TestClock(), CoalescingPlugin(), ManualConnectivityMonitor.manual())
        monitor.set(.unsatisfied)
        let isUp = Locked(false)
        let transport = MockTransport { request in
            guard isUp.withLock({ $0 }) else { throw URLError(.notConnectedToInternet) }
            return PulseResponse(statusCode: 200, request: request)
        }
        let client = ClientStage.client(
            .root.with(\.connectivity, value: monitor), plugins: [plugin], clock: clock, over: transport)
        let hasty = Self.start(client, deadline: 5)
        // The sleepers of the deadline and of the wait.
        await clock.sleepers(atLeast: 1)
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 1)
        let patient = Self.start(client, deadline: nil)
        #expect(plugin.waiterCount == 2)
        await clock.advance(by: 4)
        #expect(await Self.failure(hasty) != nil)
        isUp.withLock { $0 = true }
        #expect(try await Self.outcome(of: patient, clock).get().statusCode == 200)
        await client.shutdown()
    }

    @Test func aWaitForARateLimitHasTheLatestDeadlineOfItsCallers() async throws {
        let (clock, plugin, gate) = (TestClock(), CoalescingPlugin(), Gate())
        let transport = MockTransport { request in
            guard request.url?.path == "/pausing" else { return PulseResponse(statusCode: 200, request: request) }
            await gate.pass()
            return PulseResponse(statusCode: 429, headers: ["Retry-After": "30"], request: request)
        }
        let client = ClientStage.client(
            .root, plugins: [plugin, .rateLimit(requests: 1, per: 10)], clock: clock, over: transport)
        let pausing = Task { try await client.rawRequest(Request<EmptyResponse>(.get, "/pausing")) }
        await gate.arrivals(atLeast: 1)
        let hasty = Self.start(client, deadline: 12)
        await clock.sleepers(atLeast: 1)
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 1)
        let patient = Self.start(client, deadline: nil)
        // Including the request that is held.
        #expect(plugin.waiterCount == 3)
        await clock.advance(by: 1)
        // The response pauses the bucket until second 32.
        gate.open()
        _ = await pausing.result
        #expect(try await Self.outcome(of: patient, clock).get().statusCode == 200)
        #expect(clock.uptime >= 32)
        #expect(await Self.failure(hasty)?.kind == .deadlineExceeded)
        await client.shutdown()
    }

    @Test func cancelledCallsAreIgnoredByTheBreaker() async {
        let stage = Stage([nil], breaks: true)
        let call = stage.start(deadline: 5)
        await stage.gate.arrivals(atLeast: 1)
        call.cancel()
        #expect(await Self.failure(call)?.kind == .cancelled)
        await stage.client.shutdown()
        #expect(stage.breaker.state(for: "https://api.example.com") == .closed)
    }
}
