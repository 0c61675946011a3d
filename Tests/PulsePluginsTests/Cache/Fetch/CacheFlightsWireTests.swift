// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

/// Which calls share a request, for how long, and with which outcome. Over sockets, under a stopped clock.
@Suite(.tags(.threads), .throttled)
struct CacheFlightsWireTests {
    private static let retry = RetryPolicy.immediate()

    private static func call(
        _ stage: CacheStage, _ client: PulseClient? = nil, _ options: RequestOptions = RequestOptions(),
        retry: RetryPolicy? = nil, deadline: TimeInterval? = nil, timeout: TimeInterval = .infinity,
        plugins: [any PulsePlugin] = []
    ) async throws -> PulseResponse {
        let options = options.with(\.retry, value: retry).with(\.deadline, value: deadline)
            .with(\.timeout, value: timeout)
        return try await (client ?? stage.client).rawRequest(GetA(plugins: plugins), options: options)
    }

    private struct GetA: Endpoint {
        typealias Response = EmptyResponse

        let path = "/a"
        var plugins: [any PulsePlugin] = []
    }

    private struct Nothing: PulsePlugin {
        let identifier = "com.pulse.tests.nothing"
    }

    // MARK: Deadlines

    @Test func aSharedRequestDoesNotSleepPastItsCallersDeadline() async throws {
        try await CacheStage.run { stage in
            stage.server.on(.get, "/a") { _ in .status(503, headers: ["Retry-After": "50"]) }
            let error = await #expect(throws: PulseError.self) {
                try await Self.call(stage, retry: Self.retry, deadline: 5)
            }
            #expect(error?.statusCode == 503)
            #expect(stage.sent == 1)
        }
    }

    @Test func aDeadlineErrorHasTheLastFailureOfTheSharedRequest() async throws {
        try await CacheStage.run { stage in
            stage.server.on(.get, "/a", script: [.status(502), .raw([.stall])])
            let call = Task { try await Self.call(stage, retry: Self.retry, deadline: 5) }
            try await stage.server.requests(atLeast: 2)
            await stage.clock.sleepers(atLeast: 1, for: .deadline)
            await stage.pass(5)
            let error = await #expect(throws: PulseError.self) { try await call.value }
            guard case .deadlineExceeded(let last?) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(last.statusCode == 502)
        }
    }

    @Test func aSharedRequestHasTheLatestDeadlineOfItsCallers() async throws {
        try await CacheStage.run { stage in
            let gate = Gate()
            stage.server.on(.get, "/a") { _ in
                let isFirst = gate.arrivals == 0
                await gate.pass()
                return isFirst
                    ? .status(503, headers: ["Retry-After": "20"])
                    : .text("body", headers: ["Cache-Control": "max-age=60"])
            }
            let calls = [TimeInterval(10), 40].map { deadline in
                Task { try await Self.call(stage, retry: Self.retry, deadline: deadline) }
            }
            await stage.cache.cache.flights.waitUntil(waiters: 2)
            gate.open()
            // The sleepers of the deadlines and of the server's wait.
            await stage.clock.sleepers(atLeast: 1)
            await stage.clock.sleepers(atLeast: 1, for: .deadline)
            await stage.pass(10)
            let hasty = await #expect(throws: PulseError.self) { try await calls[0].value }
            guard case .deadlineExceeded(let last?) = hasty else {
                Issue.record("\(String(describing: hasty))")
                return
            }
            #expect(last.statusCode == 503)
            await stage.pass(10)
            let patient = try await calls[1].value
            #expect(patient.data == Data("body".utf8))
        }
    }

    // MARK: Which calls share

    /// The owner of the other request may wait for the refresh.
    @Test func aCallWithinATokenRefreshIsNotShared() async throws {
        try await CacheStage.run { stage in
            stage.server.on(.get, "/a") { _ in .raw([.stall]) }
            let call = Task { try await Self.call(stage) }
            await stage.cache.cache.flights.waitUntil(waiters: 1)
            let refresh = try await WorkScope.run(TokenRefresh(FakeSession())) {
                let task = Task { try await Self.call(stage) }
                _ = try await stage.server.requests(atLeast: 2)
                return task
            }
            #expect(stage.cache.cache.flights.waiterCount == 1)
            for call in [call, refresh] {
                call.cancel()
                _ = await call.result
            }
        }
    }

    @Test func callsWithEndpointPluginsAreNotShared() async throws {
        try await CacheStage.run { stage in
            stage.server.on(.get, "/a") { _ in .raw([.stall]) }
            let calls = (0..<2).map { _ in Task { try await Self.call(stage, plugins: [Nothing()]) } }
            try await stage.server.requests(atLeast: 2)
            #expect(stage.cache.cache.flights.runCount == 0)
            for call in calls {
                call.cancel()
                _ = await call.result
            }
        }
    }

    @Test func callsWithDifferentOptionsDoNotShareARequest() async throws {
        try await CacheStage.run { stage in
            stage.server.on(.get, "/a") { _ in .raw([.stall]) }
            let calls = [
                Task { try await Self.call(stage, retry: .never) },
                Task { try await Self.call(stage, retry: Self.retry) },
                Task { try await Self.call(stage, timeout: 1_000) },
                // These have queues of their own.
                Task { try await Self.call(stage, nil, RequestOptions().with(\.priority, value: .high)) },
                Task { try await Self.call(stage, nil, RequestOptions().with(\.route, value: "another")) },
            ]
            try await stage.server.requests(atLeast: calls.count)
            #expect(stage.cache.cache.flights.waiterCount == calls.count)
            #expect(stage.cache.cache.flights.runCount == calls.count)
            for call in calls {
                call.cancel()
                _ = await call.result
            }
        }
    }

    @Test func aCallThatIsPartOfARecoveryDoesNotWaitForItself() async throws {
        let held = Locked<CacheStage?>(nil)
        // The recovery requests the same resource with the same options as the waiting call.
        let recovery = Validator.Recovery.task("renew") {
            if let stage = held.withLock({ $0 }) { _ = try await Self.call(stage) }
        }
        let validator = Validator { _, response, _ in
            response.statusCode == 203 ? .recover(recovery, otherwise: PulseError.cancelled) : .accept
        }
        try await CacheStage.run(CachePlugin(ttl: 60), after: [ValidatorPlugin([validator])]) { stage in
            held.withLock { $0 = stage }
            stage.server.on(.get, "/a", script: [.status(203), .text("renewed"), .text("body")])
            let response = try await Self.call(stage)
            #expect(response.data == Data("body".utf8))
            #expect(stage.sent == 3)
            held.withLock { $0 = nil }
        }
    }

    @Test func aSharedResponsePastItsLifetimeHasTheOriginStale() async throws {
        try await CacheStage.run { stage in
            let gate = Gate()
            stage.server.on(.get, "/a") { _ in
                await gate.pass()
                return .text("body", headers: ["Cache-Control": "max-age=0", "Date": stage.date()])
            }
            let first = Task { try await stage.text() }
            await stage.cache.cache.flights.waitUntil(waiters: 1)
            // This call accepts a stale response, and must see that it is one.
            let second = Task { try await stage.text(cache: .staleWhileRevalidate) }
            await stage.cache.cache.flights.waitUntil(waiters: 2)
            gate.open()
            let texts = try await [first.value, second.value]
            #expect(texts == ["body network", "body stale"])
            let statistics = await stage.cache.statistics
            #expect(statistics.staleHits == 1)
            #expect(statistics.coalesced == 0)
        }
    }

    @Test func shuttingDownOneClientDoesNotEndTheCallsOfAnother() async throws {
        try await CacheStage.run { stage in
            let other = PulseClient(
                configuration: stage.client.configuration, plugins: [stage.cache], events: PulseEventBus())
            let gate = Gate()
            stage.server.on(.get, "/a") { _ in
                await gate.pass()
                return .text("body", headers: ["Cache-Control": "max-age=60"])
            }
            let call = Task { try await Self.call(stage) }
            await gate.arrivals(atLeast: 1)
            await other.shutdown()
            gate.open()
            let response = try await call.value
            #expect(response.data == Data("body".utf8))
            #expect(stage.sent == 1)
        }
    }

    @Test func allWaitersOfAFailingServerGetTheStaleResponse() async throws {
        try await CacheStage.run { stage in
            let gate = Gate()
            let count = Locked(0)
            stage.server.on(.get, "/a") { _ in
                let isFirst = count.withLock { count in
                    count += 1
                    return count == 1
                }
                guard !isFirst else {
                    return .text(
                        "body", headers: ["Cache-Control": "max-age=60, stale-if-error=99", "Date": stage.date()])
                }
                await gate.pass()
                return .status(503)
            }
            try await stage.get()
            await stage.pass(61)
            let texts = try await stage.many(5, whenWaiting: { gate.open() }) { try await stage.text() }
            #expect(texts == Array(repeating: "body stale", count: 5))
            #expect(stage.sent == 2)
        }
    }

    // MARK: Background validation

    @Test func aStreamOfABackgroundValidationIsReadOnlyWhileItIsStored() async throws {
        let store = MemoryCacheStorage(maxBytes: 400_000)
        try await CacheStage.run(CachePlugin(policy: .rfc9111, storage: store)) { stage in
            let headers: HTTPHeaders = ["Cache-Control": "max-age=60, stale-while-revalidate=99", "Date": stage.date()]
            let endless = MockServer.Response.data(Data(count: 2_000_000), headers: headers)
                .fault(.stall, at: .body(1_000_000))
            stage.server.on(.get, "/a", script: [.text("body", headers: headers), endless])
            _ = try await stage.stream("/a")
            await stage.pass(61)
            let first = try await stage.stream("/a")
            #expect(first.origin == .stale)
            // Otherwise it would occupy its connection and its permit forever.
            try await stage.server.connectionsClosedByClient()
        }
    }

    @Test func aStaleResponseIsValidatedOnceForCallsWithDifferentOptions() async throws {
        try await CacheStage.run { stage in
            let gate = Gate(isOpen: true)
            stage.server.on(.get, "/a") { _ in
                await gate.pass()
                return .text(
                    "body", headers: ["Cache-Control": "max-age=60, stale-while-revalidate=99", "Date": stage.date()])
            }
            try await stage.get()
            await stage.pass(61)
            gate.close()
            for tag in [nil, "another"] {
                let response = try await stage.get(tag: tag)
                #expect(response.origin == .stale)
            }
            #expect(stage.cache.cache.flights.runCount == 1)
            gate.open()
            try await stage.untilStored(2)
            #expect(stage.sent == 2)
        }
    }

    // MARK: Unsafe requests

    @Test func aCallAfterAChangeNeverGetsAResponseFromBeforeIt() async throws {
        let store = HeldStorage()
        try await CacheStage.run(CachePlugin(policy: .rfc9111, storage: store)) { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            let before = Task { try await stage.text() }
            await store.gate.arrivals(atLeast: 1)
            let url = stage.server.baseURL.appendingPathComponent("a")
            let change = Task<Void, any Error>.startingNow { await stage.cache.invalidate(url: url) }
            // The unsafe request ends only when the outdated entry can be found and removed.
            #expect(stage.cache.cache.log.withLock { $0.waiterCount } == 1)
            store.gate.open()
            try await change.value
            #expect(await store.usage().entries == 0)
            #expect(try await before.value == "body 1 network")
        }
    }

    @Test func anUnsafeRequestWhoseResponseWasLostInvalidates() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            stage.server.on(.post, "/a", script: [.disconnect, .status(503)])
            try await stage.get()
            await #expect(throws: PulseError.self) { try await stage.get(method: .post) }
            #expect(try await stage.text() == "body 2 network")
            #expect(try await stage.get(method: .post).statusCode == 503)
            #expect(try await stage.text() == "body 2 cache")
        }
    }

    @Test func anInvalidationIsReportedByAClientThatStoredNothing() async throws {
        let store = MemoryCacheStorage()
        try await CacheStage.run(CachePlugin(policy: .rfc9111, storage: store)) { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            try await stage.get()
        }
        try await CacheStage.run(CachePlugin(policy: .rfc9111, storage: store)) { stage in
            let url = URL(string: "https://api.example.com/b")
            let head = CachedResponse.Head(statusCode: 200, headers: [:], requestTime: Date(), responseTime: Date())
            _ = try await store.store(
                CachedResponse(head: head, body: CachedResponse.Body(Data())),
                for: CacheKey(url: "https://api.example.com/b"))
            stage.serve("/c", ["Cache-Control": "no-store"])
            try await stage.get("/c")
            try await stage.cache.invalidate(url: #require(url))
            #expect(stage.events.contains("cacheInvalidated"))
        }
    }
}

/// Completes stores only when the test allows it.
private final class HeldStorage: CacheStorage {
    let gate = Gate()
    private let inner = MemoryCacheStorage()

    func responses(for key: CacheKey) async -> [CachedResponse] { await inner.responses(for: key) }

    func store(_ response: CachedResponse, for key: CacheKey) async throws -> Bool {
        await gate.pass()
        return try await inner.store(response, for: key)
    }

    func writer(for key: CacheKey) async throws -> any CachedResponse.Writer { try await inner.writer(for: key) }
    func remove(_ selection: CacheKey.Selection) async throws -> Int { try await inner.remove(selection) }
    func usage() async -> CacheUsage { await inner.usage() }
}
