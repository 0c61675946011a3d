// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulseTesting
import Testing

@testable import PulsePlugins

/// A shared request takes no longer than the most patient of its calls waits, and what it failed with is theirs.
@Suite(.timeLimit(.minutes(5)))
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

        /// - Parameter answers: one after the other, the last one for ever; nil is never answered.
        init(_ answers: [(status: Int, retryAfter: Int?)?], breaks: Bool = false) {
            let left = Locked(answers)
            let gate = gate
            transport = MockTransport { request in
                await gate.pass()
                let answer = left.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
                guard let answer else {
                    try await Task.sleep(nanoseconds: .max)
                    throw CancellationError()
                }
                let headers = answer.retryAfter.map { ["Retry-After": "\($0)"] } ?? [:]
                return PulseResponse(
                    statusCode: answer.status, headers: HTTPHeaders(headers), request: request)
            }
            client = PulseClient(
                configuration: PulseConfiguration(baseURL: URL(string: "https://api.example.com"))
                    .with(\.clock, value: clock)
                    .with(\.retryPolicy, value: RetryPolicy(backoffStrategy: .constant(1))),
                plugins: [plugin] + (breaks ? [breaker] : []), transport: transport, events: PulseEventBus())
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

    @Test func noRetryAfterIsWaitedForBeyondTheDeadlineOfEverybody() async {
        let stage = Stage([(503, 30)])
        stage.gate.close()
        let calls = [5.0, 10].map { stage.start(deadline: $0) }
        #expect(stage.plugin.waiterCount == 2)
        stage.gate.open()
        // At once: the clock stands.
        for call in calls {
            let error = await Self.failure(call)
            #expect(error?.kind == .http)
            #expect(error?.statusCode == 503)
        }
        #expect(stage.plugin.waiterCount == 0)
        #expect(stage.transport.requests.count == 1)
        #expect(!stage.clock.sleeps.contains(30))
    }

    @Test func aRetryIsWaitedForIfOneCallHasTheTimeAndTheOthersNameTheFailure() async throws {
        let stage = Stage([(503, 10), (200, nil)])
        stage.gate.close()
        let hasty = stage.start(deadline: 5)
        let patient = stage.start(deadline: nil)
        #expect(stage.plugin.waiterCount == 2)
        stage.gate.open()
        // The retry, and the deadline.
        await stage.clock.sleepers(atLeast: 2)
        await stage.clock.advance(by: 5)
        let error = await Self.failure(hasty)
        #expect(error?.kind == .deadlineExceeded)
        #expect(error?.statusCode == 503)
        await stage.clock.advance(by: 5)
        #expect(try await patient.value.statusCode == 200)
        #expect(stage.transport.requests.count == 2)
    }

    @Test func aDeadlineThatStrikesARetryNamesTheFailureBeforeIt() async throws {
        let stage = Stage([(503, nil), nil])
        let call = stage.start(deadline: 5)
        await stage.clock.sleepers(atLeast: 2)
        await stage.clock.advance(by: 1)
        await stage.gate.arrivals(atLeast: 2)
        await stage.clock.advance(by: 4)
        let error = await Self.failure(call)
        #expect(error?.kind == .deadlineExceeded)
        #expect(error?.statusCode == 503)
    }

    @Test func aHostThatKeepsAllBeyondTheirDeadlinesHasFailed() async {
        let stage = Stage([nil], breaks: true)
        let calls = [5.0, 8].map { stage.start(deadline: $0) }
        #expect(stage.plugin.waiterCount == 2)
        await stage.gate.arrivals(atLeast: 1)
        await stage.clock.sleepers(atLeast: 1)
        await stage.clock.advance(by: 5)
        #expect(await Self.failure(calls[0])?.kind == .deadlineExceeded)
        #expect(stage.breaker.state(for: "https://api.example.com") == .closed)
        await stage.clock.advance(by: 3)
        #expect(await Self.failure(calls[1])?.kind == .deadlineExceeded)
        await stage.client.shutdown()
        #expect(stage.breaker.state(for: "https://api.example.com") == .open)
    }

    @Test func callsThatAreCancelledSayNothingOfTheHost() async {
        let stage = Stage([nil], breaks: true)
        let call = stage.start(deadline: 5)
        await stage.gate.arrivals(atLeast: 1)
        call.cancel()
        #expect(await Self.failure(call)?.kind == .cancelled)
        await stage.client.shutdown()
        #expect(stage.breaker.state(for: "https://api.example.com") == .closed)
    }
}
