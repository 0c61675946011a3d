// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore
import PulseObservability
import PulsePlugins
import PulseStorage
import PulseStreams
import PulseTesting
import TestSupport
import Testing

/// A shutdown that lets the calls in progress end, up to a time.
@Suite(.throttled)
struct ShutdownGraceTests {
    /// A server that takes as many seconds as the last component of the path says.
    private static func server(_ clock: TestClock) -> MockTransport {
        MockTransport { request in
            let seconds = request.url.flatMap { TimeInterval($0.lastPathComponent) } ?? 0
            if seconds > 0 { try await clock.sleep(seconds, for: .delay) }
            return PulseResponse(statusCode: 200, data: User.json, request: request)
        }
    }

    private static func client(
        _ clock: TestClock, _ transport: MockTransport, plugins: [any PulsePlugin] = [],
        events: PulseEventBus = PulseEventBus(), queue: OfflineQueuePolicy = .disabled, retry: RetryPolicy = .none
    ) -> PulseClient {
        ClientStage.client(
            .test().with(\.connectivity, value: .manual()).with(\.offlineQueuePolicy, value: queue), plugins: plugins,
            retry: retry, clock: clock, over: transport, events: events)
    }

    /// A seeded schedule against a plain model: a call ends if its server is in time, and no shutdown takes longer than
    /// its grace time or than the slowest call.
    @Test func callsEndWithinTheGraceTimeAndNoOthersStart() async {
        let random = SeededRandomness(seed: 45)
        for round in 0..<60 {
            let clock = TestClock()
            let transport = Self.server(clock)
            let client = Self.client(clock, transport)
            let durations = (0..<Int(random.next() % 5)).map { _ in TimeInterval(1 + random.next() % 9) }
            // Between two whole seconds, so that nothing ends at the same time; or none.
            let grace = random.next() % 5 == 0 ? 0 : TimeInterval(random.next() % 10) + 0.5
            let calls = durations.map { seconds in
                Task { await client.result(of: GetUser(path: "/\(Int(seconds))")) }
            }
            await clock.sleepers(atLeast: durations.count, for: .delay)
            let isDown = Locked(false)
            let shutdown = Task {
                await client.shutdown(grace: grace)
                isDown.withLock { $0 = true }
            }
            while !client.calls.isClosing { await Task.yield() }
            let late = await client.result(of: GetUser(path: "/late"))
            #expect(late.failure?.kind == .cancelled, "round \(round)")
            let end = min(grace, durations.max() ?? 0)
            if end > 0 {
                await clock.sleepers(atLeast: 1, for: .deadline)
                await clock.advance(by: end - 0.25)
                #expect(!isDown.withLock { $0 }, "round \(round): \(durations), \(grace)")
                await clock.advance(by: 0.25)
            }
            await shutdown.value
            for (call, seconds) in zip(calls, durations) {
                let kind = await call.value.failure?.kind
                #expect(kind == (seconds < grace ? nil : .cancelled), "round \(round): \(seconds), \(grace)")
            }
            #expect(transport.requests.count == durations.count, "round \(round)")
        }
    }

    @Test func aShutdownWithoutAGraceTimeEndsALongOneAtOnce() async {
        let clock = TestClock()
        let client = Self.client(clock, Self.server(clock))
        let call = Task { await client.result(of: GetUser(path: "/100")) }
        await clock.sleepers(atLeast: 1, for: .delay)
        let long = Task { await client.shutdown(grace: .infinity) }
        while !client.calls.isClosing { await Task.yield() }
        await client.shutdown()
        await long.value
        #expect(await call.value.failure?.kind == .cancelled)
        #expect(clock.uptime == 0)
    }

    @Test func cancellingTheTaskThatWaitsEndsTheGraceTime() async {
        let clock = TestClock()
        let client = Self.client(clock, Self.server(clock))
        let call = Task { await client.result(of: GetUser(path: "/100")) }
        await clock.sleepers(atLeast: 1, for: .delay)
        let shutdown = Task { await client.shutdown(grace: 60) }
        await clock.sleepers(atLeast: 1, for: .deadline)
        shutdown.cancel()
        await shutdown.value
        #expect(await call.value.failure?.kind == .cancelled)
        #expect(clock.uptime == 0)
    }

    private struct Session: TokenProvider {
        let token = Locked("old")
        let client = Locked<PulseClient?>(nil)

        func accessToken() async -> String? { token.withLock { $0 } }

        func refreshToken() async throws -> String {
            guard let client = client.withLock({ $0 }) else { throw PulseError.sessionExpired }
            _ = try await client.rawRequest(GetUser(path: "/token"))
            token.withLock { $0 = "new" }
            return "new"
        }

        func handleAuthenticationFailure() async {}
    }

    @Test func theRefreshThatACallNeedsIsSentWithinTheGraceTime() async {
        let clock = TestClock()
        let session = Session()
        let transport = MockTransport { request in
            let isOld = request.value(forHTTPHeaderField: "Authorization") == "Bearer old"
            if isOld { try await clock.sleep(1, for: .delay) }
            return PulseResponse(statusCode: isOld ? 401 : 200, data: User.json, request: request)
        }
        let client = Self.client(clock, transport, plugins: [AuthPlugin(tokenProvider: session)])
        session.client.withLock { $0 = client }
        let call = Task { await client.result(of: GetUser()) }
        await clock.sleepers(atLeast: 1, for: .delay)
        let shutdown = Task { await client.shutdown(grace: 60) }
        while !client.calls.isClosing { await Task.yield() }
        await clock.advance(by: 1)
        #expect(await call.value.failure == nil)
        await shutdown.value
        #expect(transport.requests.map { $0.url?.lastPathComponent } == ["1", "token", "1"])
        session.client.withLock { $0 = nil }
    }

    /// Sets a field that it fetches for each attempt.
    private struct Ticket: PulsePlugin {
        let identifier = "ticket"
        let fetch: @Sendable () async -> String?

        func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
            guard request.url?.lastPathComponent != "ticket" else { return }
            let ticket = await fetch()
            request.setValue(ticket, forHTTPHeaderField: "X-Ticket")
        }
    }

    /// The calls that its plugins make for it are sent, although new calls are refused.
    @Test(arguments: [(503, false), (307, false), (307, true)])
    func aCallIsRetriedAndRedirectedWithWhatItsPluginsFetch(status: Int, isToken: Bool) async {
        let (clock, holder, isFirst) = (TestClock(), Locked<PulseClient?>(nil), Locked(true))
        let transport = MockTransport { request in
            let isRefused =
                request.url?.lastPathComponent == "1"
                && isFirst.withLock { isFirst in
                    defer { isFirst = false }
                    return isFirst
                }
            guard isRefused else { return PulseResponse(statusCode: 200, data: User.json, request: request) }
            try await clock.sleep(1, for: .delay)
            return PulseResponse(statusCode: status, headers: ["Location": "/v1/users/2"], request: request)
        }
        let fetch: @Sendable () async -> String? = {
            guard let client = holder.withLock({ $0 }) else { return nil }
            let ticket = GetUser(path: "/ticket", options: RequestOptions().with(\.auth, value: .anonymous))
            return try? await client.request(ticket).name
        }
        let plugins: [any PulsePlugin] = isToken ? [AuthPlugin(fetch)] : [Ticket(fetch: fetch)]
        let client = Self.client(
            clock, transport, plugins: plugins, retry: RetryPolicy(maxAttempts: 2, backoffStrategy: .constant(2)))
        holder.withLock { $0 = client }
        let call = Task { await client.result(of: GetUser()) }
        await clock.sleepers(atLeast: 1, for: .delay)
        let shutdown = Task { await client.shutdown(grace: 60) }
        while !client.calls.isClosing { await Task.yield() }
        await clock.advance(by: 1)
        if status == 503 {
            await clock.sleepers(atLeast: 1, for: .backoff)
            await clock.advance(by: 2)
        }
        #expect(await call.value.failure == nil)
        await shutdown.value
        let names = transport.requests.map { $0.url?.lastPathComponent }
        #expect(names == ["ticket", "1", "ticket", status == 503 ? "1" : "2"])
        let field = isToken ? "Authorization" : "X-Ticket"
        #expect(transport.requests.last?.value(forHTTPHeaderField: field) == (isToken ? "Bearer Ada" : "Ada"))
        holder.withLock { $0 = nil }
    }

    private struct EndedSession: TokenProvider {
        let afterwards: @Sendable () -> Void

        func accessToken() async -> String? { "old" }
        func refreshToken() async throws -> String { throw PulseError.sessionExpired }
        func handleAuthenticationFailure() async { afterwards() }
    }

    /// Nothing in progress waits for the task of a refresh, or of a call, that has ended.
    @Test(arguments: [true, false])
    func aTaskThatEndedWorkHasLeftBehindStartsNoCall(isRefresh: Bool) async {
        let (clock, holder, gate) = (TestClock(), Locked<PulseClient?>(nil), Gate())
        let left = Locked<Task<PulseError?, Never>?>(nil)
        let leave: @Sendable () -> Void = {
            let task = Task { () -> PulseError? in
                await gate.pass()
                let login = GetUser(path: "/login", options: RequestOptions().with(\.auth, value: .anonymous))
                return await holder.withLock({ $0 })?.result(of: login).failure
            }
            left.withLock { $0 = task }
        }
        let plugins: [any PulsePlugin] =
            isRefresh
            ? [AuthPlugin(tokenProvider: EndedSession(afterwards: leave))]
            : [
                ClosurePlugin { request, _, next in
                    if request.url?.lastPathComponent == "1" { leave() }
                    return try await next(request)
                }
            ]
        let transport = MockTransport { request in
            let name = request.url?.lastPathComponent
            if name == "slow" { try await clock.sleep(100, for: .delay) }
            let status = name == "1" && isRefresh ? 401 : 200
            return PulseResponse(statusCode: status, data: User.json, request: request)
        }
        let client = Self.client(clock, transport, plugins: plugins)
        holder.withLock { $0 = client }
        let slow = Task { await client.result(of: GetUser(path: "/slow")) }
        await clock.sleepers(atLeast: 1, for: .delay)
        _ = await client.result(of: GetUser())
        while left.withLock({ $0 == nil }) { await Task.yield() }
        // Until the refresh has returned.
        await clock.advance(by: 1)
        let shutdown = Task { await client.shutdown(grace: 200) }
        while !client.calls.isClosing { await Task.yield() }
        gate.open()
        let error = await left.withLock({ $0 })?.value
        #expect(error?.kind == .cancelled)
        await clock.advance(by: 99)
        #expect(await slow.value.failure == nil)
        await shutdown.value
        #expect(transport.requests.map { $0.url?.lastPathComponent } == ["slow", "1"])
        holder.withLock { $0 = nil }
    }

    @Test func aStreamedBodyMayEndWithinTheGraceTime() async throws {
        let (clock, rest) = (TestClock(), Locked(2))
        let transport = MockTransport { request in
            var response = PulseResponse(statusCode: 200, request: request)
            response.body = .stream(
                ByteStream(next: {
                    let isOver = rest.withLock { rest in
                        rest -= 1
                        return rest < 0
                    }
                    guard !isOver else { return nil }
                    try await clock.sleep(2, for: .delay)
                    return Data("ab".utf8)
                }))
            return response
        }
        let client = Self.client(clock, transport)
        let stream = try await client.bytes("/file").bytes
        let reader = Task {
            var count = 0
            for try await part in stream { count += part.count }
            return count
        }
        await clock.sleepers(atLeast: 1, for: .delay)
        let shutdown = Task { await client.shutdown(grace: 60) }
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 4)
        #expect(try await reader.value == 4)
        await shutdown.value
        #expect(clock.uptime == 4)
    }

    @Test func aDownloadMayEndWithinTheGraceTime() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let clock = TestClock()
        let client = Self.client(clock, Self.server(clock))
        let download = Task { try await client.download("/5", to: file) }
        await clock.sleepers(atLeast: 1, for: .delay)
        let shutdown = Task { await client.shutdown(grace: 60) }
        while !client.calls.isClosing { await Task.yield() }
        await clock.advance(by: 5)
        _ = try await download.value
        await shutdown.value
        #expect(try Data(contentsOf: file) == User.json)
    }

    /// A feed goes on without end, unless it has one connection.
    @Test(arguments: [false, true])
    func aFeedThatReconnectsIsNotWaitedFor(reconnects: Bool) async throws {
        let clock = TestClock()
        let cancelled = AsyncStream<Void>.makeStream()
        let transport = MockTransport { request in
            var response = PulseResponse(
                statusCode: 200, headers: ["Content-Type": "text/event-stream"], request: request)
            let hasEvent = Locked(false)
            response.body = .stream(
                ByteStream(
                    next: {
                        let isFirst = hasEvent.withLock { hasEvent in
                            defer { hasEvent = true }
                            return !hasEvent
                        }
                        if isFirst { return Data("data: a\n\n".utf8) }
                        for await _ in cancelled.stream {}
                        return nil
                    }, cancel: { cancelled.continuation.finish() }))
            return response
        }
        let client = Self.client(clock, transport)
        let options = EventStream.Options().with(\.reconnect, value: reconnects ? .eventStream : .never)
        let feed = client.serverSentEvents("/feed", stream: options)
        var events = feed.makeAsyncIterator()
        let first = try await events.next()
        #expect(first?.data == "a")
        let shutdown = Task { await client.shutdown(grace: 5) }
        if !reconnects {
            await clock.sleepers(atLeast: 1, for: .deadline)
            await clock.advance(by: 5)
        }
        await shutdown.value
        #expect(clock.uptime == (reconnects ? 0 : 5))
        await #expect(throws: PulseError.self) { try await events.next() }
    }

    /// The outcome is in the journal before the client has shut down. Without a grace time the request is sent again,
    /// with the same key.
    @Test(arguments: [0, 30] as [TimeInterval])
    func aReplayThatEndsWithinTheGraceTimeIsNotSentAgain(grace: TimeInterval) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let clock = TestClock()
        let policy = OfflineQueuePolicy(directory: directory)
        let note = GetUser(path: "/notes/5", method: .post, body: .json(User()), isQueueableWhenOffline: true)
        let other = GetUser(path: "/notes/7", method: .post, body: .json(User()), isQueueableWhenOffline: true)
        let transport = Self.server(clock)
        let client = Self.client(clock, transport, queue: policy)
        _ = try await client.enqueue(note)
        await clock.sleepers(atLeast: 1, for: .delay)
        // In order: it is not sent before the first one, and not any more.
        _ = try await client.enqueue(other)
        let shutdown = Task { await client.shutdown(grace: grace) }
        if grace > 0 {
            await clock.sleepers(atLeast: 1, for: .deadline)
            await clock.advance(by: 5)
        }
        await shutdown.value
        #expect(transport.requests.count == 1)

        let later = TestClock(autoAdvances: true)
        let next = Self.server(later)
        let relaunched = Self.client(later, next, queue: policy)
        try await relaunched.offlineQueue?.drain()
        #expect(next.requests.map { $0.url?.lastPathComponent } == (grace > 0 ? ["7"] : ["5", "7"]))
        let key = transport.requests.first?.value(forHTTPHeaderField: "Idempotency-Key")
        #expect(key != nil)
        if grace == 0 { #expect(next.requests.first?.value(forHTTPHeaderField: "Idempotency-Key") == key) }
        await relaunched.shutdown()
    }
}

extension Result<User, PulseError> {
    fileprivate var failure: PulseError? {
        if case .failure(let error) = self { error } else { nil }
    }
}
