// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore
import PulseObservability
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct CancellationTests {
    /// A transport that responds only by the clock, an hour from now.
    private static func stalled(_ clock: TestClock) -> MockTransport {
        MockTransport { request in
            try await clock.sleep(3600)
            return PulseResponse(statusCode: 200, data: User.json, request: request)
        }
    }

    @Test func cancelBeforeTheStartSendsNothing() async throws {
        let clock = TestClock()
        let transport = Self.stalled(clock)
        let log = TracingPlugin.Log()
        let client = ClientStage.client(
            plugins: [TracingPlugin(identifier: "a", log: log)], clock: clock, over: transport)
        let call = Task {
            await withUnsafeContinuation { continuation in
                withUnsafeCurrentTask { $0?.cancel() }
                continuation.resume()
            }
            return await client.result(of: GetUser())
        }
        guard case .failure(.cancelled) = await call.value else {
            Issue.record("not cancelled")
            return
        }
        #expect(transport.requests.isEmpty)
        #expect(log.all.isEmpty)
    }

    /// What ends a call while its body is encoded.
    enum EndWhileBuilding: CaseIterable {
        case cancelAll, cancelledTask, deadline
    }

    @Test(arguments: EndWhileBuilding.allCases)
    func aCallThatEndsWhileItsRequestIsBuiltSendsNothing(end: EndWhileBuilding) async throws {
        let clock = JumpingClock()
        let transport = MockTransport { PulseResponse(statusCode: 200, request: $0) }
        let client = ClientStage.client(clock: clock, over: transport)
        let endpoint = Request<EmptyResponse>(.post, "/leave").deadline(1).body(
            .encoded(contentType: "text/plain") {
                switch end {
                case .cancelAll: client.cancelAll()
                case .cancelledTask: withUnsafeCurrentTask { $0?.cancel() }
                case .deadline: clock.jump(by: 1)
                }
                return Data("x".utf8)
            })
        let error = await #expect(throws: PulseError.self) {
            try await Task { try await client.request(endpoint) }.value
        }
        switch (end, error) {
        case (.deadline, .deadlineExceeded(last: nil)), (.cancelAll, .cancelled), (.cancelledTask, .cancelled): break
        default: Issue.record("ended with \(String(describing: error))")
        }
        #expect(transport.requests.isEmpty)
    }

    @Test func aCallThatMustNotStartBuildsNoRequest() async throws {
        let clock = TestClock()
        let client = ClientStage.client(clock: clock, over: Self.stalled(clock))
        await client.shutdown()
        let built = Locked(false)
        let endpoint = Request<EmptyResponse>(.post, "/late").body(
            .encoded(contentType: "text/plain") {
                built.withLock { $0 = true }
                return Data()
            })
        guard case .failure(.cancelled) = await client.result(of: endpoint) else {
            Issue.record("not cancelled")
            return
        }
        #expect(!built.withLock { $0 })
    }

    @Test func cancellingTheTaskEndsTheCallAndCompletesItsPlugins() async throws {
        let clock = TestClock()
        let transport = Self.stalled(clock)
        let log = TracingPlugin.Log()
        let sink = RecordingSink()
        let client = ClientStage.client(
            plugins: [TracingPlugin(identifier: "a", log: log)], clock: clock, over: transport,
            events: PulseEventBus(sink: sink))
        let call = Task { try await client.request(GetUser()) }
        await clock.sleepers(atLeast: 1)
        call.cancel()
        let error = await #expect(throws: PulseError.self) { try await call.value }
        #expect(error?.kind == .cancelled)
        #expect(log.all == ["a prepare", "a willSend", "a didReceive", "a didComplete"])
        #expect(clock.sleeperCount == 0)
        #expect(sink.names.last == "requestCompleted")
    }

    @Test func cancelAllEndsAllCurrentCallsAndNoLaterOnes() async throws {
        let clock = TestClock()
        let transport = Self.stalled(clock)
        let client = ClientStage.client(clock: clock, over: transport)
        let calls = (0..<20).map { _ in Task { try await client.request(GetUser()) } }
        await clock.sleepers(atLeast: 20)
        client.cancelAll()
        for call in calls {
            let error = await #expect(throws: PulseError.self) { try await call.value }
            #expect(error?.kind == .cancelled)
        }
        let later = Task { try await client.request(GetUser()) }
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: 3600)
        #expect(try await later.value == User())
    }

    @Test func cancelAllOfATagEndsOnlyCallsWithThatTag() async throws {
        let clock = TestClock()
        let transport = Self.stalled(clock)
        let client = ClientStage.client(clock: clock, over: transport)
        let feed = Task {
            try await client.request(GetUser(), options: .init().with(\.tag, value: "feed"))
        }
        let other = Task { try await client.request(GetUser(options: .init().with(\.tag, value: "other"))) }
        let none = Task { try await client.request(GetUser()) }
        await clock.sleepers(atLeast: 3)
        client.cancelAll(tag: "feed")
        let error = await #expect(throws: PulseError.self) { try await feed.value }
        #expect(error?.kind == .cancelled)
        await clock.advance(by: 3600)
        #expect(try await other.value == User())
        #expect(try await none.value == User())
    }

    @Test func shutdownEndsRunningCallsAndWaitsForThem() async throws {
        let clock = TestClock()
        let log = TracingPlugin.Log()
        let client = ClientStage.client(
            plugins: [TracingPlugin(identifier: "a", log: log)], clock: clock, over: Self.stalled(clock))
        let calls = (0..<10).map { _ in Task { await client.result(of: GetUser()) } }
        await clock.sleepers(atLeast: 10)
        await client.shutdown()
        #expect(log.all.filter { $0 == "a didComplete" }.count == 10)
        for call in calls {
            guard case .failure(.cancelled) = await call.value else {
                Issue.record("not cancelled")
                continue
            }
        }
    }

    @Test func cancellationDuringARetryDelayEndsTheCall() async throws {
        let clock = TestClock()
        let transport = MockTransport { PulseResponse(statusCode: 503, request: $0) }
        let client = ClientStage.client(
            retry: RetryPolicy(maxAttempts: 3, backoffStrategy: .constant(10)), clock: clock, over: transport)
        let call = Task { try await client.request(GetUser()) }
        await clock.sleepers(atLeast: 1)
        call.cancel()
        let error = await #expect(throws: PulseError.self) { try await call.value }
        #expect(error?.kind == .cancelled)
        #expect(transport.requests.count == 1)
    }

    // MARK: Inside foreign code

    /// Sleeps for an hour in the given hook, and ignores its cancellation.
    private struct Sleeper: PulsePlugin, CookieStore {
        enum Hook: CaseIterable { case willSend, didReceive, cookieHeader, store }

        let identifier = "sleeper"
        let hook: Hook
        let clock: TestClock

        private func sleep(in hook: Hook) async {
            if hook == self.hook { try? await clock.sleep(3600) }
        }

        func willSend(_ request: URLRequest, for context: PluginContext) async { await sleep(in: .willSend) }
        func didReceive(
            _ result: Result<PulseResponse, PulseError>, for context: PluginContext
        ) async throws -> Result<PulseResponse, PulseError>? {
            guard hook == .didReceive else { return nil }
            try await clock.sleep(3600)
            return nil
        }
        func cookieHeader(for url: URL, now: Date) async -> String? {
            await sleep(in: .cookieHeader)
            return nil
        }
        func store(setCookie lines: [String], from url: URL, now: Date) async { await sleep(in: .store) }
    }

    /// Sends every request, whether or not the task is cancelled.
    private struct DeafTransport: Transport {
        let capabilities: TransportCapabilities = .simulated
        let sent = Locked(0)

        func send(_ request: TransportRequest) async throws -> PulseResponse {
            sent.withLock { $0 += 1 }
            return PulseResponse(
                statusCode: 302, headers: ["Location": "/next", "Set-Cookie": "a=1"], request: request.urlRequest)
        }
    }

    @Test(arguments: Sleeper.Hook.allCases)
    private func cancellationInsideAPluginHookEndsTheCall(hook: Sleeper.Hook) async throws {
        let clock = TestClock()
        let sleeper = Sleeper(hook: hook, clock: clock)
        let transport = DeafTransport()
        let log = TracingPlugin.Log()
        let client = ClientStage.client(
            .test().with(\.cookieStore, value: sleeper), plugins: [TracingPlugin(identifier: "a", log: log), sleeper],
            clock: clock, over: transport)
        let call = Task { try await client.request(GetUser()) }
        await clock.sleepers(atLeast: 1)
        call.cancel()
        let error = await #expect(throws: PulseError.self) { try await call.value }
        #expect(error?.kind == .cancelled)
        #expect(transport.sent.withLock { $0 } == (hook == .willSend || hook == .cookieHeader ? 0 : 1))
        #expect(log.all.last == "a didComplete")
        await client.shutdown()
        #expect(clock.sleeperCount == 0)
    }

    // MARK: Deadlines

    @Test func aDeadlineExpiresExactlyUnderAVirtualClock() async throws {
        let clock = TestClock()
        let client = ClientStage.client(clock: clock, over: Self.stalled(clock))
        let call = Task { await client.result(of: GetUser(), options: .init().with(\.deadline, value: 5)) }
        await clock.sleepers(atLeast: 1)
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 4.999)
        #expect(clock.sleeperCount == 1 && clock.sleeperCount(for: .deadline) == 1)
        await clock.advance(by: 0.001)
        guard case .failure(.deadlineExceeded(last: nil)) = await call.value else {
            Issue.record("no deadline")
            return
        }
        #expect(clock.uptime == 5)
        await client.shutdown()
    }

    @Test func aDeadlineThatExpiresInALaterAttemptNamesThePreviousFailure() async throws {
        let clock = TestClock()
        let attempts = Locked(0)
        let transport = MockTransport { request in
            let attempt = attempts.withLock { attempts in
                attempts += 1
                return attempts
            }
            if attempt > 1 { try await clock.sleep(3600) }
            return PulseResponse(statusCode: 503, request: request)
        }
        let client = ClientStage.client(
            retry: RetryPolicy(maxAttempts: 3, backoffStrategy: .constant(1)), clock: clock, over: transport)
        let call = Task { await client.result(of: GetUser(), options: .init().with(\.deadline, value: 5)) }
        await clock.sleepers(atLeast: 1)
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 1)
        await clock.sleepers(atLeast: 1)
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 4)
        guard case .failure(.deadlineExceeded(last: .http(let response)?)) = await call.value else {
            Issue.record("no deadline")
            return
        }
        #expect(response.statusCode == 503)
        await client.shutdown()
    }

    @Test func aCallDoesNotWaitForARetryBeyondItsDeadline() async throws {
        let clock = TestClock()
        let transport = MockTransport { PulseResponse(statusCode: 503, request: $0) }
        let client = ClientStage.client(
            retry: RetryPolicy(maxAttempts: 3, backoffStrategy: .constant(10)), clock: clock, over: transport)
        let error = await #expect(throws: PulseError.self) {
            try await client.request(GetUser(), options: .init().with(\.deadline, value: 10))
        }
        #expect(error?.statusCode == 503)
        #expect(error?.kind == .http)
        #expect(clock.uptime == 0)
        await client.shutdown()
    }

    @Test func aDeadlineEndsAWaitingPlugin() async throws {
        let clock = TestClock()
        let waiting = ClosurePlugin { request, context, next in
            try await context.clock.sleep(3600)
            return try await next(request)
        }
        let transport = MockTransport { PulseResponse(statusCode: 200, data: User.json, request: $0) }
        let client = ClientStage.client(plugins: [waiting], clock: clock, over: transport)
        let call = Task { await client.result(of: GetUser(), options: .init().with(\.deadline, value: 2)) }
        await clock.sleepers(atLeast: 1)
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 2)
        guard case .failure(.deadlineExceeded) = await call.value else {
            Issue.record("no deadline")
            return
        }
        #expect(transport.requests.isEmpty)
        await client.shutdown()
    }

    @Test func anExpiredDeadlineSendsNothing() async throws {
        // A high uptime, at which a tiny interval is lost to rounding.
        let clock = TestClock(uptime: 1e6)
        let transport = MockTransport { PulseResponse(statusCode: 200, data: User.json, request: $0) }
        let client = ClientStage.client(clock: clock, over: transport)
        let error = await #expect(throws: PulseError.self) {
            try await client.request(GetUser(), options: .init().with(\.deadline, value: 1e-12))
        }
        #expect(error?.kind == .deadlineExceeded)
        #expect(transport.requests.isEmpty)
    }

    @Test func anInfiniteDeadlineNeverExpires() async throws {
        let clock = TestClock()
        let transport = MockTransport { PulseResponse(statusCode: 200, data: User.json, request: $0) }
        let client = ClientStage.client(clock: clock, over: transport)
        for seconds in [TimeInterval.infinity, 1e300] {
            #expect(try await client.request(GetUser(), options: .init().with(\.deadline, value: seconds)) == User())
        }
        await client.shutdown()
        #expect(clock.sleeperCount(for: .deadline) == 0)
    }

    // MARK: Streams

    @Test func aStreamedCallEndsWhenItsStreamDoes() async throws {
        let clock = TestClock()
        let log = TracingPlugin.Log()
        let sink = RecordingSink()
        let transport = MockTransport { PulseResponse(statusCode: 200, data: Data("abc".utf8), request: $0) }
        let client = ClientStage.client(
            plugins: [TracingPlugin(identifier: "a", log: log)], clock: clock, over: transport,
            events: PulseEventBus(sink: sink))
        let response = try await client.perform(
            client.plan(GetUser(), RequestOptions(), CallShape(delivery: .streamed)))
        #expect(!sink.names.contains("requestCompleted"))
        #expect(!log.all.contains("a didComplete"))
        let body = try await #require(response.bytes).collect(upTo: 10)
        #expect(body == Data("abc".utf8))
        await client.shutdown()
        #expect(log.all.filter { $0 == "a didComplete" }.count == 1)
        #expect(sink.names.filter { $0 == "requestCompleted" }.count == 1)
    }

    @Test func shutdownAndCancelAllEndLiveStreams() async throws {
        for endsByShutdown in [true, false] {
            let clock = TestClock()
            let wasFreed = Locked(false)
            let transport = MockTransport { request in
                var response = PulseResponse(statusCode: 200, request: request)
                response.body = .stream(
                    ByteStream(
                        next: {
                            try await clock.sleep(3600)
                            return nil
                        }, cancel: { wasFreed.withLock { $0 = true } }))
                return response
            }
            let client = ClientStage.client(clock: clock, over: transport)
            let response = try await client.perform(
                client.plan(GetUser(), RequestOptions(), CallShape(delivery: .streamed)))
            let stream = try #require(response.bytes)
            let reader = Task {
                for try await _ in stream {}
            }
            await clock.sleepers(atLeast: 1)
            if endsByShutdown { await client.shutdown() } else { client.cancelAll() }
            #expect(wasFreed.withLock { $0 })
            reader.cancel()
            let error = await #expect(throws: PulseError.self) { try await reader.value }
            #expect(error?.kind == .cancelled)
            await client.shutdown()
        }
    }
}
