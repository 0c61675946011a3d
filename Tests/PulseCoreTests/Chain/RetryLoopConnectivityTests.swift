// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

/// `waitsForConnectivity`: a call after it failed for lack of a connection.
@Suite(.throttled)
struct RetryLoopConnectivityTests {
    private let clock = TestClock()

    private func pipeline(_ chain: ChainUnderTest, _ policy: RetryPolicy = .never) -> PluginPipeline {
        chain.pipeline(configured: policy)
    }

    private func context(
        _ monitor: Monitor?, waits: Bool? = true, method: HTTPMethod = .get, body: PluginContext.Body = .inRequest,
        deadline: TimeInterval? = nil, events: RecordingSink? = nil
    ) throws -> PluginContext {
        let environment = CallEnvironment(clock: clock, events: events, connectivity: monitor)
        var options = RequestOptions()
        options.waitsForConnectivity = waits
        options.deadline = deadline
        let call = Call(
            endpointPath: "/v1", routeType: nil, method: method, host: "api.example.com", options: options,
            delivery: .buffered(limit: 1), environment: environment)
        return PluginContext(call: call, url: try request().url ?? url(""), method: method, body: body)
    }

    private func start(
        _ chain: ChainUnderTest, _ context: PluginContext, _ policy: RetryPolicy = .never
    ) throws -> Task<Result<PulseResponse, PulseError>, Never> {
        let (request, pipeline) = (try request(context.method), pipeline(chain, policy))
        return Task { await chain.run(request, in: context, through: pipeline) }
    }

    @Test func aWaitEndsAsSoonAsThereIsAConnection() async throws {
        let monitor = Monitor(.unsatisfied)
        let sink = RecordingSink()
        let chain = ChainUnderTest([.failure(PulseError.noConnection), .success(.sample(200))])
        let task = try start(chain, try context(monitor, method: .post, events: sink))
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: 20)
        #expect(chain.sent.count == 1)
        await monitor.set(.satisfied)
        #expect(await task.value.status == 200)
        #expect(chain.sent.map(\.context.attempt) == [1, 2])
        #expect(sink.events.count == 1)
        guard case .requestRetrying(_, let error, attempt: 2) = sink.events.first else {
            Issue.record("\(sink.events)")
            return
        }
        #expect(error.kind == .noConnection)
    }

    /// A pitfall: other clients wait after any failure.
    @Test func aCallWaitsOnlyAfterAnOfflineError() async throws {
        for outcome in [ChainUnderTest.Outcome.success(.sample(500)), .failure(PulseError.timeout(try request()))] {
            let chain = ChainUnderTest([outcome])
            _ = await chain.run(try request(), in: try context(Monitor(.unsatisfied)), through: pipeline(chain))
            #expect(chain.sent.count == 1)
        }
        #expect(clock.sleeps.isEmpty)
    }

    @Test func aCallWaitsOnlyIfTheOptionIsSet() async throws {
        for waits in [nil, false] {
            let chain = ChainUnderTest(failing: PulseError.noConnection)
            let context = try context(Monitor(.unsatisfied), waits: waits)
            #expect(await chain.run(try request(), in: context, through: pipeline(chain)).error?.kind == .noConnection)
        }
        #expect(clock.sleeps.isEmpty)
    }

    @Test func aCallWaitsOnlyIfTheMonitorReportsNoPath() async throws {
        for monitor in [nil, Monitor(.unknown), Monitor(.satisfied)] {
            let chain = ChainUnderTest(failing: PulseError.noConnection)
            let context = try context(monitor)
            #expect(await chain.run(try request(), in: context, through: pipeline(chain)).error?.kind == .noConnection)
            #expect(chain.sent.count == 1, "the policy alone decides")
        }
        #expect(clock.sleeps.isEmpty)
    }

    @Test func theMonitorNeverPreventsTheFirstAttempt() async throws {
        let chain = ChainUnderTest()
        let context = try context(Monitor(.unsatisfied))
        #expect(await chain.run(try request(), in: context, through: pipeline(chain)).status == 200)
    }

    @Test(arguments: [false, true])
    func aCallRetriesEveryMinuteWhateverTheMonitorReports(endsUpdates: Bool) async throws {
        let monitor = Monitor(.unsatisfied, endsUpdates: endsUpdates)
        let chain = ChainUnderTest([.failure(PulseError.noConnection), .success(.sample(200))])
        let task = try start(chain, try context(monitor))
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: 59.9)
        #expect(chain.sent.count == 1)
        await clock.advance(by: 0.1)
        #expect(await task.value.status == 200)
    }

    @Test func aMonitorThatWronglyReportsAPathCausesNoBusyLoop() async throws {
        let monitor = Monitor(.unsatisfied, reports: .satisfied)
        let clock = TestClock()
        let chain = ChainUnderTest(failing: PulseError.noConnection)
        let environment = CallEnvironment(clock: clock, connectivity: monitor)
        let options = RequestOptions().with(\.waitsForConnectivity, value: true)
        let call = Call(
            endpointPath: "/", routeType: nil, method: .get, host: "a", options: options,
            delivery: .buffered(limit: 1), environment: environment)
        let context = PluginContext(call: call, url: try url("https://a/"), method: .get)
        let (request, pipeline) = (try request(), pipeline(chain))
        let task = Task { await chain.run(request, in: context, through: pipeline) }
        // Waits of 1, 2, 4, 8 and 16 seconds.
        for _ in 0..<62 {
            await clock.sleepers(atLeast: 1)
            await clock.advance(by: 0.5)
        }
        #expect((3...6).contains(chain.sent.count))
        task.cancel()
        #expect(await task.value.error?.kind == .cancelled)
    }

    @Test func aWaitEndsAtTheDeadlineWithTheOfflineError() async throws {
        let chain = ChainUnderTest(failing: PulseError.noConnection)
        let task = try start(chain, try context(Monitor(.unsatisfied), deadline: 30))
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: 30)
        #expect(await task.value.error?.kind == .noConnection)
        #expect(chain.sent.count == 1)
    }

    @Test func anEarlierDeadlineEndsTheWaitWithTheOfflineError() async throws {
        let chain = ChainUnderTest(failing: PulseError.noConnection)
        let context = try context(Monitor(.unsatisfied), deadline: 30)
        let task = try start(chain, context)
        await clock.sleepers(atLeast: 1)
        context.call.expireDeadline()
        task.cancel()
        #expect(await task.value.error?.kind == .noConnection)
    }

    @Test func aCancellationEndsTheConnectivityWait() async throws {
        let chain = ChainUnderTest(failing: PulseError.noConnection)
        let task = try start(chain, try context(Monitor(.unsatisfied)))
        await clock.sleepers(atLeast: 1)
        task.cancel()
        #expect(await task.value.error?.kind == .cancelled)
        #expect(chain.sent.count == 1)
    }

    @Test func aOneShotBodyDoesNotWait() async throws {
        let chain = ChainUnderTest(failing: PulseError.noConnection)
        let oneShot = PluginContext.Body.stream(RequestBody.Stream(length: nil, isOneShot: true) { ByteStream([]) })
        let context = try context(Monitor(.unsatisfied), method: .put, body: oneShot)
        #expect(await chain.run(try request(.put), in: context, through: pipeline(chain)).error?.kind == .noConnection)
        #expect(clock.sleeps.isEmpty)
    }

    @Test func attemptsAfterAWaitDoNotCountForThePolicy() async throws {
        let monitor = Monitor(.unsatisfied)
        let offline = ChainUnderTest.Outcome.failure(PulseError.noConnection)
        let busy = ChainUnderTest.Outcome.success(.sample(503))
        let chain = ChainUnderTest([offline, offline, busy, busy, .success(.sample(200))])
        let policy = RetryPolicy(maxAttempts: 3, backoffStrategy: .immediate)
        let task = try start(chain, try context(monitor), policy)
        for _ in 0..<2 {
            await clock.sleepers(atLeast: 1)
            await clock.advance(by: 60)
        }
        #expect(await task.value.status == 200)
        #expect(chain.sent.map(\.context.attempt) == [1, 2, 3, 4, 5])
    }
}

/// A monitor that a test controls.
private final class Monitor: ConnectivityMonitor {
    private struct State {
        var path: ConnectivityStatus.Path
        var subscribers: [AsyncStream<ConnectivityStatus>.Continuation] = []
    }

    private let state: Locked<State>
    private let reported: ConnectivityStatus.Path?
    private let endsUpdates: Bool

    init(_ path: ConnectivityStatus.Path, reports reported: ConnectivityStatus.Path? = nil, endsUpdates: Bool = false) {
        state = Locked(State(path: path))
        self.reported = reported
        self.endsUpdates = endsUpdates
    }

    var current: ConnectivityStatus { ConnectivityStatus(path: state.withLock { $0.path }) }

    var updates: AsyncStream<ConnectivityStatus> {
        AsyncStream { continuation in
            state.withLock { state in
                continuation.yield(ConnectivityStatus(path: reported ?? state.path))
                if endsUpdates { continuation.finish() } else { state.subscribers.append(continuation) }
            }
        }
    }

    func set(_ path: ConnectivityStatus.Path) async {
        let subscribers = state.withLock { state in
            state.path = path
            return state.subscribers
        }
        subscribers.forEach { $0.yield(ConnectivityStatus(path: path)) }
    }
}
