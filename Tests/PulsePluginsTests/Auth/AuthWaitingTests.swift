// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// The waiters of a refresh, and how long they wait.
@Suite(.throttled)
struct AuthWaitingTests {
    /// A stage whose refresh waits at a gate and ignores its cancellation.
    private static func held(_ gate: Gate) -> AuthStage {
        AuthStage(
            FakeSession { session in
                await gate.pass()
                return session.takeNextToken()
            })
    }

    /// A stage whose refresh waits at a gate and finally obeys its cancellation.
    private static func heldUntilHeeded(_ gate: Gate) -> AuthStage {
        AuthStage(
            FakeSession { session in
                await gate.pass()
                try Task.checkCancellation()
                return session.takeNextToken()
            })
    }

    @Test func aCancelledWaiterLeavesAtOnceWithoutTheOthers() async throws {
        let gate = Gate()
        let stage = Self.held(gate)
        let stays = Task { try await stage.get() }
        await gate.arrivals(atLeast: 1)
        let leaves = Task { await stage.failure() }
        leaves.cancel()
        #expect(await leaves.value?.kind == .cancelled)
        gate.open()
        #expect(try await stays.value.statusCode == 200)
        #expect(stage.session.refreshes == 1)
    }

    @Test func theRefreshContinuesWithoutWaiters() async throws {
        let gate = Gate()
        let stage = Self.held(gate)
        let only = Task { await stage.failure() }
        await gate.arrivals(atLeast: 1)
        only.cancel()
        #expect(await only.value?.kind == .cancelled)
        let next = Task { try await stage.get() }
        gate.open()
        #expect(try await next.value.statusCode == 200)
        #expect(stage.session.refreshes == 1)
    }

    @Test func aDeadlineEndsOnlyItsOwnCallAndItsErrorHasThe401() async throws {
        let gate = Gate()
        let stage = Self.held(gate)
        let patient = Task { try await stage.get() }
        await gate.arrivals(atLeast: 1)
        async let hasty = stage.failure(deadline: 5)
        // The refresh's own timeout, and the deadline.
        await stage.clock.sleepers(atLeast: 1, for: .timeout)
        await stage.clock.sleepers(atLeast: 1, for: .deadline)
        await stage.clock.advance(by: 5)
        let error = await hasty
        #expect(error?.kind == .deadlineExceeded)
        #expect(error?.statusCode == 401)
        gate.open()
        #expect(try await patient.value.statusCode == 200)
        #expect(stage.session.refreshes == 1)
    }

    @Test func aDeadlineErrorAfterARefreshDoesNotHaveTheEarlier401() async throws {
        let replay = Gate(isOpen: true)
        let stage = AuthStage { request in
            guard request.value(forHTTPHeaderField: "Authorization") != "Bearer t1" else { return nil }
            await replay.pass()
            // Until it is cancelled.
            for await _ in AsyncStream<Void>.makeStream().stream {}
            throw CancellationError()
        }
        async let failure = stage.failure(deadline: 5)
        await replay.arrivals(atLeast: 1)
        await stage.clock.sleepers(atLeast: 1, for: .deadline)
        await stage.clock.advance(by: 5)
        let error = await failure
        #expect(error?.kind == .deadlineExceeded)
        #expect(error?.statusCode == nil)
    }

    @Test func aRefreshOfThirtySecondsFailsAllWaiters() async throws {
        let gate = Gate()
        let stage = Self.held(gate)
        async let first = stage.failure()
        await gate.arrivals(atLeast: 1)
        await stage.clock.sleepers(atLeast: 1, for: .timeout)
        await stage.clock.advance(by: 29.75)
        #expect(stage.events.all == ["started"])
        await stage.clock.advance(by: 0.25)
        let error = await first
        guard case .transport(.timedOut, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(stage.events.all == ["started", "failed: transport"])
        // It returns late: the provider has the new token, which a later call finds. No other call gets it.
        gate.open()
        await stage.plugin.shutdown()
        #expect(stage.session.token == "t2")
        try await stage.get()
        #expect(stage.session.refreshes == 1)
        #expect(stage.events.all == ["started", "failed: transport"])
    }

    /// A call after a timed-out refresh that continues: the call waits for it.
    private static func takeOver(_ stage: AuthStage, _ gate: Gate) async -> Task<PulseError?, Never> {
        async let first = stage.failure()
        await gate.arrivals(atLeast: 1)
        await stage.clock.sleepers(atLeast: 1, for: .timeout)
        await stage.clock.advance(by: 30)
        _ = await first
        // The cooldown.
        await stage.clock.advance(by: 1)
        let second = Task { await stage.failure() }
        await stage.clock.sleepers(atLeast: 1, for: .timeout)
        return second
    }

    @Test func noSecondRefreshRunsBesideATimedOutOne() async {
        let gate = Gate()
        let stage = Self.held(gate)
        let second = await Self.takeOver(stage, gate)
        #expect(stage.session.refreshes == 1)
        gate.open()
        #expect(await second.value == nil)
        #expect(stage.session.refreshes == 1)
        #expect(stage.sentTokens == ["Bearer t1", "Bearer t1", "Bearer t2"])
        await stage.plugin.shutdown()
        #expect(stage.events.all == ["started", "failed: transport", "succeeded"])
        #expect(stage.clock.sleeperCount(for: .timeout) == 0)
    }

    @Test func aRefreshThatNeverEndsFailsEachWaiterAfterThirtySeconds() async {
        let gate = Gate()
        let stage = Self.held(gate)
        let second = await Self.takeOver(stage, gate)
        await stage.clock.advance(by: 30)
        guard case .transport(.timedOut, _) = await second.value else {
            Issue.record("no timeout")
            return
        }
        #expect(stage.session.refreshes == 1)
        gate.open()
        await stage.plugin.shutdown()
    }

    @Test func theProviderIsCalledAgainAfterATimedOutRefreshObeysItsCancellation() async {
        let gate = Gate()
        let stage = Self.heldUntilHeeded(gate)
        let second = await Self.takeOver(stage, gate)
        gate.open()
        #expect(await second.value == nil)
        #expect(stage.session.refreshes == 2)
        #expect(stage.sentTokens == ["Bearer t1", "Bearer t1", "Bearer t2"])
        await stage.plugin.shutdown()
    }

    @Test func aLateRejectionOfATimedOutRefreshStillEndsTheSession() async {
        let gate = Gate()
        let stage = AuthStage(
            FakeSession { _ in
                await gate.pass()
                throw PulseError.unauthorized()
            })
        async let first = stage.failure()
        await gate.arrivals(atLeast: 1)
        await stage.clock.sleepers(atLeast: 1, for: .timeout)
        await stage.clock.advance(by: 30)
        #expect(await first?.kind == .transport)
        gate.open()
        await stage.plugin.shutdown()
        #expect(stage.session.endings == 1)
        #expect(stage.events.all == ["started", "failed: transport", "expired"])
        #expect(await stage.failure()?.kind == .sessionExpired)
        #expect(stage.session.refreshes == 1)
    }

    @Test func aRefreshThatEndsInTimeLeavesNoSleeper() async throws {
        let stage = AuthStage()
        try await stage.get()
        await stage.plugin.shutdown()
        #expect(stage.clock.sleeperCount(for: .timeout) == 0)
    }

    @Test func shuttingDownOneClientDoesNotEndARefreshThatAnotherWaitsFor() async throws {
        let gate = Gate()
        let stage = Self.heldUntilHeeded(gate)
        let other = PulseClient(
            configuration: stage.client.configuration, plugins: [stage.plugin], transport: stage.transport)
        let call = Task { try await stage.get() }
        await gate.arrivals(atLeast: 1)
        await stage.clock.sleepers(atLeast: 1, for: .timeout)
        await other.shutdown()
        // The refresh's own timeout remains.
        #expect(stage.clock.sleeperCount(for: .timeout) == 1)
        gate.open()
        #expect(try await call.value.statusCode == 200)
        await stage.plugin.shutdown()
        #expect(stage.session.refreshes == 1)
        #expect(stage.clock.sleeperCount(for: .timeout) == 0)
    }

    @Test func aShutdownEndsARefreshWithoutWaitersAndThePluginStaysUsable() async throws {
        let stage = AuthStage(
            FakeSession { _ in
                try await Task.sleep(nanoseconds: .max)
                return ""
            })
        let waiting = Task { await stage.failure() }
        await stage.clock.sleepers(atLeast: 1, for: .timeout)
        waiting.cancel()
        #expect(await waiting.value?.kind == .cancelled)
        await stage.plugin.shutdown()
        #expect(stage.clock.sleeperCount(for: .timeout) == 0)
        #expect(
            stage.events.all == ["started", "failed: cancelled"]
                || stage.events.all == ["failed: cancelled", "started"])
        stage.session.set(\.refresh) { $0.takeNextToken() }
        try await stage.get()
        #expect(stage.session.refreshes == 2)
    }

    // MARK: Refresh ahead of expiry

    /// - Parameter gate: where a refresh waits; it arrives at `taken` with the new token in place.
    private static func expiring(
        in seconds: TimeInterval, _ gate: Gate = Gate(isOpen: true), taken: Gate = Gate(isOpen: true)
    ) -> AuthStage {
        let stage = AuthStage(
            FakeSession("t2") { session in
                await gate.pass()
                session.set(\.expiry, nil)
                let token = session.takeNextToken()
                await taken.pass()
                return token
            })
        stage.session.set(\.expiry, stage.clock.now.addingTimeInterval(seconds))
        return stage
    }

    @Test func aTokenInItsLastMinuteIsRefreshedWhileCallsStillUseIt() async throws {
        let (gate, taken) = (Gate(), Gate(isOpen: true))
        let stage = Self.expiring(in: 60, gate, taken: taken)
        for _ in 0..<3 { try await stage.get() }
        await gate.arrivals(atLeast: 1)
        #expect(stage.sentTokens == ["Bearer t2", "Bearer t2", "Bearer t2"])
        gate.open()
        await taken.arrivals(atLeast: 1)
        try await stage.get()
        #expect(stage.sentTokens.last == "Bearer t3")
        #expect(stage.session.refreshes == 1)
    }

    @Test func aTokenIsNotRefreshedBeforeItsLastMinute() async throws {
        let stage = Self.expiring(in: 60.5)
        try await stage.get()
        await stage.plugin.shutdown()
        #expect(stage.session.refreshes == 0)
        #expect(stage.events.all.isEmpty)
    }

    @Test func anExpiredTokenIsRefreshedBeforeTheCall() async throws {
        let stage = Self.expiring(in: 0)
        try await stage.get()
        #expect(stage.sentTokens == ["Bearer t3"])
    }

    @Test func aFailedRefreshAheadFailsNoCallWithAValidToken() async throws {
        let stage = Self.expiring(in: 30)
        stage.session.set(\.refresh) { _ in throw PulseError.noConnection }
        for _ in 0..<3 { try await stage.get() }
        await stage.plugin.shutdown()
        #expect(stage.sentTokens == ["Bearer t2", "Bearer t2", "Bearer t2"])
        #expect(stage.session.refreshes <= 1)
    }

    @Test func anExpiredTokenIsSentIfItCannotBeRefreshedNow() async throws {
        let stage = Self.expiring(in: -5)
        stage.session.set(\.refresh) { _ in throw PulseError.noConnection }
        #expect(await stage.failure()?.kind == .noConnection)
        try await stage.get()
        #expect(stage.sentTokens == ["Bearer t2"])
        #expect(stage.session.refreshes == 1)
    }

    @Test func aNewTokenThatIsAlreadyExpiredIsUsed() async throws {
        let stage = Self.expiring(in: -5)
        stage.session.set(\.refresh) { $0.takeNextToken() }
        for _ in 0..<10 { try await stage.get() }
        #expect(stage.session.refreshes == 1)
        #expect(stage.sentTokens == [String](repeating: "Bearer t3", count: 10))
    }

    @Test func aShortLivedTokenIsRefreshedInTheSecondHalfOfItsLife() async throws {
        let stage = Self.expiring(in: -5)
        let (clock, taken) = (stage.clock, Gate(isOpen: true))
        stage.session.set(\.refresh) { session in
            session.set(\.expiry, clock.now.addingTimeInterval(20))
            let token = session.takeNextToken()
            await taken.pass()
            return token
        }
        try await stage.get()
        await clock.advance(by: 9.75)
        try await stage.get()
        await stage.plugin.shutdown()
        #expect(stage.session.refreshes == 1)
        await clock.advance(by: 0.25)
        try await stage.get()
        await taken.arrivals(atLeast: 2)
        #expect(stage.session.refreshes == 2)
        #expect(stage.sentTokens == ["Bearer t3", "Bearer t3", "Bearer t3"])
    }
}
