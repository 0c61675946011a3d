// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

@Suite(.throttled)
struct RecoveryTests {
    private struct Fault: Error {}
    private struct LoginFailed: Error {}

    /// A server with a renewable session.
    private final class Session: Sendable {
        let isGood = Locked(false)
        let sent = Locked<[URLRequest]>([])

        func respond(to request: URLRequest) -> PulseResponse {
            sent.withLock { $0.append(request) }
            if request.url?.path == "/login" {
                isGood.withLock { $0 = true }
                return PulseResponse(statusCode: 204, request: request)
            }
            let body = isGood.withLock { $0 } ? "good" : "bad"
            return PulseResponse(statusCode: 200, data: Data(body.utf8), request: request)
        }

        func count(_ path: String) -> Int {
            sent.withLock { $0.count { $0.url?.path == path } }
        }
    }

    private static func plugin(
        _ recovery: Validator.Recovery, maxRepeats: Int = 2, timeout: TimeInterval = 30
    ) -> ValidatorPlugin {
        let validator = Validator { _, response, _ in
            String(decoding: response.data, as: UTF8.self) == "bad" ? .recover(recovery, otherwise: Fault()) : .accept
        }
        return ValidatorPlugin([validator], maxRepeats: maxRepeats, recoveryTimeout: timeout)
    }

    /// A plugin whose recovery waits at a gate, until it is cancelled.
    private static func held() -> (session: Session, gate: Turnstile, plugin: ValidatorPlugin) {
        let (session, gate) = (Session(), Turnstile())
        let plugin = plugin(
            .task("login") {
                try await gate.pass("login")
                session.isGood.withLock { $0 = true }
            })
        return (session, gate, plugin)
    }

    private static func cause(_ task: Task<PulseResponse, any Error>) async -> (any Error)? {
        do {
            _ = try await task.value
            return nil
        } catch PulseError.custom(let error) {
            return error
        } catch {
            return error
        }
    }

    @Test func aRecoveryRequestIsSentOnceAndThenTheRequestIsResent() async throws {
        let session = Session()
        var login = URLRequest.mock(.post, "/login", body: Data("secret".utf8))
        login.setValue("1", forHTTPHeaderField: "X-Login")
        let response = try await Self.plugin(.request(login)).run(.mock(.get, "/data")) { session.respond(to: $0) }
        #expect(response.data == Data("good".utf8))
        #expect(session.sent.withLock { $0.map { $0.url?.path } } == ["/data", "/login", "/data"])
        #expect(session.sent.withLock { $0[1].httpBody } == Data("secret".utf8))
    }

    @Test func theResponseToARecoveryRequestIsNotWrittenToTheCallsFile() async throws {
        let session = Session()
        let deliveries = Locked<[TransportRequest.Delivery]>([])
        let file = TransportRequest.Delivery.file(URL(fileURLWithPath: "/nowhere"), resumeOffset: 0)
        let context = PluginContext.mock(
            for: .mock(.put, "/data"), delivery: file, body: .file(URL(fileURLWithPath: "/a-body")))
        let bodies = Locked<[Bool]>([])
        let plugins: [any PulsePlugin] = [
            Self.plugin(.request(.mock(.post, "/login"))),
            WatchingPlugin { context in
                deliveries.withLock { $0.append(context.delivery) }
                bodies.withLock { $0.append(context.body.isInRequest) }
            },
        ]
        _ = try await PluginChain.mock(plugins, context: context) { session.respond(to: $0) }(.mock(.put, "/data"))
        #expect(deliveries.withLock { $0 } == [file, .buffered(limit: 1 << 20), file])
        #expect(bodies.withLock { $0 } == [false, true, false])
    }

    private struct WatchingPlugin: PulsePlugin {
        let identifier = "com.example.watching"
        let note: @Sendable (PluginContext) -> Void

        func prepare(_ request: inout URLRequest, for context: PluginContext) async throws { note(context) }
    }

    @Test func aFailingRecoveryRequestFailsTheCall() async throws {
        let plugin = Self.plugin(.request(.mock(.post, "/login")))
        let error = await #expect(throws: PulseError.self) {
            try await plugin.run(.mock(.get, "/data")) { request in
                PulseResponse(
                    statusCode: request.url?.path == "/login" ? 401 : 200, data: Data("bad".utf8), request: request)
            }
        }
        #expect(error?.kind == .unauthorized)
    }

    @Test func oneRecoveryServesAllWaitingCalls() async throws {
        let (session, gate, runs) = (Session(), Turnstile(), Locked(0))
        let plugin = Self.plugin(
            .task("login") {
                runs.withLock { $0 += 1 }
                try await gate.pass("login")
                session.isGood.withLock { $0 = true }
            })
        let calls = (0..<50).map { _ in Task.startingNow { try await plugin.run { session.respond(to: $0) } } }
        await gate.arrived(1)
        #expect(plugin.recoverer.waiterCount("login") == 50)
        gate.open()
        for call in calls { #expect(try await call.value.data == Data("good".utf8)) }
        #expect(runs.withLock { $0 } == 1)
    }

    @Test func aRecoveryHasAHighPriorityWhicheverCallIsFirst() async throws {
        let (session, priority) = (Session(), Locked<TaskPriority?>(nil))
        let plugin = Self.plugin(
            .task("login") {
                priority.withLock { $0 = Task.currentPriority }
                session.isGood.withLock { $0 = true }
            })
        let call = Task(priority: .background) { try await plugin.run { session.respond(to: $0) } }
        // Waiting for the task itself would raise its priority.
        while priority.withLock({ $0 == nil }) { await Task.yield() }
        _ = try await call.value
        #expect((priority.withLock { $0 } ?? .background) >= .userInitiated)
    }

    @Test func aLateResponseToARequestSentBeforeARecoveryStartsNoOther() async throws {
        let (session, gate, runs) = (Session(), Turnstile(), Locked(0))
        let plugin = Self.plugin(
            .task("login") {
                runs.withLock { $0 += 1 }
                session.isGood.withLock { $0 = true }
            })
        let late = Task {
            try await plugin.run { request in
                let response = session.respond(to: request)
                try await gate.pass("late")
                return response
            }
        }
        await gate.arrived(1)
        _ = try await plugin.run { session.respond(to: $0) }
        gate.open()
        #expect(try await late.value.data == Data("good".utf8))
        #expect(runs.withLock { $0 } == 1)
    }

    @Test func aFailedRecoveryFailsAllWaitersOnceAndTheNextCallStartsAnother() async throws {
        let (session, gate, runs) = (Session(), Turnstile(), Locked(0))
        let plugin = Self.plugin(
            .task("login") {
                runs.withLock { $0 += 1 }
                try await gate.pass("login")
                throw LoginFailed()
            })
        let calls = (0..<5).map { _ in Task.startingNow { try await plugin.run { session.respond(to: $0) } } }
        await gate.arrived(1)
        gate.open()
        for call in calls { #expect(await Self.cause(call) is LoginFailed) }
        #expect(runs.withLock { $0 } == 1)
        await #expect(throws: PulseError.self) { try await plugin.run { session.respond(to: $0) } }
        #expect(runs.withLock { $0 } == 2)
    }

    @Test func aCancelledCallLeavesAloneAndTheRecoveryContinues() async throws {
        let (session, gate, plugin) = Self.held()
        let first = Task { try await plugin.run { session.respond(to: $0) } }
        await gate.arrived(1)
        let second = Task.startingNow { try await plugin.run { session.respond(to: $0) } }
        first.cancel()
        #expect((await Self.cause(first) as? PulseError)?.kind == .cancelled)
        gate.open()
        #expect(try await second.value.data == Data("good".utf8))
    }

    @Test func anIneffectiveRecoveryIsBoundedByMaxRepeats() async throws {
        let (session, runs) = (Session(), Locked(0))
        let plugin = Self.plugin(.task("login") { runs.withLock { $0 += 1 } }, maxRepeats: 3)
        let call = Task { try await plugin.run { session.respond(to: $0) } }
        #expect(await Self.cause(call) is Fault)
        #expect(runs.withLock { $0 } == 3)
        #expect(session.count("/") == 4)
    }

    @Test func aPOSTStartsNoRecoveryUnlessItMayBeResent() async throws {
        let (session, runs) = (Session(), Locked(0))
        let plugin = Self.plugin(.task("login") { runs.withLock { $0 += 1 } })
        let call = Task { try await plugin.run(.mock(.post)) { session.respond(to: $0) } }
        #expect(await Self.cause(call) is Fault)
        #expect(runs.withLock { $0 } == 0)
    }

    @Test func aRecoveryTimesOutEvenIfItIgnoresItsCancellation() async throws {
        let (session, clock, gate) = (Session(), TestClock(), Turnstile())
        let plugin = Self.plugin(
            .task("login") {
                // Ignores its cancellation.
                await Task.detached { try? await gate.pass("login") }.value
            }, timeout: 10)
        let call = Task { try await plugin.run(in: .mock(clock: clock)) { session.respond(to: $0) } }
        await gate.arrived(1)
        await clock.sleepers(atLeast: 1, for: .timeout)
        await clock.advance(by: 10)
        let error = await #expect(throws: PulseError.self) { try await call.value }
        #expect(error?.isRetryable == true)
        gate.open()
        await plugin.shutdown()
    }

    @Test func noSecondRecoveryRunsBesideATimedOutOne() async throws {
        let (session, clock, gate) = (Session(), TestClock(), Turnstile())
        let runs = Locked(0)
        let plugin = Self.plugin(
            .task("login") {
                runs.withLock { $0 += 1 }
                // Ignores its cancellation.
                await Task.detached { try? await gate.pass("login") }.value
                session.isGood.withLock { $0 = true }
            }, timeout: 10)
        @Sendable func call() -> Task<PulseResponse, any Error> {
            Task { try await plugin.run(in: .mock(clock: clock)) { session.respond(to: $0) } }
        }
        // Each waiter has its own timeout.
        for _ in 0..<2 {
            let waiting = call()
            await gate.arrived(1)
            await clock.sleepers(atLeast: 1, for: .timeout)
            await clock.advance(by: 10)
            let error = await #expect(throws: PulseError.self) { try await waiting.value }
            #expect(error?.isRetryable == true)
        }
        let last = call()
        await clock.sleepers(atLeast: 1, for: .timeout)
        gate.open()
        #expect(try await last.value.data == Data("good".utf8))
        #expect(runs.withLock { $0 } == 1)
        await plugin.shutdown()
        #expect(clock.sleeperCount(for: .timeout) == 0)
    }

    @Test func aWaiterOfATimedOutRecoveryThatFailsMayTryAgain() async throws {
        let (session, clock, gate) = (Session(), TestClock(), Turnstile())
        let plugin = Self.plugin(
            .task("login") {
                await Task.detached { try? await gate.pass("login") }.value
                try Task.checkCancellation()
            }, timeout: 10)
        func call() -> Task<PulseResponse, any Error> {
            Task { try await plugin.run(in: .mock(clock: clock)) { session.respond(to: $0) } }
        }
        let first = call()
        await gate.arrived(1)
        await clock.sleepers(atLeast: 1, for: .timeout)
        await clock.advance(by: 10)
        await #expect(throws: PulseError.self) { try await first.value }
        let second = call()
        await clock.sleepers(atLeast: 1, for: .timeout)
        gate.open()
        let error = await #expect(throws: PulseError.self) { try await second.value }
        #expect(error?.isRetryable == true)
        await plugin.shutdown()
    }

    @Test func aCallOfATaskThatOutlivesARecoveryIsJudgedAgain() async throws {
        let (session, gate, later) = (Session(), Gate(), Locked<Task<PulseResponse, any Error>?>(nil))
        let own = Locked<ValidatorPlugin?>(nil)
        let plugin = Self.plugin(
            .task("login") {
                guard let plugin = own.withLock({ $0 }) else { return }
                let task = Task {
                    await gate.pass()
                    return try await plugin.run { session.respond(to: $0) }
                }
                later.withLock { $0 = task }
                session.isGood.withLock { $0 = true }
            })
        own.withLock { $0 = plugin }
        _ = try await plugin.run { session.respond(to: $0) }
        session.isGood.withLock { $0 = false }
        // Before the next recovery puts a task of its own in its place.
        let outliving = try #require(later.withLock { $0 })
        gate.open()
        // It is judged, and starts a recovery.
        #expect(try await outliving.value.data == Data("good".utf8))
        own.withLock { $0 = nil }
    }

    @Test func aRecoveryMayShutDownItsPlugin() async throws {
        let own = Locked<ValidatorPlugin?>(nil)
        let plugin = Self.plugin(.task("login") { await own.withLock { $0 }?.shutdown() })
        own.withLock { $0 = plugin }
        let session = Session()
        await #expect(throws: (any Error).self) { try await plugin.run { session.respond(to: $0) } }
        own.withLock { $0 = nil }
    }

    @Test func noTimerIsLeftAfterARecovery() async throws {
        let (session, clock) = (Session(), TestClock())
        let plugin = Self.plugin(.task("login") { session.isGood.withLock { $0 = true } })
        _ = try await plugin.run(in: .mock(clock: clock)) { session.respond(to: $0) }
        await clock.advance(by: 0)
        #expect(clock.sleeperCount(for: .timeout) == 0)
    }

    @Test func aCallThatIsPartOfARecoveryDoesNotWaitForItself() async throws {
        let client = Locked<PulseClient?>(nil)
        let session = Session()
        let plugin = Self.plugin(
            .task("login") {
                // Its response is "bad" as well, but this call starts no recovery.
                let made = client.withLock { $0 }
                _ = try await made?.request(Request<String>(.get, "/check"))
                _ = try await made?.request(Request<EmptyResponse>(.post, "/login"))
            })
        let made = ClientStage.client(.root, plugins: [.concurrencyLimit(1), plugin], retry: .default) {
            session.respond(to: $0)
        }
        client.withLock { $0 = made }
        #expect(try await made.request(Request<String>(.get, "/data")) == "good")
        #expect(session.sent.withLock { $0.map { $0.url?.path } } == ["/data", "/check", "/login", "/data"])
        client.withLock { $0 = nil }
        await made.shutdown()
    }

    /// A client whose recovery logs in through the client itself, once the gate is open.
    private static func client(
        _ session: Session, _ outer: [any PulsePlugin], clock: TestClock = TestClock(), gate: Gate = Gate(isOpen: true),
        tried: Gate = Gate(isOpen: true),
        responding respond: @escaping @Sendable (URLRequest) -> PulseResponse? = { _ in nil }
    ) -> (client: PulseClient, break: @Sendable () -> Void) {
        let client = Locked<PulseClient?>(nil)
        let plugin = Self.plugin(
            .task("login") {
                await gate.pass()
                let result = await client.withLock { $0 }?.result(of: Request<EmptyResponse>(.post, "/login"))
                await tried.pass()
                _ = try result?.get()
            })
        let made = ClientStage.client(.root, plugins: outer + [plugin], clock: clock) {
            respond($0) ?? session.respond(to: $0)
        }
        client.withLock { $0 = made }
        return (made, { client.withLock { $0 = nil } })
    }

    @Test func aProbeWhoseRecoveryCallsThroughTheSameClientClosesTheCircuit() async throws {
        let (session, clock, fails) = (Session(), TestClock(), Locked(true))
        let breaker = CircuitBreakerPlugin(failureThreshold: 1, cooldownDuration: 30)
        let (client, end) = Self.client(session, [breaker], clock: clock) { request in
            fails.withLock { $0 } ? PulseResponse(statusCode: 500, request: request) : nil
        }
        await #expect(throws: PulseError.self) { try await client.request(Request<String>(.get, "/data")) }
        #expect(breaker.state(for: "https://api.example.com") == .open)
        fails.withLock { $0 = false }
        await clock.advance(by: 30)
        #expect(try await client.request(Request<String>(.get, "/data")) == "good")
        #expect(breaker.state(for: "https://api.example.com") == .closed)
        #expect(session.count("/login") == 1)
        end()
        await client.shutdown()
    }

    @Test func anOpenCircuitRejectsCallsOfAnEarlierProbe() async throws {
        let (session, clock, gate, tried) = (Session(), TestClock(), Gate(), Gate(isOpen: true))
        let fails = Locked(true)
        let breaker = CircuitBreakerPlugin(failureThreshold: 1, cooldownDuration: 30)
        let (client, end) = Self.client(session, [breaker], clock: clock, gate: gate, tried: tried) { request in
            fails.withLock { $0 } ? PulseResponse(statusCode: 500, request: request) : nil
        }
        await #expect(throws: PulseError.self) { try await client.request(Request<String>(.get, "/data")) }
        fails.withLock { $0 = false }
        await clock.advance(by: 30)
        let probe = Task { try await client.request(Request<String>(.get, "/data")) }
        await gate.arrivals(atLeast: 1)
        probe.cancel()
        _ = await probe.result
        // Another probe fails, and the circuit is open again.
        fails.withLock { $0 = true }
        await #expect(throws: PulseError.self) { try await client.request(Request<String>(.get, "/other")) }
        #expect(breaker.state(for: "https://api.example.com") == .open)
        fails.withLock { $0 = false }
        gate.open()
        await tried.arrivals(atLeast: 1)
        await client.shutdown()
        #expect(session.count("/login") == 0)
        end()
    }

    @Test func aRecoveryRetainsThePermitOfItsFirstCallAfterThatHasLeft() async throws {
        let (session, gate) = (Session(), Gate())
        let limit = ConcurrencyLimitPlugin(limit: 1)
        let (client, end) = Self.client(session, [limit], gate: gate)
        let first = Task { try await client.request(Request<String>(.get, "/data")) }
        await gate.arrivals(atLeast: 1)
        let second = Task<String, any Error>.startingNow { try await client.request(Request<String>(.get, "/data")) }
        first.cancel()
        await #expect(throws: PulseError.self) { try await first.value }
        gate.open()
        // It would hold the only permit, which the recovery needs, and wait for the recovery.
        #expect(try await second.value == "good")
        #expect(session.count("/login") == 1)
        await client.shutdown()
        #expect(limit.keyCount == 0)
        end()
    }

    @Test(arguments: [0, -1, .nan, -.infinity] as [TimeInterval])
    func anInvalidTimeoutIsThirtySeconds(timeout: TimeInterval) async throws {
        let (session, clock) = (Session(), TestClock())
        let plugin = Self.plugin(
            .task("login") {
                await clock.sleepers(atLeast: 1, for: .timeout)
                session.isGood.withLock { $0 = true }
            }, timeout: timeout)
        let response = try await plugin.run(in: .mock(clock: clock)) { session.respond(to: $0) }
        #expect(response.data == Data("good".utf8))
        #expect(clock.sleeps(for: .timeout) == [30])
    }

    @Test(arguments: [CancellationError(), PulseError.cancelled, URLError(.cancelled)] as [any Error])
    func aRecoveryCancelledFromWithinFailsItsWaiters(error: any Error) async throws {
        let session = Session()
        let plugin = Self.plugin(.task("login") { throw error })
        let call = Task { try await plugin.run { session.respond(to: $0) } }
        #expect(await Self.cause(call) is RecoveryCancelled)
    }

    @Test func aShutdownEndsARecoveryWithoutWaitersAndThePluginStaysUsable() async throws {
        let (session, gate, plugin) = Self.held()
        let call = Task { try await plugin.run { session.respond(to: $0) } }
        await gate.arrived(1)
        call.cancel()
        #expect((await Self.cause(call) as? PulseError)?.kind == .cancelled)
        #expect(gate.count == 1)
        await plugin.shutdown()
        #expect(gate.count == 0)
        gate.open()
        #expect(try await plugin.run { session.respond(to: $0) }.data == Data("good".utf8))
    }

    @Test func aShutdownDoesNotEndARecoveryWithWaiters() async throws {
        let (session, gate, plugin) = Self.held()
        let call = Task { try await plugin.run { session.respond(to: $0) } }
        await gate.arrived(1)
        await plugin.shutdown()
        gate.open()
        #expect(try await call.value.data == Data("good".utf8))
        #expect(gate.arrivals == ["login"])
    }

    @Test func aCallDuringAShutdownStartsAnotherRecovery() async throws {
        let (session, clock, gate) = (Session(), TestClock(), Turnstile())
        let runs = Locked(0)
        let plugin = Self.plugin(
            .task("login") {
                let isFirst = runs.withLock { runs in
                    runs += 1
                    return runs == 1
                }
                guard isFirst else { return session.isGood.withLock { $0 = true } }
                // Ignores its cancellation until the gate is open.
                await Task.detached { try? await gate.pass("login") }.value
                try Task.checkCancellation()
            }, timeout: 10)
        let context = PluginContext.mock(clock: clock)
        let first = Task { try await plugin.run(in: context) { session.respond(to: $0) } }
        await gate.arrived(1)
        first.cancel()
        #expect((await Self.cause(first) as? PulseError)?.kind == .cancelled)
        let shutdown = Task.startingNow { await plugin.shutdown() }
        let second = Task { try await plugin.run(in: .mock(clock: clock)) { session.respond(to: $0) } }
        // It has its own timeout.
        await clock.sleepers(atLeast: 1, for: .timeout)
        gate.open()
        #expect(try await second.value.data == Data("good".utf8))
        #expect(runs.withLock { $0 } == 2)
        _ = await shutdown.result
        #expect(clock.sleeperCount(for: .timeout) == 0)
    }
}

extension PluginContext.Body {
    fileprivate var isInRequest: Bool {
        if case .inRequest = self { return true }
        return false
    }
}
