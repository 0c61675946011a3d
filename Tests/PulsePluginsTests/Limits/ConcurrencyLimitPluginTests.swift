// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

@Suite(.throttled)
struct ConcurrencyLimitPluginTests {
    private static func start(
        _ plugin: ConcurrencyLimitPlugin, _ target: String, _ priority: RequestOptions.Priority? = nil,
        through gate: Turnstile
    ) async -> Task<PulseResponse, any Error> {
        let request = URLRequest.mock(.get, target)
        let context = PluginContext.mock(for: request, options: RequestOptions().with(\.priority, value: priority))
        // At the gate or in the queue when its start returns.
        return Task.startingNow {
            try await plugin.run(request, in: context) { request in
                try await gate.pass(request.url?.lastPathComponent ?? "")
                return PulseResponse(statusCode: 200, request: request)
            }
        }
    }

    private static let key = RateLimitPlugin.Key.origin.value(.mock(), .mock())

    @Test func urgentCallsGoFirstAndEachPriorityIsFirstComeFirstServed() async throws {
        let (plugin, gate) = (ConcurrencyLimitPlugin(limit: 1), Turnstile())
        var calls = [await Self.start(plugin, "/first", through: gate)]
        for (name, priority) in [
            ("/low", RequestOptions.Priority.low), ("/a", nil), ("/high", .high), ("/b", .normal), ("/high2", .high),
        ] {
            calls.append(await Self.start(plugin, name, priority, through: gate))
        }
        #expect(gate.arrivals == ["first"])
        gate.open()
        for call in calls { _ = try await call.value }
        #expect(gate.arrivals == ["first", "high", "high2", "a", "b", "low"])
        #expect(plugin.keyCount == 0)
    }

    /// The permit holders may wait for the refresh, if their recovery needs the token.
    @Test func aTokenRefreshDoesNotWaitForAPermit() async throws {
        let (plugin, gate) = (ConcurrencyLimitPlugin(limit: 1), Turnstile())
        let first = await Self.start(plugin, "/first", through: gate)
        let refresh = await WorkScope.run(TokenRefresh(FakeSession())) {
            await Self.start(plugin, "/refresh", through: gate)
        }
        #expect(gate.arrivals == ["first", "refresh"])
        gate.open()
        for call in [first, refresh] { _ = try await call.value }
        #expect(plugin.keyCount == 0)
    }

    /// As where each call starts the task of the next one.
    @Test func aChainOfTasksRetainsNoReleasedPermit() {
        let (permits, owner) = (KeyedSemaphore<RateLimitPlugin.Key.Value>(limit: 1), NSObject())
        var last: HeldPermit?
        for _ in 0..<3 {
            let permit = HeldPermit.$innermost.withValue(last) { HeldPermit(permits, of: owner, .name("a")) }
            let inner = HeldPermit.$innermost.withValue(permit) { HeldPermit(permits, of: owner, .name("a")) }
            #expect(permit.outer == nil)
            #expect(inner.outer != nil)
            inner.release()
            permit.release()
            last = inner
        }
    }

    @Test func aCancelledWaiterLeavesTheQueueWithoutAPermit() async throws {
        let (plugin, gate) = (ConcurrencyLimitPlugin(limit: 1), Turnstile())
        let first = await Self.start(plugin, "/first", through: gate)
        let second = await Self.start(plugin, "/second", through: gate)
        let third = await Self.start(plugin, "/third", through: gate)
        second.cancel()
        await #expect(throws: PulseError.self) { try await second.value }
        gate.release("first")
        _ = try await first.value
        await gate.arrived(2)
        #expect(gate.arrivals == ["first", "third"])
        gate.open()
        _ = try await third.value
        #expect(plugin.keyCount == 0)
    }

    @Test func aCallCancelledInFlightReleasesItsPermit() async throws {
        let (plugin, gate) = (ConcurrencyLimitPlugin(limit: 1), Turnstile())
        let first = await Self.start(plugin, "/first", through: gate)
        let second = await Self.start(plugin, "/second", through: gate)
        first.cancel()
        await #expect(throws: PulseError.self) { try await first.value }
        await gate.arrived(2)
        gate.open()
        _ = try await second.value
    }

    @Test func hostsDoNotWaitForEachOther() async throws {
        let (plugin, gate) = (ConcurrencyLimitPlugin(limit: 1), Turnstile())
        let calls = [
            await Self.start(plugin, "https://a.example/a", through: gate),
            await Self.start(plugin, "https://b.example/b", through: gate),
            await Self.start(plugin, "https://a.example:444/c", through: gate),
            await Self.start(plugin, "https://a.example/d", through: gate),
        ]
        #expect(gate.arrivals == ["a", "b", "c"])
        #expect(plugin.keyCount == 3)
        gate.open()
        for call in calls { _ = try await call.value }
        #expect(plugin.keyCount == 0)
    }

    @Test func theRoutesOfAHostMayHaveSeparateLimits() async throws {
        let (plugin, gate) = (ConcurrencyLimitPlugin(limit: 1, by: .route), Turnstile())
        let calls = [
            await Self.start(plugin, "/a", through: gate), await Self.start(plugin, "/b", through: gate),
            await Self.start(plugin, "/a", through: gate),
        ]
        #expect(gate.arrivals == ["a", "b"])
        gate.open()
        for call in calls { _ = try await call.value }
    }

    // MARK: Releasing permits

    private enum End: CaseIterable {
        case read, dropped, cancelled, failed
    }

    @Test(arguments: End.allCases)
    private func aStreamedResponseHoldsItsPermitUntilItsStreamEnds(_ end: End) async throws {
        let plugin = ConcurrencyLimitPlugin(limit: 1)
        let chain = PluginChain.mock([plugin]) { request in
            var response = PulseResponse(statusCode: 200, request: request)
            let rest = Locked([Data("a".utf8), Data("b".utf8)][...])
            response.body = .stream(
                ByteStream {
                    if end == .failed { throw URLError(.networkConnectionLost) }
                    return rest.withLock { $0.popFirst() }
                })
            return response
        }
        var response: PulseResponse? = try await chain(.mock())
        let key = try #require(Self.key)
        #expect(plugin.activeCount(key) == 1)
        switch end {
        case .read: _ = try await response?.bytes?.collect(upTo: 10)
        case .dropped: break
        case .cancelled: response?.bytes?.cancel()
        case .failed: await #expect(throws: PulseError.self) { try await response?.bytes?.collect(upTo: 10) }
        }
        if end == .dropped { response = nil }
        #expect(plugin.activeCount(key) == 0)
        #expect(response?.statusCode == (end == .dropped ? nil : 200))
    }

    @Test func aFailedCallReleasesItsPermit() async throws {
        let plugin = ConcurrencyLimitPlugin(limit: 1)
        for _ in 0..<3 {
            await #expect(throws: PulseError.self) {
                try await plugin.run { _ in throw URLError(.networkConnectionLost) }
            }
        }
        #expect(plugin.keyCount == 0)
    }

    @Test func noPermitIsHeldWhileTheRetryLoopWaits() async throws {
        let clock = TestClock()
        let failing = Stub(.get, "/failing").reply(.status(503), .text("at last"))
        let client = ClientStage.client(
            .root, plugins: [.concurrencyLimit(1)], retry: RetryPolicy(backoffStrategy: .constant(5)), clock: clock,
            over: MockTransport(stubs: [failing, Stub(.get, "/other").reply(.text("other"))]))
        let call = Task { try await client.request(Request<String>(.get, "/failing")) }
        await clock.sleepers(atLeast: 1)
        #expect(try await client.request(Request<String>(.get, "/other")) == "other")
        await clock.advance(by: 5)
        #expect(try await call.value == "at last")
        await client.shutdown()
    }

    @Test func aDeadlineInTheQueueIsDeadlineExceeded() async throws {
        let (clock, gate) = (TestClock(), Turnstile())
        let plugin = ConcurrencyLimitPlugin(limit: 1)
        let client = ClientStage.client(.root, plugins: [plugin], retry: .default, clock: clock) { request in
            try await gate.pass("")
            return PulseResponse(statusCode: 204, request: request)
        }
        let first = Task { try await client.request(Request<EmptyResponse>(.get, "/")) }
        await gate.arrived(1)
        let late = Task { await client.result(of: Request<EmptyResponse>(.get, "/").option(\.deadline, 3)) }
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 3)
        guard case .failure(.deadlineExceeded) = await late.value else {
            Issue.record("another outcome")
            return
        }
        #expect(gate.arrivals.count == 1)
        gate.open()
        _ = try await first.value
        #expect(plugin.keyCount == 0)
        await client.shutdown()
    }

    // MARK: Calls within calls

    /// Makes a call within each call, as a session renewal does.
    private struct CallingPlugin: PulsePlugin {
        let identifier = "com.example.calling"
        let call: @Sendable (PluginContext) async throws -> Void

        func intercept(
            _ request: URLRequest, for context: PluginContext, next: PluginChain
        ) async throws -> PulseResponse {
            try await call(context)
            return try await next(request)
        }
    }

    @Test func aCallWithinACallSharesItsPermit() async throws {
        let client = Locked<PulseClient?>(nil)
        let plugin = ConcurrencyLimitPlugin(limit: 1)
        let made = ClientStage.client(
            .root,
            plugins: [
                plugin,
                CallingPlugin { context in
                    guard context.endpointPath == "/outer" else { return }
                    // In a task of its own too: it is still the outer call's work.
                    try await Task {
                        _ = try await client.withLock { $0 }?.request(Request<EmptyResponse>(.get, "/inner"))
                    }.value
                },
            ], retry: .default, over: MockTransport(stubs: [Stub().reply(.status(204))]))
        client.withLock { $0 = made }
        _ = try await made.request(Request<EmptyResponse>(.get, "/outer"))
        #expect(plugin.keyCount == 0)
        client.withLock { $0 = nil }
        await made.shutdown()
    }

    @Test func workThatOutlivesItsCallDoesNotShareItsPermit() async throws {
        let (plugin, gate) = (ConcurrencyLimitPlugin(limit: 1), Turnstile())
        let left = Locked<Task<Void, any Error>?>(nil)
        let outer = CallingPlugin { _ in
            left.withLock {
                $0 = Task {
                    try await gate.pass("left behind")
                    _ = try await plugin.run { request in
                        try await gate.pass("its call")
                        return PulseResponse(statusCode: 200, request: request)
                    }
                }
            }
        }
        _ = try await PluginChain.mock([plugin, outer]) { PulseResponse(statusCode: 200, request: $0) }(.mock())
        await gate.arrived(1)
        let holder = await Self.start(plugin, "/holder", through: gate)
        gate.release("left behind")
        await TestClock().advance(by: 0)
        #expect(!gate.arrivals.contains("its call"))
        gate.open()
        _ = try await holder.value
        try await left.withLock { $0 }?.value
        #expect(gate.arrivals.last == "its call")
    }
}
