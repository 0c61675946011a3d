// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct PulseMetricsCollectorTests {
    private let bus = PulseEventBus()
    private let clock = TestClock(uptime: 1000)

    private func collector(
        objectives: [ServiceLevelObjective] = [], maxRoutes: Int = 100, maxHosts: Int = 50
    ) -> PulseMetricsCollector {
        let collector = PulseMetricsCollector(
            objectives: objectives, maxRoutes: maxRoutes, maxHosts: maxHosts, clock: clock)
        collector.attach(to: bus)
        return collector
    }

    // MARK: Attaching

    @Test func countsFromAttachingToDetaching() async {
        let collector = PulseMetricsCollector(clock: clock)
        bus.emitCall(.sample())
        collector.attach(to: bus)
        bus.emitCall(.sample())
        collector.detach()
        #expect(!bus.isActive)
        bus.emitCall(.sample())
        #expect(await collector.snapshot().total.completed == 1)
        collector.attach(to: bus)
        bus.emitCall(.sample())
        #expect(await collector.snapshot().total.completed == 2)
    }

    @Test func attachingTwiceCountsOnceAndSeveralBusesAddUp() async {
        let collector = collector()
        collector.attach(to: bus)
        let other = PulseEventBus()
        collector.attach(to: other)
        bus.emitCall(.sample())
        other.emitCall(.sample())
        #expect(await collector.snapshot().total.completed == 2)
        collector.detach()
        #expect(!bus.isActive && !other.isActive)
    }

    @Test func theBusDoesNotRetainTheCollector() {
        var collector: PulseMetricsCollector? = collector()
        #expect(bus.isActive && collector != nil)
        collector = nil
        // The collector detaches when its only reference is released.
        #expect(!bus.isActive)
    }

    // MARK: Outcomes

    @Test func everyCompletionIsCountedOnce() async {
        let collector = collector()
        for _ in 0..<6 { bus.emitCall(.sample()) }
        bus.emitCall(.sample(), .error(.timeout))
        bus.emitCall(.sample(), .error(.http, status: 503))
        bus.emitCall(.sample(), .error(.cancelled))
        bus.emitCall(.sample(), .error(.queuedOffline))
        let total = await collector.snapshot().total
        #expect(total.succeeded == 6 && total.failed == 2 && total.cancelled == 1 && total.queuedOffline == 1)
        #expect(total.completed == 10)
        #expect(total.failuresByKind == [.timeout: 1, .http: 1])
        #expect(total.successRate == 0.75)
    }

    @Test func cancelledAndQueuedCallsDoNotCountInTheLatency() async {
        let collector = collector()
        bus.emitCall(.sample(), latency: 0.1)
        bus.emitCall(.sample(), .error(.timeout), latency: 30)
        bus.emitCall(.sample(), .error(.cancelled), latency: 1000)
        bus.emitCall(.sample(), .error(.queuedOffline), latency: 1000)
        let snapshot = await collector.snapshot()
        #expect(snapshot.total.latency.count == 2)
        #expect(snapshot.p99Latency == 30)
        #expect(abs(snapshot.p50Latency - 0.1) < 0.001)
    }

    @Test func aSnapshotWithoutCallsHasDefaultValues() async {
        let snapshot = await collector().snapshot()
        #expect(snapshot.successRate == 1 && snapshot.cacheHitRatio == 0 && snapshot.inFlight == 0)
        #expect([snapshot.p50Latency, snapshot.p90Latency, snapshot.p95Latency, snapshot.p99Latency] == [0, 0, 0, 0])
        #expect(snapshot.routes.isEmpty && snapshot.hosts.isEmpty && snapshot.eventCounts.isEmpty)
    }

    @Test func percentilesAreInSeconds() async {
        let collector = collector()
        for millisecond in 1...1000 { bus.emitCall(.sample(), latency: TimeInterval(millisecond) / 1000) }
        let snapshot = await collector.snapshot()
        for (found, exact) in [
            (snapshot.p50Latency, 0.5), (snapshot.p90Latency, 0.9), (snapshot.p95Latency, 0.95),
            (snapshot.p99Latency, 0.99), (snapshot.total.meanLatency, 0.5005),
        ] {
            #expect(abs(found / exact - 1) < 0.01)
        }
    }

    @Test func theEventsOfACallAreCounted() async {
        let collector = collector()
        let call = NetworkEvent.CallSummary.sample()
        let error = PulseError.Summary(kind: .http, statusCode: 503, message: "")
        bus.emit(.requestStarted(call))
        bus.emit(.cacheMiss(call))
        bus.emit(.attemptStarted(call))
        bus.emit(.responseReceived(call, status: 503, byteCount: 10))
        bus.emit(.requestRetrying(call, error, attempt: 2))
        bus.emit(.attemptStarted(call))
        bus.emit(.responseReceived(call, status: 302, byteCount: 0))
        bus.emit(.requestRedirected(call, status: 302))
        bus.emit(.rateLimited(call, retryAfter: 1))
        bus.emit(.attemptStarted(call))
        bus.emit(.responseReceived(call, status: 200, byteCount: 47))
        bus.emit(.responseReceived(call, status: -7, byteCount: -47))
        bus.emit(.retryGivenUp(call, error))
        bus.emit(.requestCompleted(.ok(), call, latency: 1))
        let total = await collector.snapshot().total
        #expect(total.attempts == 3 && total.retries == 1 && total.retriesGivenUp == 1)
        #expect(total.redirects == 1 && total.rateLimited == 1)
        #expect(total.bytesReceived == 57 && total.bytesDelivered == 47)
        #expect(total.statuses == [503: 1, 302: 1, 200: 1, 0: 1])
        #expect(total.cacheMisses == 1)
    }

    @Test func anyByteCountIsAccepted() async {
        let collector = collector()
        for bytes in [Int.max, Int.max, .min] {
            bus.emitCall(.sample(), .ok(bytes: bytes))
        }
        let total = await collector.snapshot().total
        #expect(total.bytesReceived == .max && total.bytesDelivered == .max)
    }

    @Test func revalidatedResponsesCountAsHits() async {
        let collector = collector()
        let call = NetworkEvent.CallSummary.sample()
        for _ in 0..<2 { bus.emit(.cacheHit(call)) }
        bus.emit(.cacheRevalidated(call))
        bus.emit(.cacheMiss(call))
        #expect(await collector.snapshot().cacheHitRatio == 0.75)
    }

    @Test func onlyNetworkResponsesCountInThePhases() async {
        let collector = collector()
        var timings = PulseResponse.Timings()
        (timings.queued, timings.connected, timings.firstByte, timings.lastByte) = (0.5, 0.75, 1, 0.9)
        bus.emitCall(.sample(), .ok(timings: timings))
        let hit = NetworkEvent.ResponseSummary(statusCode: 200, byteCount: 1, origin: .cache, timings: timings)
        bus.emitCall(.sample(), .success(hit))
        let phases = await collector.snapshot().total.phases
        #expect(phases[.queued].sum == 0.5 && phases[.connecting].sum == 0.25 && phases[.waiting].sum == 0.25)
        // The response cannot end before its first byte.
        #expect(phases[.receiving].count == 0)
        #expect(phases[.queued].count == 1 && phases[.queued].mean == 0.5)
        #expect(phases[.securing].count == 0 && phases[.securing].mean == 0)
    }

    @Test func theClockIsReadOnlyForEventsCountedByTime() {
        let (clock, call) = (CountingClock(), NetworkEvent.CallSummary.sample())
        let collector = PulseMetricsCollector(clock: clock)
        collector.attach(to: bus)
        bus.emit(.requestStarted(call))
        bus.emit(.transferProgress(call, completed: 1, total: nil))
        bus.emit(.warning("w"))
        #expect(clock.readings == 0)
        bus.emit(.requestCompleted(.ok(), call, latency: 1))
        #expect(clock.readings == 1)
    }

    // MARK: In flight

    @Test func theInFlightGaugeFollowsStartsAndCompletions() async {
        let collector = collector()
        let calls = (0..<5).map { _ in NetworkEvent.CallSummary.sample() }
        for call in calls { bus.emit(.requestStarted(call)) }
        #expect(await collector.snapshot().inFlight == 5)
        for call in calls.prefix(3) { bus.emit(.requestCompleted(.ok(), call, latency: 1)) }
        let snapshot = await collector.snapshot()
        #expect(snapshot.inFlight == 2 && snapshot.total.completed == 3)
        #expect(snapshot.routes["GetUser"]?.inFlight == 2 && snapshot.hosts["api.example.com"]?.inFlight == 2)
    }

    @Test func aCallStartedBeforeAttachingDoesNotMakeTheGaugeNegative() async {
        let collector = collector()
        let ours = NetworkEvent.CallSummary.sample()
        bus.emit(.requestStarted(ours))
        bus.emit(.requestCompleted(.ok(), .sample(), latency: 1))
        let snapshot = await collector.snapshot()
        #expect(snapshot.inFlight == 1 && snapshot.total.completed == 1)
    }

    @Test func callsInFlightAreDiscardedOnDetach() async {
        let collector = collector()
        bus.emit(.requestStarted(.sample()))
        collector.detach()
        #expect(await collector.snapshot().inFlight == 0)
    }

    // MARK: Routes and hosts

    @Test func aCallCountsUnderItsInitialRouteAndHost() async {
        let collector = collector()
        let id = UUID()
        bus.emit(.requestStarted(.sample("A", host: "a.example", id: id)))
        bus.emit(.attemptStarted(.sample("A", host: "b.example", id: id)))
        bus.emit(.requestCompleted(.ok(), .sample("A", host: "a.example", id: id), latency: 1))
        let snapshot = await collector.snapshot()
        #expect(snapshot.hosts.keys.sorted() == ["a.example"])
        #expect(snapshot.hosts["a.example"]?.attempts == 1 && snapshot.hosts["a.example"]?.completed == 1)
        #expect(snapshot.routes["A"]?.attempts == 1)
    }

    @Test func namesBeyondTheMaximumShareOneSeries() async {
        let collector = collector(maxRoutes: 3, maxHosts: 0)
        for number in 0..<1000 { bus.emitCall(.sample("route \(number)", host: "h\(number).example")) }
        let snapshot = await collector.snapshot()
        #expect(snapshot.routes.keys.sorted() == ["other", "route 0", "route 1", "route 2"])
        #expect(snapshot.routes["other"]?.completed == 997)
        #expect(snapshot.hosts.keys.sorted() == ["other"])
        #expect(snapshot.total.completed == 1000)
    }

    @Test func routesOnManyHostsAreCountedEvenIfThereAreTooManyPairs() async {
        let collector = collector(maxRoutes: 3, maxHosts: 3)
        for number in 0..<100 { bus.emitCall(.sample("r\(number % 5)", host: "h\(number / 5 % 5)")) }
        for _ in 0..<2 {
            let snapshot = await collector.snapshot()
            #expect(snapshot.routes.mapValues(\.completed) == ["r0": 20, "r1": 20, "r2": 20, "other": 40])
            #expect(snapshot.hosts.mapValues(\.completed) == ["h0": 20, "h1": 20, "h2": 20, "other": 40])
            #expect(snapshot.total.completed == 100 && snapshot.inFlight == 0)
            collector.reset()
            for number in 0..<100 { bus.emitCall(.sample("r\(number % 5)", host: "h\(number / 5 % 5)")) }
        }
    }

    @Test func aRouteNamedOtherSharesTheSeriesOfFurtherRoutes() async {
        let collector = collector(maxRoutes: 1)
        bus.emitCall(.sample("other"))
        bus.emitCall(.sample("second"))
        #expect(await collector.snapshot().routes.mapValues(\.completed) == ["other": 2])
    }

    @Test func namesAreBoundedInLengthAndContainNoSecret() async {
        let collector = collector()
        bus.emitCall(.sample(String(repeating: "ä", count: 5000)))
        bus.emitCall(.sample("/a?access_token=hunter2"))
        bus.emitCall(.sample("", host: ""))
        bus.emitCall(.sample("line\nbreak"))
        let snapshot = await collector.snapshot()
        #expect(snapshot.routes.keys.allSatisfy { !$0.isEmpty && $0.utf8.count <= 120 && !$0.contains("\n") })
        #expect(!"\(snapshot.routes.keys)".contains("hunter2"))
        #expect(snapshot.routes["unknown"] != nil && snapshot.hosts["unknown"] != nil)
    }

    @Test func namesWithEqualMasksShareASeriesAndStayBounded() async {
        let collector = collector(maxRoutes: 10)
        for number in 0..<1000 { bus.emitCall(.sample("/a?access_token=\(number)hunter")) }
        let routes = await collector.snapshot().routes
        #expect(routes.count == 2)
        #expect(routes["other"]?.completed == 990)
    }

    // MARK: Windows

    @Test func aWindowExcludesOlderCalls() async {
        let collector = collector()
        bus.emitCall(.sample(), latency: 1)
        await clock.advance(by: 59)
        #expect(await collector.snapshot().total.lastMinute.completed == 1)
        bus.emitCall(.sample(), latency: 2)
        await clock.advance(by: 12)
        var total = await collector.snapshot().total
        #expect(total.lastMinute.completed == 1 && total.lastMinute.p99Latency == 2)
        #expect(total.lastFiveMinutes.completed == 2 && total.completed == 2)
        await clock.advance(by: 300)
        total = await collector.snapshot().total
        #expect(total.lastMinute.completed == 0 && total.lastFiveMinutes.completed == 0 && total.completed == 2)
        #expect(total.lastMinute.successRate == 1 && total.lastMinute.p99Latency == 0)
    }

    @Test func mergingOldSlicesLosesNoCall() async throws {
        let collector = collector()
        // Nothing else sleeps.
        clock.autoAdvances = true
        for _ in 0..<200 {
            bus.emitCall(.sample(), latency: 1)
            try await clock.sleep(7)
        }
        let total = await collector.snapshot().total
        #expect(total.completed == 200 && total.latency.count == 200)
        #expect((42...46).contains(total.lastFiveMinutes.completed))
        #expect((8...11).contains(total.lastMinute.completed))
    }

    /// Such a clock violates its contract. It must not cause a trap or lose a call.
    @Test(arguments: [-5, -1e300, .nan, .infinity, -.infinity, 1e300, 9.2e18, -9.3e18])
    func aBrokenClockLosesNoCall(uptime: TimeInterval) async {
        let clock = BrokenClock()
        let collector = PulseMetricsCollector(clock: clock)
        collector.attach(to: bus)
        bus.emitCall(.sample(), latency: 1)
        clock.set(uptime)
        bus.emitCall(.sample(), latency: uptime)
        let snapshot = await collector.snapshot()
        #expect(snapshot.total.completed == 2)
        #expect(snapshot.p99Latency.isFinite)
        #expect(snapshot.countingSince <= snapshot.takenAt)
    }

    // MARK: Reset

    @Test func aResetClearsCountsAndKeepsStates() async {
        let collector = collector(objectives: [ServiceLevelObjective("all", target: 0.9)])
        let open = NetworkEvent.CallSummary.sample("open")
        bus.emit(.requestStarted(open))
        bus.emitCall(.sample("done"))
        bus.emit(.circuitBreakerOpened(endpoint: "https://a.example"))
        bus.emit(.connectivityChanged(ConnectivityStatus(path: .satisfied)))
        await clock.advance(by: 100)
        collector.reset()
        var snapshot = await collector.snapshot()
        #expect(snapshot.countingSince == clock.now)
        #expect(snapshot.routes.mapValues(\.inFlight) == ["open": 1])
        #expect(snapshot.total.completed == 0 && snapshot.eventCounts.isEmpty)
        #expect(snapshot.circuits == ["https://a.example": MetricsSnapshot.Circuit(state: .open)])
        #expect(snapshot.connectivity?.path == .satisfied)
        #expect(snapshot.objectives.map(\.overall.valid) == [0])
        bus.emit(.requestCompleted(.ok(), open, latency: 1))
        snapshot = await collector.snapshot()
        #expect(snapshot.inFlight == 0 && snapshot.routes["open"]?.completed == 1)
    }

    @Test func aResetFreesTheNamesOfSeries() async {
        let collector = collector(maxRoutes: 1)
        bus.emitCall(.sample("first"))
        collector.reset()
        bus.emitCall(.sample("second"))
        #expect(await collector.snapshot().routes.keys.sorted() == ["second"])
    }

    // MARK: Events without a call

    @Test func circuitsHaveTheLastReportedState() async {
        let collector = collector()
        for _ in 0..<2 {
            bus.emit(.circuitBreakerOpened(endpoint: "a"))
            bus.emit(.circuitBreakerOpened(endpoint: "a"))
            bus.emit(.circuitBreakerHalfOpened(endpoint: "a"))
        }
        bus.emit(.circuitBreakerOpened(endpoint: "b"))
        bus.emit(.circuitBreakerClosed(endpoint: "b"))
        let circuits = await collector.snapshot().circuits
        #expect(circuits["a"]?.state == .halfOpen && circuits["a"]?.openings == 2)
        #expect(circuits["b"]?.state == .closed && circuits["b"]?.openings == 1)
    }

    @Test func circuitsAreBounded() async {
        let collector = collector()
        for number in 0..<10_000 { bus.emit(.circuitBreakerOpened(endpoint: "\(number)")) }
        #expect(await collector.snapshot().circuits.count == 200)
    }

    @Test func everyEventIsCountedByItsKind() async {
        let collector = collector()
        for event in NetworkEvent.all(of: .sample()) { bus.emit(event) }
        let snapshot = await collector.snapshot()
        #expect(snapshot.eventCounts == Dictionary(uniqueKeysWithValues: NetworkEvent.Kind.allCases.map { ($0, 1) }))
        // The expired entry.
        #expect(snapshot.offlineDelivered == 1 && snapshot.offlineFailed == 1)
        #expect(snapshot.connectivity?.path == .satisfied)
    }

    // MARK: Merging

    @Test func mergedMetricsCoverAllCalls() async {
        let one = collector()
        bus.emitCall(.sample(), latency: 1)
        bus.emitCall(.sample(), .error(.timeout), latency: 3)
        let two = collector()
        bus.emitCall(.sample(), .ok(204), latency: 2)
        var merged = await one.snapshot().total.overall
        merged.merge(await two.snapshot().total.overall)
        #expect(merged.completed == 4 && merged.succeeded == 3 && merged.latency.count == 4)
        #expect(merged.statuses == [200: 1, 204: 2] && merged.failuresByKind == [.timeout: 1])
        #expect(merged.attempts == 4 && merged.bytesReceived == 141)
    }
}

/// A clock that counts how often its uptime is read.
final class CountingClock: PulseClock {
    private let count = Locked(0)

    var readings: Int { count.withLock { $0 } }
    var now: Date { Date(timeIntervalSince1970: 1_767_225_600) }
    var uptime: TimeInterval {
        count.withLock { $0 += 1 }
        return 100
    }

    func sleep(_ seconds: TimeInterval) async throws {}
}

/// A clock whose uptime the test sets.
final class BrokenClock: PulseClock {
    private let time = Locked(100.0)

    var now: Date { Date(timeIntervalSince1970: 1_767_225_600 - uptime) }
    var uptime: TimeInterval { time.withLock { $0 } }

    func set(_ uptime: TimeInterval) { time.withLock { $0 = uptime } }

    func sleep(_ seconds: TimeInterval) async throws {}
}
