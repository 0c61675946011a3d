// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import TestSupport
import Testing

/// Every event, by a realistic cause, through a client to the bus.
///
/// `pinningFailed` is tested with real certificates in IntegrationTests/wire, and here with a transport that reports
/// it.
@Suite(.throttled)
struct EveryEventTests {
    @Test func theTableHasEveryEvent() {
        let kinds = EventCause.all.flatMap(\.kinds)
        #expect(Set(kinds) == Set(NetworkEvent.Kind.allCases))
    }

    @Test(arguments: EventCause.all)
    func eachEventIsEmittedByARealCause(cause: EventCause) async throws {
        let bus = PulseEventBus()
        let subscription = bus.subscribe(matching: PulseEventBus.Filter { cause.kinds.contains($0.kind) })
        try await cause.provoke(bus)
        // Each cause shuts its client down, which waits for its remaining work.
        subscription.cancel()
        var missing = Set(cause.kinds)
        for await event in subscription { missing.remove(event.kind) }
        #expect(missing.isEmpty, "\(missing)")
    }
}

/// A way to make a client, or its plugin, emit events of some kinds.
struct EventCause: Sendable, CustomTestStringConvertible {
    let kinds: [NetworkEvent.Kind]
    let provoke: @Sendable (PulseEventBus) async throws -> Void

    init(_ kinds: NetworkEvent.Kind..., provoke: @escaping @Sendable (PulseEventBus) async throws -> Void) {
        self.kinds = kinds
        self.provoke = provoke
    }

    var testDescription: String { kinds.map(\.rawValue).joined(separator: ", ") }

    private static let get = Request<String>(.get, "/a")
    private static let origin = URL(string: "https://api.example.com") ?? URL(fileURLWithPath: "/")

    /// Calls with scripted responses in order, the last one repeated; a status below 100 is a lost connection.
    private static func call(
        _ bus: PulseEventBus, times: Int = 1, statuses: [Int] = [200], headers: HTTPHeaders = [:],
        plugins: [any PulsePlugin] = [], retry: RetryPolicy = .none, baseURL: URL? = origin,
        clock: TestClock = TestClock(autoAdvances: true), between: @Sendable () async -> Void = {}
    ) async {
        let sent = Locked(0)
        let transport = MockTransport { request in
            let index = sent.withLock { sent in
                defer { sent += 1 }
                return min(sent, statuses.count - 1)
            }
            guard statuses[index] >= 100 else { throw URLError(.networkConnectionLost) }
            return PulseResponse(
                statusCode: statuses[index], headers: headers, data: Data("x".utf8), request: request)
        }
        let client = ClientStage.client(
            PulseConfiguration().with(\.baseURL, value: baseURL), plugins: plugins, retry: retry, clock: clock,
            over: transport, events: bus)
        for number in 0..<times {
            if number > 0 { await between() }
            if baseURL == nil {
                _ = try? await client.rawRequest(URLRequest(url: origin))
            } else {
                _ = await client.result(of: get)
            }
        }
        await client.shutdown()
    }

    private static let twice = RetryPolicy.immediate(2)

    // MARK: The table

    static let all: [EventCause] = [
        EventCause(.requestStarted, .attemptStarted, .responseReceived, .requestCompleted) { await call($0) },
        EventCause(.requestRedirected) { await call($0, statuses: [302, 200], headers: ["Location": "/b"]) },
        EventCause(.requestRetrying) { await call($0, statuses: [503, 200], retry: twice) },
        EventCause(.retryGivenUp) { await call($0, statuses: [503], retry: twice) },
        EventCause(.transferProgress) { bus in
            let client = ClientStage.client(PulseConfiguration(baseURL: origin), events: bus) {
                PulseResponse(statusCode: 204, request: $0)
            }
            let body = RequestBody.stream { ByteStream([Data("a".utf8)]) }
            _ = try await client.rawRequest(Request<Data>(.put, "/a").body(body))
            await client.shutdown()
        },
        EventCause(.authRefreshStarted, .authRefreshSucceeded) { bus in
            await call(bus, statuses: [401, 200], plugins: [.auth(Session())], clock: TestClock())
        },
        EventCause(.authRefreshFailed, .sessionExpired) { bus in
            await call(bus, statuses: [401], plugins: [.auth(Session(isOver: true))], clock: TestClock())
        },
        EventCause(.cacheMiss, .cacheStored, .cacheHit) { bus in
            await call(
                bus, times: 2, headers: ["Cache-Control": "max-age=60", "Date": "Thu, 01 Jan 2026 00:00:00 GMT"],
                plugins: [CachePlugin(policy: .rfc9111)])
        },
        EventCause(.cacheRevalidated) { bus in
            await call(
                bus, times: 2, statuses: [200, 304],
                headers: ["Cache-Control": "no-cache", "ETag": #""1""#, "Date": "Thu, 01 Jan 2026 00:00:00 GMT"],
                plugins: [CachePlugin(policy: .rfc9111)])
        },
        EventCause(.cacheInvalidated) { bus in
            let cache = CachePlugin(ttl: 60)
            await call(bus, times: 2, plugins: [cache]) {
                await cache.invalidate(url: origin.appendingPathComponent("a"))
            }
        },
        EventCause(.circuitBreakerOpened, .circuitBreakerHalfOpened, .circuitBreakerClosed) { bus in
            let clock = TestClock()
            let breaker = CircuitBreakerPlugin(failureThreshold: 1, cooldownDuration: 30)
            await call(bus, times: 2, statuses: [503, 200], plugins: [breaker], clock: clock) {
                await clock.advance(by: 31)
            }
        },
        EventCause(.rateLimited) { await call($0, times: 2, plugins: [RateLimitPlugin(requests: 1, per: 10)]) },
        EventCause(.offlineQueueEnqueued, .offlineQueueDraining, .offlineQueueRequestCompleted) { bus in
            try await queue(bus) { $0.goOnline() }
        },
        EventCause(.offlineQueueDeadLettered) { bus in
            try await queue(bus, replayStatus: 400) { $0.goOnline() }
        },
        EventCause(.offlineQueueExpired) { bus in
            try await queue(bus) { await $0.clock.advance(by: 100) }
        },
        EventCause(.connectivityChanged) { bus in
            let changes = bus.subscribe(matching: .kinds(.connectivityChanged))
            try await queue(bus, connectivity: Reconnecting(), drains: false) { _ in
                // The queue monitors connectivity while an entry is pending.
                for await _ in changes { break }
            }
        },
        EventCause(.pinningFailed) { bus in
            let client = ClientStage.client(
                PulseConfiguration(baseURL: origin), over: Distrusting(), events: bus)
            #expect(await client.result(of: get).failure?.kind == .sslPinningFailed)
            await client.shutdown()
        },
        EventCause(.socketStateChanged, .socketDisconnected) { bus in
            let client = ClientStage.client(
                PulseConfiguration(baseURL: origin),
                over: MockTransport(stubs: []) { socket in while try await socket.receive() != nil {} }, events: bus)
            try await PulseSocket(endpoint: Ticker(), client: client).connect()
            await client.shutdown()
        },
        EventCause(.warning) { await call($0, plugins: [.auth(Session())], baseURL: nil) },
    ]

    private struct OfflineStage: Sendable {
        let clock = TestClock()
        let isOffline = Locked(true)

        func goOnline() { isOffline.withLock { $0 = false } }
    }

    /// A call without a connection; if it comes back afterwards, the queue is drained.
    private static func queue(
        _ bus: PulseEventBus, replayStatus: Int = 200, connectivity: any ConnectivityMonitor = .manual(),
        drains: Bool = true, afterwards: @Sendable (OfflineStage) async -> Void
    ) async throws {
        let stage = OfflineStage()
        let client = ClientStage.client(
            PulseConfiguration(baseURL: origin).with(\.connectivity, value: connectivity).with(
                \.offlineQueuePolicy, value: OfflineQueuePolicy(persistsToDisk: false, requestExpiry: 50)),
            retry: .never, clock: stage.clock, events: bus
        ) { request in
            if stage.isOffline.withLock({ $0 }) { throw PulseError.noConnection }
            return PulseResponse(statusCode: replayStatus, request: request)
        }
        #expect(await client.result(of: SaveLater()).failure?.kind == .queuedOffline)
        await afterwards(stage)
        while drains, try await client.offlineQueue?.drain() ?? 0 > 0 { await stage.clock.advance(by: 2) }
        await client.shutdown()
    }
}

private struct SaveLater: Endpoint {
    typealias Response = EmptyResponse

    let path = "/notes"
    let method = HTTPMethod.post
    let isQueueableWhenOffline = true
}

private struct Ticker: SocketEndpoint {
    let path = "/ticker"
}

/// Offline at first, and online again by the time of the first read.
private struct Reconnecting: ConnectivityMonitor {
    var current: ConnectivityStatus { ConnectivityStatus(path: .satisfied) }

    var updates: AsyncStream<ConnectivityStatus> {
        AsyncStream { continuation in
            continuation.yield(ConnectivityStatus(path: .unsatisfied))
            continuation.yield(ConnectivityStatus(path: .satisfied))
        }
    }
}

private struct Session: TokenProvider {
    var isOver = false

    func accessToken() async -> String? { "t1" }

    func refreshToken() async throws -> String {
        if isOver { throw PulseError.unauthorized() }
        return "t2"
    }

    func handleAuthenticationFailure() async {}
}

/// Reports that no pinned key was found, as a transport with TLS does.
private struct Distrusting: Transport {
    var capabilities: TransportCapabilities { .simulated }

    func send(_ request: TransportRequest) async throws -> PulseResponse {
        request.events?.emit(.pinningFailed(host: "api.example.com", seen: ["sha256/AAAA"]))
        throw PulseError.sslPinningFailed(host: "api.example.com")
    }
}

extension Result {
    fileprivate var failure: Failure? {
        guard case .failure(let error) = self else { return nil }
        return error
    }
}
