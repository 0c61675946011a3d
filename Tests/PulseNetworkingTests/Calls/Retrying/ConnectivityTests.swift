// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

/// Calls of a client that wait for connectivity.
@Suite(.throttled)
struct ConnectivityTests {
    private let clock = TestClock()
    private let monitor = Switch()
    private let isOnline = Locked(false)

    private func client() -> PulseClient {
        let transport = MockTransport { [isOnline] request in
            guard isOnline.withLock({ $0 }) else { throw URLError(.notConnectedToInternet) }
            return PulseResponse(statusCode: 200, data: User.json, request: request)
        }
        return ClientStage.client(.test().with(\.connectivity, value: monitor), clock: clock, over: transport)
    }

    private static let waiting = RequestOptions().with(\.waitsForConnectivity, value: true)

    @Test func aWaitingCallResumesWhenTheConnectionReturns() async throws {
        let client = client()
        let call = Task { try await client.request(GetUser(method: .post), options: Self.waiting) }
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: 30)
        isOnline.withLock { $0 = true }
        monitor.turnOn()
        #expect(try await call.value == User())
        await client.shutdown()
    }

    @Test func aDeadlineEndsTheConnectivityWaitWithTheOfflineError() async throws {
        let client = client()
        let options = Self.waiting.with(\.deadline, value: 45)
        let call = Task { await client.result(of: GetUser(), options: options) }
        // The sleepers of the deadline and of the wait.
        await clock.sleepers(atLeast: 1)
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 45)
        guard case .failure(.noConnection) = await call.value else {
            Issue.record("\(await call.value)")
            return
        }
        await client.shutdown()
    }

    @Test func aShutdownEndsTheConnectivityWait() async throws {
        let client = client()
        let call = Task { await client.result(of: GetUser(), options: Self.waiting) }
        await clock.sleepers(atLeast: 1)
        await client.shutdown()
        guard case .failure(.cancelled) = await call.value else {
            Issue.record("\(await call.value)")
            return
        }
    }
}

/// A connectivity monitor that is offline until it is turned on.
private final class Switch: ConnectivityMonitor {
    private struct State {
        var path = ConnectivityStatus.Path.unsatisfied
        var subscribers: [AsyncStream<ConnectivityStatus>.Continuation] = []
    }

    private let state = Locked(State())

    var current: ConnectivityStatus { ConnectivityStatus(path: state.withLock { $0.path }) }

    var updates: AsyncStream<ConnectivityStatus> {
        AsyncStream { continuation in
            let path = state.withLock { state in
                state.subscribers.append(continuation)
                return state.path
            }
            continuation.yield(ConnectivityStatus(path: path))
        }
    }

    func turnOn() {
        let subscribers = state.withLock { state in
            state.path = .satisfied
            return state.subscribers
        }
        subscribers.forEach { $0.yield(ConnectivityStatus(path: .satisfied)) }
    }
}
