// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

@Suite(.throttled)
struct CircuitBreakerPluginTests {
    private typealias Outcome = Result<PulseResponse, any Error>

    private let clock = TestClock()
    private let events = BreakerEvents()
    private static let home = "https://api.example.com"

    /// Runs one call through the plugin; returns its error, or nil.
    @discardableResult
    private func call(
        _ plugin: CircuitBreakerPlugin, _ outcome: Outcome, _ target: String = "/", options: RequestOptions = .init()
    ) async -> PulseError? {
        let request = URLRequest.mock(.get, target)
        let context = PluginContext.mock(for: request, options: options, clock: clock, events: events)
        do {
            _ = try await plugin.run(request, in: context) { _ in try outcome.get() }
            return nil
        } catch {
            return error as? PulseError
        }
    }

    private static func response(
        _ status: Int, _ headers: HTTPHeaders = [:], origin: PulseResponse.Origin = .network
    ) -> Outcome {
        .success(PulseResponse(statusCode: status, headers: headers, request: .mock(), origin: origin))
    }

    private static func lost(_ code: URLError.Code) -> Outcome { .failure(URLError(code)) }

    /// By default a host has one circuit: what its routes have in common fails them all.
    @Test(arguments: [nil, CircuitBreakerPlugin.Policy.Key.route] as [CircuitBreakerPlugin.Policy.Key?])
    func aFailingRouteBlocksTheOthersUnlessEachHasACircuit(key: CircuitBreakerPlugin.Policy.Key?) async {
        let plugin = key.map { CircuitBreakerPlugin(key: $0) } ?? CircuitBreakerPlugin()
        let (down, products) = (
            RequestOptions().with(\.route, value: "down"), RequestOptions().with(\.route, value: "products")
        )
        for _ in 0..<5 { await call(plugin, Self.response(500), "/down", options: down) }
        #expect(await call(plugin, Self.response(200), "/down", options: down)?.kind == .circuitOpen)
        let error = await call(plugin, Self.response(200), "/products", options: products)
        #expect(error?.kind == (key == nil ? .circuitOpen : nil))
    }

    /// A route that fails alone is no sign of a failing host.
    @Test func successesOfOtherRoutesKeepTheCircuitOfTheirHostClosed() async {
        let plugin = CircuitBreakerPlugin()
        for _ in 0..<20 {
            await call(plugin, Self.response(500), "/down")
            #expect(await call(plugin, Self.response(200), "/products") == nil)
        }
        #expect(plugin.state(for: Self.home) == .closed)
    }

    @Test func anOpenCircuitFailsCallsAtOnce() async throws {
        let plugin = CircuitBreakerPlugin()
        for _ in 0..<5 {
            #expect(plugin.state(for: Self.home) == .closed)
            #expect(await call(plugin, Self.response(503)) == nil, "the response passes unchanged")
        }
        #expect(plugin.state(for: Self.home) == .open)
        await clock.advance(by: 10)
        let sent = Locked(0)
        let error = await #expect(throws: PulseError.self) {
            try await plugin.run(in: .mock(clock: clock)) { request in
                sent.withLock { $0 += 1 }
                return PulseResponse(statusCode: 200, request: request)
            }
        }
        guard case .circuitOpen(name: Self.home, retryAfter: 20) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(sent.withLock { $0 } == 0)
        await clock.advance(by: 20)
        #expect(await call(plugin, Self.response(200)) == nil)
        #expect(plugin.state(for: Self.home) == .closed)
        #expect(events.names == ["opened \(Self.home)", "halfOpened \(Self.home)", "closed \(Self.home)"])
    }

    @Test func aRetryAfterExtendsTheCooldown() async {
        let plugin = CircuitBreakerPlugin(failureThreshold: 1, cooldownDuration: 5)
        await call(plugin, Self.response(503, ["Retry-After": "Thu, 01 Jan 2026 00:02:00 GMT"]))
        await clock.advance(by: 119)
        #expect(await call(plugin, Self.response(200))?.kind == .circuitOpen)
        await clock.advance(by: 1)
        #expect(await call(plugin, Self.response(200)) == nil)
    }

    /// It tells when more requests are permitted, not when the host recovers.
    @Test(arguments: ["RateLimit-Reset", "X-RateLimit-Reset"])
    func aRateLimitResetDoesNotExtendTheCooldown(name: String) async {
        let plugin = CircuitBreakerPlugin(failureThreshold: 1, cooldownDuration: 5)
        await call(plugin, Self.response(503, [name: "3000"]))
        await clock.advance(by: 5)
        #expect(await call(plugin, Self.response(200)) == nil)
    }

    // MARK: Failures and successes

    private enum Meaning { case failure, success, ignored }

    /// Between two failures with a threshold of three: a success resets the count, a failure opens the circuit.
    private func meaning(_ outcome: Outcome, options: RequestOptions = .init()) async -> Meaning {
        let plugin = CircuitBreakerPlugin(failureThreshold: 3)
        await call(plugin, Self.response(500))
        await call(plugin, outcome, options: options)
        await call(plugin, Self.response(500))
        if plugin.state(for: Self.home) == .open { return .failure }
        await call(plugin, Self.response(500))
        return plugin.state(for: Self.home) == .open ? .ignored : .success
    }

    @Test(arguments: [500, 502, 503, 504])
    func serverErrorStatusesAreFailures(status: Int) async {
        #expect(await meaning(Self.response(status)) == .failure)
        #expect(await meaning(.failure(PulseError.http(.init(statusCode: status, request: .mock())))) == .failure)
    }

    @Test(arguments: [200, 204, 304, 400, 401, 403, 404, 408, 409, 422, 425, 501, 505, 511])
    func otherResponsesAreSuccesses(status: Int) async {
        #expect(await meaning(Self.response(status)) == .success)
    }

    @Test func aFollowedRedirectIsASuccessOfTheRedirectingHost() async {
        #expect(await meaning(Self.response(302, ["Location": "/next"])) == .success)
    }

    @Test(arguments: [
        URLError.Code.timedOut, .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .networkConnectionLost,
        .secureConnectionFailed,
    ])
    func connectErrorsAndTimeoutsAreFailures(code: URLError.Code) async {
        #expect(await meaning(Self.lost(code)) == .failure)
    }

    /// The connection was at fault; the resend on another connection decides about the host.
    @Test(arguments: [PulseError.Phase.beforeSend, .maybeSent])
    func aStaleConnectionIsIgnored(phase: PulseError.Phase) async {
        let failure = TransportFailure(code: .networkConnectionLost, phase: phase, isStaleConnection: true)
        #expect(await meaning(.failure(failure)) == .ignored)
        #expect(await meaning(.failure(TransportFailure(code: failure.code, phase: phase))) == .failure)
    }

    /// The client's own requests are in the way.
    @Test func aWaitForASlotThatEndedIsIgnored() async {
        let failure = PulseError.PoolTimeout(host: "h", limit: 60, connections: 6).failure
        #expect(await meaning(.failure(failure)) == .ignored)
        #expect(await meaning(.failure(TransportFailure(code: failure.code, phase: failure.phase))) == .failure)
    }

    @Test func aDeadlineAfterTheSendIsAFailure() async {
        #expect(await meaning(.failure(PulseError.deadlineExceeded(last: nil))) == .failure)
        #expect(await meaning(.failure(PulseError.timeout(.mock()))) == .failure)
    }

    @Test func rateLimitsMissingConnectionsAndCancellationsAreIgnored() async {
        for outcome in [
            Self.response(429), .failure(PulseError.rateLimited(retryAfter: 1)), .failure(PulseError.noConnection),
            .failure(CancellationError()), Self.lost(.serverCertificateUntrusted),
            .failure(PulseError.sslPinningFailed(host: "a")), .failure(PulseError.invalidRequest(reason: "a")),
            .failure(PulseError.circuitOpen(name: "another", retryAfter: 1)), .failure(PulseError.cacheMiss),
        ] {
            #expect(await meaning(outcome) == .ignored, "\(outcome)")
        }
        for origin in [PulseResponse.Origin.cache, .stale, .coalesced] {
            #expect(await meaning(Self.response(200, origin: origin)) == .ignored)
            #expect(await meaning(Self.response(504, origin: origin)) == .ignored)
        }
    }

    @Test func anAcceptedStatusIsASuccess() async {
        let options = RequestOptions().with(\.acceptedStatuses, value: .successful(and: 503))
        #expect(await meaning(Self.response(503), options: options) == .success)
        #expect(await meaning(Self.response(500), options: options) == .failure)
    }

    @Test func anErrorDerivedFromAResponseIsJudgedByTheResponse() async {
        for error in [PulseError.unauthorized(), .emptyBody, .graphQL([])] {
            #expect(await meaning(.failure(error)) == .success)
        }
        #expect(await meaning(.failure(PulseError.retryExhausted(last: .timeout(.mock()), attempts: 2))) == .failure)
    }

    private struct Fault: Error {}

    /// As a validator does with an error inside a 200: the host has responded.
    @Test func anAppErrorDerivedFromAResponseIsASuccess() async {
        for error in [PulseError.custom(Fault()), .retryExhausted(last: .custom(Fault()), attempts: 2)] {
            #expect(await meaning(.failure(error)) == .success, "\(error)")
        }
    }

    private struct Failing: PulsePlugin {
        let identifier = "failing"

        func prepare(_ request: inout URLRequest, for context: PluginContext) async throws { throw Fault() }
    }

    @Test func anAppErrorBeforeTheSendIsIgnored() async {
        let plugin = CircuitBreakerPlugin(failureThreshold: 2)
        await call(plugin, Self.response(500))
        let chain = PluginChain.mock([plugin, Failing()], context: .mock(clock: clock)) { request in
            PulseResponse(statusCode: 200, request: request)
        }
        let error = await #expect(throws: PulseError.self) { try await chain(.mock()) }
        #expect(error?.kind == .custom)
        await call(plugin, Self.response(500))
        #expect(plugin.state(for: Self.home) == .open)
    }

    private static let login = URLRequest.mock(.post, "https://login.example.com/")

    /// Starts a recovery at another host after each response.
    private func recovering() -> ValidatorPlugin {
        ValidatorPlugin([Validator { _, _, _ in .recover(.request(Self.login), otherwise: Fault()) }])
    }

    /// The failure may be another host's, and the called host has responded.
    @Test func theFailureOfARecoveryIsIgnored() async {
        let refusals = [Self.response(503), Self.response(429, ["Retry-After": "5"])]
        for outcome in refusals + [Self.lost(.cannotConnectToHost), Self.lost(.timedOut)] {
            let plugin = CircuitBreakerPlugin(failureThreshold: 2)
            await call(plugin, Self.response(500))
            let chain = PluginChain.mock([plugin, recovering()], context: .mock(clock: clock)) { request in
                guard request.url != Self.login.url else { return try outcome.get() }
                return PulseResponse(statusCode: 200, request: request)
            }
            await #expect(throws: PulseError.self) { try await chain(.mock()) }
            #expect(plugin.state(for: Self.home) == .closed, "\(outcome)")
            await call(plugin, Self.response(500))
            #expect(plugin.state(for: Self.home) == .open, "\(outcome)")
        }
    }

    @Test func aConnectErrorAfterAFailedRecoveryCounts() async {
        let plugin = CircuitBreakerPlugin(failureThreshold: 1)
        let sent = Locked(0)
        let plugins: [any PulsePlugin] = [.retry(maxAttempts: 2, strategy: .immediate), plugin, recovering()]
        let chain = PluginChain.mock(plugins, context: .mock(clock: clock)) { request in
            let number = sent.withLock { sent in
                sent += 1
                return sent
            }
            // The call, its recovery, and the call again.
            guard number != 3 else { throw URLError(.cannotConnectToHost) }
            return PulseResponse(statusCode: number == 1 ? 200 : 503, request: request)
        }
        await #expect(throws: PulseError.self) { try await chain(.mock()) }
        #expect(sent.withLock { $0 } == 3)
        #expect(plugin.state(for: Self.home) == .open)
    }

    @Test func slownessIsMeasuredByTheClientsClock() async throws {
        let plugin = CircuitBreakerPlugin(
            policy: .init(trip: .rate(.init(minimumCalls: 2, slowCallDuration: 1, slowCallRate: 1))))
        for _ in 0..<2 {
            _ = try await plugin.run(in: .mock(clock: clock)) { request in
                await clock.advance(by: 1)
                return PulseResponse(statusCode: 200, request: request)
            }
        }
        #expect(plugin.state(for: Self.home) == .open)
    }

    /// The client itself causes the wait for a token or permit in an inner plugin.
    @Test func waitingOnTheClientIsNotSlownessOfTheHost() async throws {
        let plugin = CircuitBreakerPlugin(
            policy: .init(trip: .rate(.init(minimumCalls: 2, slowCallDuration: 1, slowCallRate: 1))))
        func call(repeats: Int = 0, latency: TimeInterval) async throws {
            let waiting = Waiting(repeats: repeats) { await clock.advance(by: 5) }
            let chain = PluginChain.mock([plugin, waiting], context: .mock(clock: clock)) { request in
                await clock.advance(by: latency)
                return PulseResponse(statusCode: 200, request: request)
            }
            _ = try await chain(.mock())
        }
        for repeats in 0..<4 {
            try await call(repeats: repeats, latency: 0.5)
            #expect(plugin.state(for: Self.home) == .closed)
        }
        for _ in 0..<4 where plugin.state(for: Self.home) == .closed { try await call(repeats: 1, latency: 1) }
        #expect(plugin.state(for: Self.home) == .open)
    }

    // MARK: Probes

    private func opened(_ policy: CircuitBreakerPlugin.Policy = .init(trip: .consecutiveFailures(1))) async
        -> CircuitBreakerPlugin
    {
        let plugin = CircuitBreakerPlugin(policy: policy)
        while plugin.state(for: Self.home) == .closed { await call(plugin, Self.response(500)) }
        await clock.advance(by: 30)
        return plugin
    }

    @Test func aCancelledProbeLetsTheNextOnePass() async {
        let plugin = await opened()
        let (arrivals, arrival) = AsyncStream<Void>.makeStream()
        let probe = Task {
            try await plugin.run(in: .mock(clock: clock)) { request in
                arrival.yield()
                try await clock.sleep(1000)
                return PulseResponse(statusCode: 200, request: request)
            }
        }
        for await _ in arrivals { break }
        #expect(await call(plugin, Self.response(200))?.kind == .circuitOpen)
        probe.cancel()
        await #expect(throws: PulseError.self) { try await probe.value }
        #expect(plugin.state(for: Self.home) == .halfOpen, "a cancelled probe does not close the circuit")
        #expect(await call(plugin, Self.response(200)) == nil)
        #expect(plugin.state(for: Self.home) == .closed)
    }

    @Test func aProbeWithAnErrorInsideAResponseClosesTheCircuit() async {
        let plugin = await opened()
        #expect(await call(plugin, .failure(Fault()))?.kind == .custom)
        #expect(plugin.state(for: Self.home) == .closed)
    }

    @Test func aStreamedResponseIsJudgedByItsHead() async throws {
        let plugin = await opened()
        let stream = ByteStream { throw TransportFailure(code: .networkConnectionLost, phase: .responseStarted) }
        var streamed = PulseResponse(statusCode: 200, request: .mock())
        streamed.body = .stream(stream)
        let response = try await plugin.run(in: .mock(delivery: .streamed, clock: clock)) { [streamed] _ in streamed }
        #expect(plugin.state(for: Self.home) == .closed)
        await #expect(throws: PulseError.self) { try await response.bytes?.collect(upTo: 10) }
        #expect(plugin.state(for: Self.home) == .closed)
    }

    @Test func aResponseFromAnEarlierStateIsNotCounted() async throws {
        let plugin = CircuitBreakerPlugin(failureThreshold: 1, cooldownDuration: 1)
        let late = Task {
            try await plugin.run(in: .mock(clock: clock)) { request in
                try await clock.sleep(100)
                return PulseResponse(statusCode: 500, request: request)
            }
        }
        await clock.sleepers(atLeast: 1)
        await call(plugin, Self.response(500))
        await clock.advance(by: 1)
        await call(plugin, Self.response(200))
        #expect(plugin.state(for: Self.home) == .closed)
        await clock.advance(by: 100)
        #expect(try await late.value.statusCode == 500)
        #expect(plugin.state(for: Self.home) == .closed)
    }

    // MARK: Keys

    @Test func originsHaveSeparateCircuits() async throws {
        let plugin = CircuitBreakerPlugin(failureThreshold: 1)
        await call(plugin, Self.response(500), "https://api.example.com:8443/a")
        #expect(plugin.state(for: "https://api.example.com:8443") == .open)
        #expect(plugin.state(for: try #require(URL(string: "HTTPS://API.example.com:8443/b?c"))) == .open)
        #expect(plugin.state(for: Self.home) == .closed)
        #expect(await call(plugin, Self.response(200)) == nil)
    }

    @Test func routesCanHaveSeparateCircuits() async {
        let plugin = CircuitBreakerPlugin(policy: .init(trip: .consecutiveFailures(1), key: .route))
        await call(plugin, Self.response(500), options: .init().with(\.route, value: "a"))
        #expect(plugin.state(for: "a") == .open)
        #expect(await call(plugin, Self.response(200), options: .init().with(\.route, value: "b")) == nil)
        guard
            case .circuitOpen(name: "a", _) = await call(
                plugin, Self.response(200), options: .init().with(\.route, value: "a"))
        else {
            Issue.record("not refused")
            return
        }
    }

    @Test func aCustomKeyNamesTheCircuits() async {
        let plugin = CircuitBreakerPlugin(
            policy: .init(
                trip: .consecutiveFailures(1), key: .custom { request, _ in request.url?.path == "/a" ? "A" : nil }))
        await call(plugin, Self.response(500), "/a")
        await call(plugin, Self.response(500), "/b")
        #expect(plugin.state(for: "A") == .open)
        #expect(await call(plugin, Self.response(200), "/b") == nil, "without a name a call passes uncounted")
    }

    @Test func theMostRecentlyUsedCircuitsAreKept() {
        var circuits = Circuits(.init())
        for host in 0..<5000 {
            let key = CircuitKey.name("host-\(host)")
            guard case .admitted(let permit) = circuits.admit(key, at: 0, nil).0 else { continue }
            _ = circuits.settle(permit, of: key, .failure(retryAfter: nil), at: 0)
        }
        #expect(circuits.count == Circuits.capacity)
    }

    @Test func callsToManyHostsDoNotEvictAnOpenCircuit() async {
        let plugin = CircuitBreakerPlugin(failureThreshold: 1)
        await call(plugin, Self.response(500))
        for host in 0..<3000 { await call(plugin, Self.response(200), "https://host-\(host).example.com/") }
        #expect(plugin.state(for: Self.home) == .open)
        #expect(plugin.circuits.withLock { $0.count } <= Circuits.capacity + 1)
    }

    @Test func theNumberOfOpenCircuitsIsBounded() {
        var circuits = Circuits(.init(trip: .consecutiveFailures(1)))
        let isolated = CircuitKey.name("isolated")
        _ = circuits.isolate(isolated)
        for host in 0..<20_000 {
            let key = CircuitKey.name("host-\(host)")
            guard case .admitted(let permit) = circuits.admit(key, at: 0, nil).0 else { continue }
            _ = circuits.settle(permit, of: key, .failure(retryAfter: nil), at: 0)
        }
        #expect(circuits.count <= Circuits.limit + 1)
        #expect(circuits.state(of: .name("host-19999")) == .open)
        #expect(circuits.state(of: isolated) == .isolated)
    }

    // MARK: Manual control

    @Test func oneCircuitCanBeIsolatedAndReset() async {
        let plugin = CircuitBreakerPlugin()
        await call(plugin, Self.response(200))
        plugin.isolate(Self.home)
        #expect(plugin.state(for: Self.home) == .isolated)
        await clock.advance(by: 1e6)
        guard case .circuitOpen(name: Self.home, retryAfter: .infinity) = await call(plugin, Self.response(200)) else {
            Issue.record("not refused")
            return
        }
        #expect(await call(plugin, Self.response(200), "https://other.example.com/") == nil)
        plugin.reset(Self.home)
        #expect(await call(plugin, Self.response(200)) == nil)
        #expect(events.names == ["opened \(Self.home)", "closed \(Self.home)"])
    }

    /// A client that uses the circuit later gets its change events.
    @Test func aCircuitIsolatedBeforeItsFirstCallReportsItsReset() async {
        let plugin = CircuitBreakerPlugin()
        plugin.isolate(Self.home)
        #expect(await call(plugin, Self.response(200))?.kind == .circuitOpen)
        plugin.reset(Self.home)
        #expect(events.names == ["closed \(Self.home)"])
    }

    @Test func allCircuitsCanBeIsolatedAndReset() async {
        let plugin = CircuitBreakerPlugin()
        await call(plugin, Self.response(200))
        plugin.isolate()
        plugin.isolate()
        plugin.reset(Self.home)
        #expect(await call(plugin, Self.response(200))?.kind == .circuitOpen)
        #expect(await call(plugin, Self.response(200), "https://new.example.com/")?.kind == .circuitOpen)
        #expect(plugin.state(for: "https://never.example.com") == .isolated)
        plugin.reset()
        #expect(await call(plugin, Self.response(200), "https://new.example.com/") == nil)
        #expect(plugin.state(for: Self.home) == .closed)
        #expect(events.names == ["opened \(Self.home)", "closed \(Self.home)"])
    }

    @Test func aResetClosesAnOpenCircuitAndClearsItsCounts() async {
        let plugin = CircuitBreakerPlugin(failureThreshold: 2)
        for _ in 0..<2 { await call(plugin, Self.response(500)) }
        plugin.reset()
        await call(plugin, Self.response(500))
        #expect(plugin.state(for: Self.home) == .closed)
        #expect(events.names == ["opened \(Self.home)", "closed \(Self.home)"])
    }

    @Test func manyOtherCircuitsDoNotEvictAnIsolatedOne() async {
        let plugin = CircuitBreakerPlugin()
        plugin.isolate(Self.home)
        for host in 0..<2000 { await call(plugin, Self.response(200), "https://host-\(host).example.com/") }
        #expect(plugin.state(for: Self.home) == .isolated)
    }

    // MARK: In the chain

    @Test func theOuterRetryLoopDoesNotRetryARejectedCall() async throws {
        let sent = Locked(0)
        let breaker = CircuitBreakerPlugin(failureThreshold: 2)
        let clock = TestClock(autoAdvances: true)
        let chain = PluginChain.mock(
            [.retry(maxAttempts: 9, strategy: .constant(1), shouldRetry: { _ in true }), breaker],
            context: .mock(clock: clock)
        ) { request in
            sent.withLock { $0 += 1 }
            return PulseResponse(statusCode: 503, request: request)
        }
        let error = await #expect(throws: PulseError.self) { try await chain(.mock()) }
        #expect(error?.kind == .circuitOpen)
        #expect(sent.withLock { $0 } == 2)
        #expect(clock.sleeps == [1, 1])
    }
}

/// The names of the breaker's events.
private final class BreakerEvents: EventSink {
    private let recorded = Locked<[String]>([])

    var isActive: Bool { true }
    var names: [String] { recorded.withLock { $0 } }

    func emit(_ event: NetworkEvent) {
        let name: String? =
            switch event {
            case .circuitBreakerOpened(let endpoint): "opened \(endpoint)"
            case .circuitBreakerHalfOpened(let endpoint): "halfOpened \(endpoint)"
            case .circuitBreakerClosed(let endpoint): "closed \(endpoint)"
            default: nil
            }
        if let name { recorded.withLock { $0.append(name) } }
    }
}
