// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseObservability
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

@testable import PulseCalls
@testable import PulseTransports

/// A server that ends a kept-alive connection when the second request comes, with counts from the server. No layer
/// below the retry loop resends a request, and everything that observes attempts sees the loop's resends.
@Suite(.tags(.threads), .throttled)
struct StaleConnectionWireTests {
    /// What HTTP/1.1 runs over, and which side sends and reads.
    enum Engine: CaseIterable {
        case plain, crowded, overTLS, crowdedOverTLS, http1OverTLS

        var isOverTLS: Bool { [.overTLS, .crowdedOverTLS, .http1OverTLS].contains(self) }

        var httpVersions: PulseConfiguration.HTTPVersions { self == .http1OverTLS ? .http1 : .automatic }

        func transport() -> SocketTransport {
            switch self {
            case .plain, .overTLS, .http1OverTLS: SocketTransport(64)
            case .crowded, .crowdedOverTLS: SocketTransport(64, few: 0)
            }
        }
    }

    enum End: CaseIterable {
        case close, reset

        var response: MockServer.Response {
            switch self {
            case .close: .disconnect
            case .reset: .raw([.reset])
            }
        }
    }

    private struct Call: Endpoint {
        typealias Response = String
        let path = "/once"
        var method = HTTPMethod.get
        var key: String?

        var body: RequestBody { method == .get ? .none : .text("body") }
        var options: RequestOptions {
            key.map { RequestOptions().with(\.idempotencyKey, value: .value($0)) } ?? .init()
        }
    }

    private struct Seen {
        let result: Result<String, PulseError>
        /// The requests that reached the server.
        let arrivals: [RecordedRequest]
        let sink: RecordingSink
        let metrics: MetricsSnapshot
    }

    /// One call over a connection that has carried a request before.
    ///
    /// - Parameter dies: whether a request ends its connection, by its index there.
    private func call(
        _ call: Call, over engine: Engine, ending end: End = .close, _ policy: RetryPolicy? = nil,
        plugins: [any PulsePlugin] = [], dies: @escaping @Sendable (_ index: Int) -> Bool = { $0 > 0 }
    ) async throws -> Seen {
        try await MockServer.run(over: engine.isOverTLS) { server, tls in
            server.fallback { request in
                request.path == "/once" && dies(request.indexOnConnection) ? end.response : .text("response")
            }
            let (bus, sink, metrics) = (PulseEventBus(), RecordingSink(), PulseMetricsCollector())
            metrics.attach(to: bus)
            let transport = engine.transport()
            let client = ClientStage.client(
                of: server, plugins: plugins, retry: policy ?? .immediate(), over: transport, events: bus,
                with: { ($0.tls, $0.httpVersions) = (tls, engine.httpVersions) })
            let _: String = try await client.get("/warm")
            bus.addSink(sink)
            let result = await client.result(of: call)
            await client.shutdown()
            await transport.shutdown()
            return Seen(
                result: result, arrivals: server.requests.filter { $0.path == "/once" }, sink: sink,
                metrics: await metrics.snapshot())
        }
    }

    // MARK: Counts

    /// The last argument is how often the server sees the request.
    @Test(
        arguments: Engine.allCases,
        [
            (Call(), RetryPolicy.never, 1), (Call(), .default, 2),
            (Call(), RetryPolicy.immediate(), 2),
            (Call(method: .put), .default, 2),
            (Call(method: .post, key: "k"), .never, 1), (Call(method: .post, key: "k"), .default, 2),
            (Call(method: .post), .never, 1), (Call(method: .post), .default, 1),
        ] as [(Call, RetryPolicy, Int)])
    private func theServerSeesOnlyTheAttemptsOfTheRetryLoop(
        engine: Engine, expected: (call: Call, policy: RetryPolicy, count: Int)
    ) async throws {
        for end in End.allCases {
            let seen = try await call(expected.call, over: engine, ending: end, expected.policy)
            #expect(seen.arrivals.count == expected.count)
            switch seen.result {
            case .success(let text):
                #expect(text == "response" && expected.count == 2)
                #expect(seen.arrivals.map(\.indexOnConnection) == [1, 0], "the second one has a new connection")
            case .failure(let error):
                #expect(expected.count == 1)
                #expect(error.isStaleConnection && error.phase == .maybeSent)
                guard case .transport(.networkConnectionLost, _) = error else {
                    Issue.record("\(error)")
                    continue
                }
            }
            let attempts = seen.sink.events.compactMap {
                if case .attemptStarted(let call) = $0 { call.attempt } else { nil }
            }
            #expect(attempts == Array(1...expected.count))
        }
    }

    /// Three attempts of the policy, and one extra for the stale connection of the first.
    @Test(arguments: Engine.allCases)
    func aServerThatClosesEveryConnectionGetsOneExtraAttempt(engine: Engine) async throws {
        let seen = try await call(Call(), over: engine) { _ in true }
        #expect(seen.arrivals.count == 4)
        #expect((try? seen.result.get()) == nil)
    }

    // MARK: Observers

    @Test(arguments: Engine.allCases)
    func pluginsAndEventsSeeTheResendAfterAStaleConnection(engine: Engine) async throws {
        let (lines, contexts) = (Locked<[String]>([]), Locked<[PluginContext]>([]))
        let noting = ClosurePlugin { request, context, next in
            if request.url?.path == "/once" { contexts.withLock { $0.append(context) } }
            return try await next(request)
        }
        let logger = LoggerPlugin(options: .init(verbosity: .standard) { line in lines.withLock { $0.append(line) } })
        let plugins: [any PulsePlugin] = [
            noting, PulsePlugins.TracingPlugin(), RequestSigningPlugin(secret: "secret", sendsNonce: true), logger,
        ]
        let seen = try await call(Call(method: .post, key: "k"), over: engine, plugins: plugins)
        #expect(seen.arrivals.count == 2)
        for name in ["X-Pulse-Nonce", "X-Signature-256", "traceparent"] {
            let values = seen.arrivals.compactMap { $0.headers[name] }
            #expect(values.count == 2 && Set(values).count == 2, "\(name): \(values)")
        }
        #expect(Set(seen.arrivals.compactMap { $0.headers["Idempotency-Key"] }) == ["k"])
        #expect(contexts.withLock { $0.map(\.attempt) } == [1, 2])
        #expect(contexts.withLock { $0.map(\.wireAttempt) } == [1, 2])
        #expect(
            seen.sink.names.filter { $0.hasPrefix("attempt") || $0.hasPrefix("requestRetr") } == [
                "attemptStarted", "requestRetrying", "attemptStarted",
            ])
        #expect(seen.metrics.total.attempts == 3, "with the one that warmed the connection")
        #expect(seen.metrics.total.retries == 1)
        let sent = lines.withLock { $0.filter { $0.contains("/once") && $0.contains("POST") } }
        #expect(sent.count >= 4, "two requests and what became of them: \(sent)")
    }

    @Test func aCircuitBreakerDoesNotCountAStaleConnection() async throws {
        let breaker = CircuitBreakerPlugin(failureThreshold: 1)
        let seen = try await call(Call(), over: .plain, plugins: [breaker])
        #expect(try seen.result.get() == "response")
    }

    // MARK: Choice of the connection

    /// The other idle connections may be stale too.
    @Test(arguments: Engine.allCases)
    func theResendAfterAStaleConnectionUsesANewConnection(engine: Engine) async throws {
        try await MockServer.run(over: engine.isOverTLS) { server, tls in
            server.fallback { request in
                // All three are under way at the same time.
                if request.path == "/warm" { _ = try? await server.wait { $0.requests.count >= 3 } }
                return request.path == "/once" && request.indexOnConnection > 0 ? .disconnect : .text("response")
            }
            let transport = engine.transport()
            let client = ClientStage.client(
                of: server, retry: .default, over: transport,
                with: { ($0.tls, $0.httpVersions) = (tls, engine.httpVersions) })
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<3 { group.addTask { try await client.get("/warm") } }
                try await group.waitForAll()
            }
            #expect(try await client.request(Call()) == "response")
            #expect(server.requests.filter { $0.path == "/once" }.map(\.indexOnConnection) == [1, 0])
            await client.shutdown()
            await transport.shutdown()
        }
    }
}
#endif
