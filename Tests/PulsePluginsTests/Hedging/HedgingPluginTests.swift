// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

@Suite(.throttled)
struct HedgingPluginTests {
    private let clock = TestClock()

    private func context(
        _ request: URLRequest = .mock(), route: String = "r",
        delivery: TransportRequest.Delivery = .buffered(limit: 10),
        body: PluginContext.Body = .inRequest, deadline: TimeInterval? = nil,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) -> PluginContext {
        let options = RequestOptions().with(\.route, value: route).with(\.progress, value: progress)
        return .mock(
            for: request, options: options, delivery: delivery, body: body, deadline: deadline, clock: clock)
    }

    /// Enough quick calls for a number of copies.
    private func warm(_ plugin: HedgingPlugin, copies: Int = 1, route: String = "r") async throws {
        for _ in 0..<(20 * copies - 1) {
            _ = try await plugin.run(in: context(route: route)) { PulseResponse(statusCode: 200, request: $0) }
        }
    }

    /// A call whose requests wait until the test responds to them.
    private func start(
        _ plugin: HedgingPlugin, _ request: URLRequest = .mock(), in context: PluginContext? = nil, wire: HeldWire
    ) -> Task<PulseResponse, any Error> {
        let context = context ?? self.context(request)
        return Task { try await plugin.run(request, in: context) { try await wire.respond(to: $0) } }
    }

    /// A call whose request and copy wait for their responses.
    private func sentTwice() async throws -> (wire: HeldWire, call: Task<PulseResponse, any Error>) {
        let plugin = HedgingPlugin(delay: .fixed(0.2))
        try await warm(plugin)
        let wire = HeldWire()
        let call = start(plugin, wire: wire)
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: 0.2)
        await wire.arrivals(2)
        return (wire, call)
    }

    @Test func aCopyIsSentAfterTheDelayAndTheFirstGoodResponseWins() async throws {
        let plugin = HedgingPlugin(delay: .fixed(0.2))
        try await warm(plugin)
        let wire = HeldWire()
        let call = start(plugin, wire: wire)
        await wire.arrivals(1)
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: 0.19)
        #expect(wire.count == 1)
        await clock.advance(by: 0.01)
        await wire.arrivals(2)
        wire.release(1, .success(PulseResponse(statusCode: 201, request: .mock())))
        #expect(try await call.value.statusCode == 201)
        await wire.cancellations(1)
        #expect(wire.cancelled == [0], "the loser is cancelled")
    }

    @Test func theFirstCallIsCopiedIfTheExtraLoadIsNotLimited() async throws {
        let plugin = HedgingPlugin(delay: .fixed(0.2), maxExtraLoad: 1)
        let wire = HeldWire()
        let call = start(plugin, wire: wire)
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: 0.2)
        await wire.arrivals(2)
        wire.release(1, .success(PulseResponse(statusCode: 201, request: .mock())))
        #expect(try await call.value.statusCode == 201)
    }

    /// The share of the calls for which a copy may be sent: rounded down, and from 0.001 to 1.
    @Test(arguments: [(0.05, 20), (0.1, 10), (0.3, 4), (1, 1), (7, 1), (0, 1000), (.nan, 1000)] as [(Double, Int)])
    func theExtraLoadIsTheShareOfTheCallsThatIsCopied(share: Double, calls: Int) {
        let plugin = HedgingPlugin(maxExtraLoad: share)
        let latencies = plugin.latencies(of: .name("r"))
        let allowed = (1...1000).first { _ in
            latencies.withLock { latencies in
                latencies.countCall()
                return latencies.mayCopy
            }
        }
        #expect(allowed == calls)
    }

    @Test func theOriginalRequestMayStillWin() async throws {
        let (wire, call) = try await sentTwice()
        wire.release(0, .success(PulseResponse(statusCode: 200, request: .mock())))
        #expect(try await call.value.statusCode == 200)
        await wire.cancellations(1)
        #expect(wire.cancelled == [1])
    }

    @Test func aBadResponseWaitsForTheOtherRequest() async throws {
        let plugin = HedgingPlugin(delay: .fixed(0.2))
        try await warm(plugin, copies: 2)
        for bad in [
            Result<PulseResponse, any Error>.success(.init(statusCode: 503, request: .mock())),
            .failure(URLError(.networkConnectionLost)),
        ] {
            let wire = HeldWire()
            let call = start(plugin, wire: wire)
            await wire.arrivals(1)
            await clock.sleepers(atLeast: 1)
            await clock.advance(by: 0.2)
            await wire.arrivals(2)
            wire.release(0, bad)
            wire.release(1, .success(PulseResponse(statusCode: 404, request: .mock())))
            #expect(try await call.value.statusCode == 404, "a definite response of the server is good")
        }
    }

    @Test func aBadResponseBeforeTheDelayIsLeftToTheRetryLoop() async throws {
        let plugin = HedgingPlugin(delay: .fixed(0.2))
        try await warm(plugin)
        let response = try await plugin.run(in: context()) { PulseResponse(statusCode: 503, request: $0) }
        #expect(response.statusCode == 503)
        #expect(clock.sleeperCount == 0)
    }

    private enum Bad: CaseIterable {
        case response, lost, refused, cancelled

        var outcome: Result<PulseResponse, any Error> {
            switch self {
            case .response: .success(PulseResponse(statusCode: 503, request: .mock()))
            case .lost: .failure(URLError(.networkConnectionLost))
            case .refused: .failure(PulseError.circuitOpen(name: "home", retryAfter: 1))
            case .cancelled: .failure(PulseError.cancelled)
            }
        }
    }

    @Test(arguments: Bad.allCases.indices, Bad.allCases.indices)
    func withoutAGoodResponseABadOneIsPreferredToAnErrorAndAnErrorToALocalRejection(first: Int, last: Int) async throws
    {
        let (wire, call) = try await sentTwice()
        wire.release(1, Bad.allCases[first].outcome)
        wire.release(0, Bad.allCases[last].outcome)
        let result = await call.result
        switch Bad.allCases[min(first, last)] {
        case .response: #expect(try result.get().statusCode == 503)
        case .lost: #expect(throws: PulseError.self) { try result.get() }
        case .refused, .cancelled: break
        }
        guard case .failure(let error) = result else { return }
        let kinds: [PulseError.Kind] = [.http, .transport, .circuitOpen, .cancelled]
        #expect(PulseError(wrapping: error).kind == kinds[min(first, last)])
    }

    @Test func theFirstOfEqualOutcomesWins() async throws {
        let plugin = HedgingPlugin(delay: .fixed(0.2), maxCopies: 2)
        try await warm(plugin, copies: 2)
        let (gate, count, context) = (Gate(), Locked(0), context())
        let call = Task {
            try await plugin.run(in: context) { request in
                let isFirst = count.withLock { count in
                    count += 1
                    return count == 1
                }
                if isFirst { await gate.pass() }
                return PulseResponse(statusCode: isFirst ? 503 : 502, request: request)
            }
        }
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: 0.2)
        // A task that waits to send another copy has seen the outcome of the previous one.
        await clock.sleepers(atLeast: 1)
        gate.open()
        #expect(try await call.value.statusCode == 502)
    }

    // MARK: Which calls are copied

    /// It is unknown which copy an outer cache stores: the age counts from the first.
    @Test func theAgeOfAResponseCountsFromTheFirstCopy() async throws {
        let hedging = HedgingPlugin(delay: .fixed(5))
        try await warm(hedging)
        let wire = HeldWire()
        let (cache, date) = (CachePlugin(policy: .rfc9111), HTTPDate.format(clock.now.addingTimeInterval(6)))
        let client = ClientStage.client(.root, plugins: [cache, hedging], clock: clock) {
            try await wire.respond(to: $0)
        }
        let endpoint = Request<EmptyResponse>(.get, "/a").option(\.route, "r")
        let call = Task { try await client.rawRequest(endpoint) }
        await wire.arrivals(1)
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: 5)
        await wire.arrivals(2)
        await clock.advance(by: 1)
        let headers: HTTPHeaders = ["Cache-Control": "max-age=60", "Date": date]
        wire.release(0, .success(PulseResponse(statusCode: 200, headers: headers, request: .mock())))
        _ = try await call.value
        #expect(try await client.rawRequest(endpoint).headers["Age"] == "6")
        await client.shutdown()
    }

    @Test func onlySafeMethodsAreCopied() async throws {
        let plugin = HedgingPlugin(delay: .fixed(0.2))
        try await warm(plugin, copies: 10)
        for method in [HTTPMethod.post, .put, .patch, .delete] {
            let wire = HeldWire()
            let call = start(plugin, .mock(method), wire: wire)
            await wire.arrivals(1)
            await clock.advance(by: 10)
            #expect(clock.sleeperCount == 0)
            wire.release(0, .success(PulseResponse(statusCode: 200, request: .mock())))
            _ = try await call.value
            #expect(wire.count == 1, "\(method)")
        }
    }

    @Test func aRequestThatAPluginTurnedIntoAPOSTIsNotCopied() async throws {
        let plugin = HedgingPlugin(delay: .fixed(0.2))
        try await warm(plugin)
        let wire = HeldWire()
        let call = start(plugin, .mock(.post), in: context(.mock(.get)), wire: wire)
        await wire.arrivals(1)
        await clock.advance(by: 10)
        #expect(wire.count == 1)
        wire.release(0, .success(PulseResponse(statusCode: 200, request: .mock())))
        _ = try await call.value
    }

    /// Nor are calls with a listener, whose progress would jump.
    @Test func onlyCallsWithBufferedResponsesAndReplayableBodiesAreCopied() async throws {
        let plugin = HedgingPlugin(delay: .fixed(0.2))
        try await warm(plugin, copies: 10)
        let oneShot = PluginContext.Body.stream(RequestBody.Stream(length: nil, isOneShot: true) { ByteStream([]) })
        for context in [
            context(delivery: .streamed), context(delivery: .upgrade),
            context(delivery: .file(URL(fileURLWithPath: "/tmp/x"), resumeOffset: 0)),
            context(.mock(.query), body: oneShot), context(.mock(.query), progress: { _ in }),
        ] {
            let wire = HeldWire()
            let call = start(plugin, in: context, wire: wire)
            await wire.arrivals(1)
            await clock.advance(by: 10)
            #expect(wire.count == 1)
            wire.release(0, .success(PulseResponse(statusCode: 200, request: .mock())))
            _ = try await call.value
        }
    }

    @Test func copiesHaveTheirOwnContexts() async throws {
        let seen = Locked<[Int]>([])
        let inner = SeeingPlugin { context in seen.withLock { $0.append(context.wireAttempt) } }
        let plugin = HedgingPlugin(delay: .fixed(0.2))
        try await warm(plugin)
        let wire = HeldWire()
        let chain = PluginChain.mock([plugin, inner], context: context()) { try await wire.respond(to: $0) }
        let call = Task { try await chain(.mock()) }
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: 0.2)
        await wire.arrivals(2)
        wire.release(1, .success(PulseResponse(statusCode: 200, request: .mock())))
        _ = try await call.value
        #expect(seen.withLock { $0 } == [1, 2])
    }

    // MARK: The budget of copies

    @Test func noCopyIsSentBeforeTwentyCalls() async throws {
        let plugin = HedgingPlugin(delay: .fixed(0.2))
        for _ in 0..<19 {
            let wire = HeldWire()
            let call = start(plugin, wire: wire)
            await wire.arrivals(1)
            #expect(clock.sleeperCount == 0)
            wire.release(0, .success(PulseResponse(statusCode: 200, request: .mock())))
            _ = try await call.value
        }
        let wire = HeldWire()
        let call = start(plugin, wire: wire)
        await clock.sleepers(atLeast: 1)
        wire.release(0, .success(PulseResponse(statusCode: 200, request: .mock())))
        _ = try await call.value
    }

    @Test func copiesAreAtMostFivePercentOfTheCalls() async throws {
        let plugin = HedgingPlugin(delay: .fixed(0.2))
        var sent = 0
        for number in 1...60 {
            let wire = HeldWire()
            let call = start(plugin, wire: wire)
            await wire.arrivals(1)
            if number % 20 == 0 {
                await clock.sleepers(atLeast: 1)
                await clock.advance(by: 0.2)
                await wire.arrivals(2)
            }
            wire.release(0, .success(PulseResponse(statusCode: 200, request: .mock())))
            _ = try await call.value
            sent += wire.count
        }
        #expect(sent == 63)
    }

    @Test func severalCopiesAreSentOneAfterTheOther() async throws {
        let plugin = HedgingPlugin(delay: .fixed(1), maxCopies: 2)
        try await warm(plugin, copies: 3)
        let wire = HeldWire()
        let call = start(plugin, wire: wire)
        for copies in 1...2 {
            await clock.sleepers(atLeast: 1)
            await clock.advance(by: 1)
            await wire.arrivals(1 + copies)
        }
        await clock.advance(by: 10)
        #expect(wire.count == 3)
        #expect(clock.sleeperCount == 0)
        wire.release(2, .success(PulseResponse(statusCode: 200, request: .mock())))
        _ = try await call.value
        await wire.cancellations(2)
    }

    // MARK: The observed delay

    @Test func theObservedDelayIsThe95thPercentileOfTheRoute() async throws {
        let plugin = HedgingPlugin()
        let clock = JumpingClock()
        func context() -> PluginContext {
            .mock(options: RequestOptions().with(\.route, value: "r"), clock: clock)
        }
        for call in 1...100 {
            _ = try await plugin.run(in: context()) { request in
                clock.jump(by: call <= 94 ? 0.1 : 0.3)
                return PulseResponse(statusCode: 200, request: request)
            }
        }
        let wire = HeldWire()
        let call = start(plugin, in: context(), wire: wire)
        await wire.arrivals(1)
        let delay = try #require(await clock.nextSleep())
        #expect(abs(delay - 0.3) < 0.001)
        wire.release(0, .success(PulseResponse(statusCode: 200, request: .mock())))
        _ = try await call.value
    }

    @Test func badResponsesAndErrorsDoNotCountForThePercentile() async throws {
        let plugin = HedgingPlugin()
        let clock = JumpingClock()
        func context() -> PluginContext {
            .mock(options: RequestOptions().with(\.route, value: "r"), clock: clock)
        }
        // The first before the route is known, the others when copies may be sent.
        for call in 0..<200 {
            let isGood = (50..<150).contains(call)
            _ = try? await plugin.run(in: context()) { request in
                clock.jump(by: isGood ? 0.1 : 5)
                guard isGood || call % 2 == 0 else { throw URLError(.networkConnectionLost) }
                return PulseResponse(statusCode: isGood ? 200 : 503, request: request)
            }
        }
        let wire = HeldWire()
        let call = start(plugin, in: context(), wire: wire)
        await wire.arrivals(1)
        let delay = try #require(await clock.nextSleep())
        #expect(abs(delay - 0.1) < 0.001)
        wire.release(0, .success(PulseResponse(statusCode: 200, request: .mock())))
        _ = try await call.value
    }

    @Test func waitingOnTheClientDoesNotCountForThePercentile() async throws {
        let plugin = HedgingPlugin()
        let clock = JumpingClock()
        let waiting = Waiting { clock.jump(by: 10) }
        func chain(_ respond: @escaping @Sendable (URLRequest) async throws -> PulseResponse) -> PluginChain {
            .mock(
                [plugin, waiting],
                context: .mock(options: RequestOptions().with(\.route, value: "r"), clock: clock),
                responding: respond)
        }
        for _ in 0..<100 {
            _ = try await chain { request in
                clock.jump(by: 0.1)
                return PulseResponse(statusCode: 200, request: request)
            }(.mock())
        }
        let wire = HeldWire()
        let held = chain { try await wire.respond(to: $0) }
        let call = Task { try await held(.mock()) }
        await wire.arrivals(1)
        let delay = try #require(await clock.nextSleep())
        #expect(abs(delay - 0.1) < 0.001)
        wire.release(0, .success(PulseResponse(statusCode: 200, request: .mock())))
        _ = try await call.value
    }

    /// The copy would wait in the same queue.
    @Test(arguments: [1, 0, -1, .nan] as [TimeInterval])
    func aRequestThatWaitsForAPermitIsNotCopied(delay: TimeInterval) async throws {
        let hedging = HedgingPlugin(delay: .fixed(delay))
        let step = delay > 0 ? delay : 0.001
        try await warm(hedging)
        let limit = ConcurrencyLimitPlugin(limit: 2, by: .all)
        let wire = HeldWire()
        let holders = (0..<2).map { _ in
            Task { try await limit.run(in: context()) { try await wire.respond(to: $0) } }
        }
        await wire.arrivals(2)
        let chain = PluginChain.mock([hedging, limit], context: context()) { try await wire.respond(to: $0) }
        let call = Task { try await chain(.mock()) }
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: step)
        await clock.sleepers(atLeast: 1)
        #expect(limit.waiterCount(.name("")) == 1)
        for holder in 0..<2 { wire.release(holder, .success(PulseResponse(statusCode: 200, request: .mock()))) }
        await wire.arrivals(3)
        #expect(wire.count == 3)
        await clock.advance(by: step)
        await wire.arrivals(4)
        wire.release(3, .success(PulseResponse(statusCode: 201, request: .mock())))
        #expect(try await call.value.statusCode == 201)
        for holder in holders { _ = try await holder.value }
    }

    @Test func routesAreMeasuredSeparately() async throws {
        let plugin = HedgingPlugin()
        try await warm(plugin, copies: 5)
        let wire = HeldWire()
        let call = start(plugin, in: context(route: "another"), wire: wire)
        await wire.arrivals(1)
        await clock.advance(by: 10)
        #expect(wire.count == 1)
        wire.release(0, .success(PulseResponse(statusCode: 200, request: .mock())))
        _ = try await call.value
    }

    // MARK: Cancellation

    @Test func aCancellationEndsTheRequestAndItsCopies() async throws {
        let (wire, call) = try await sentTwice()
        call.cancel()
        let error = await #expect(throws: PulseError.self) { try await call.value }
        #expect(error?.kind == .cancelled)
        #expect(Set(wire.cancelled) == [0, 1])
        #expect(clock.sleeperCount == 0)
    }

    @Test func aCancelledCallSendsNothingMore() async throws {
        let plugin = HedgingPlugin(delay: .fixed(0.2))
        try await warm(plugin)
        let (context, sent) = (context(), Locked(0))
        let call = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await plugin.run(in: context) { request in
                sent.withLock { $0 += 1 }
                return PulseResponse(statusCode: 200, request: request)
            }
        }
        let error = await #expect(throws: PulseError.self) { try await call.value }
        #expect(error?.kind == .cancelled)
        #expect(sent.withLock { $0 } == 0)
    }

    /// Losers are not counted.
    @Test func anInnerBreakerDoesNotCountACancelledLoser() async throws {
        let hedging = HedgingPlugin(delay: .fixed(0.2))
        try await warm(hedging)
        let breaker = CircuitBreakerPlugin(failureThreshold: 1)
        let wire = HeldWire()
        let chain = PluginChain.mock([hedging, breaker], context: context()) { try await wire.respond(to: $0) }
        let call = Task { try await chain(.mock()) }
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: 0.2)
        await wire.arrivals(2)
        wire.release(1, .success(PulseResponse(statusCode: 200, request: .mock())))
        _ = try await call.value
        await wire.cancellations(1)
        #expect(breaker.state(for: "https://api.example.com") == .closed)
    }
}

/// Records the contexts inside a chain.
private struct SeeingPlugin: PulsePlugin {
    let identifier = "seeing"
    let see: @Sendable (PluginContext) -> Void

    func willSend(_ request: URLRequest, for context: PluginContext) async { see(context) }
}
