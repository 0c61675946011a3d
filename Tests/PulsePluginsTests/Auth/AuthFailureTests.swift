// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// What a failed refresh means for waiting and later calls.
@Suite(.throttled)
struct AuthFailureTests {
    private static func status(_ status: Int) -> PulseError {
        .http(PulseResponse(statusCode: status, request: .mock()))
    }

    private static let terminal: [PulseError] = [
        .unauthorized(), .sessionExpired, status(400), status(401), .retryExhausted(last: status(401), attempts: 2),
    ]
    private static let transient: [PulseError] = [
        .noConnection, .transport(.networkConnectionLost, underlying: URLError(.networkConnectionLost)), status(500),
        status(503), status(403), .rateLimited(retryAfter: nil), .cancelled, .deadlineExceeded(last: status(401)),
        .custom(CancellationError()),
    ]

    /// A cancellation within the refresh is not a cancellation of the waiting calls.
    private static func reportedKind(of error: PulseError) -> PulseError.Kind {
        error.kind == .cancelled ? .custom : error.kind
    }

    @Test(arguments: terminal.indices)
    func aRefreshRejectedByTheServerEndsTheSession(index: Int) async {
        let stage = AuthStage(FakeSession { _ in throw Self.terminal[index] })
        #expect(await stage.failure()?.kind == .sessionExpired)
        await stage.plugin.shutdown()
        #expect(stage.session.endings == 1)
        #expect(stage.events.all == ["started", "failed: \(Self.terminal[index].kind)", "expired"])
    }

    @Test(arguments: transient.indices)
    func aTransientRefreshFailureFailsTheCallAndKeepsTheSession(index: Int) async throws {
        let stage = AuthStage(FakeSession { _ in throw Self.transient[index] })
        #expect(await stage.failure()?.kind == Self.reportedKind(of: Self.transient[index]))
        #expect(stage.session.endings == 0)
        stage.session.set(\.refresh) { $0.takeNextToken() }
        await stage.clock.advance(by: 1)
        try await stage.get()
    }

    @Test func aFailedRefreshFailsAllWaitersWithTheSameErrorOnce() async {
        let hold = Gate()
        let stage = AuthStage(FakeSession { _ in throw PulseError.noConnection }, hold: hold)
        let kinds = await withTaskGroup(of: PulseError.Kind?.self) { group in
            for _ in 0..<50 { group.addTask { await stage.failure()?.kind } }
            await hold.arrivals(atLeast: 50)
            hold.open()
            return await group.reduce(into: Set<PulseError.Kind?>()) { $0.insert($1) }
        }
        #expect(kinds == [.noConnection])
        #expect(stage.session.refreshes == 1)
        #expect(stage.sentTokens.count == 50)
    }

    @Test func anEndedSessionFailsLaterCallsAtOnceUntilThereIsAnotherToken() async throws {
        let stage = AuthStage(FakeSession { _ in throw PulseError.unauthorized() })
        for _ in 0..<3 { #expect(await stage.failure()?.kind == .sessionExpired) }
        #expect(await stage.failure(auth: .required)?.kind == .sessionExpired)
        #expect(stage.sentTokens == ["Bearer t1"])
        stage.session.set(\.token, nil)
        // No user is logged in: a call may be sent without a token, unless it requires one.
        #expect(await stage.failure()?.kind == .unauthorized)
        #expect(await stage.failure(auth: .required)?.kind == .sessionExpired)
        stage.session.set(\.token, "t1")
        #expect(await stage.failure()?.kind == .sessionExpired)
        stage.session.set(\.token, "t5")
        try await stage.get()
        #expect(stage.sentTokens == ["Bearer t1", "", "Bearer t5"])
        await stage.plugin.shutdown()
        #expect(stage.session.endings == 1)
        #expect(stage.events.all.count { $0 == "expired" } == 1)
    }

    @Test func a401AfterTheEndOfItsSessionIsSessionExpiredAlthoughTheTokenIsGone() async {
        let gate = Gate()
        let stage = AuthStage(
            FakeSession { session in
                session.set(\.token, nil)
                throw PulseError.unauthorized()
            }
        ) { request in
            if request.url?.path == "/late" { await gate.pass() }
            return nil
        }
        let late = Task { await stage.failure("/late") }
        await gate.arrivals(atLeast: 1)
        #expect(await stage.failure()?.kind == .sessionExpired)
        gate.open()
        #expect(await late.value?.kind == .sessionExpired)
        // A later call is a guest's. Its 401 does not end a session, for example after a login with a wrong password.
        #expect(await stage.failure()?.kind == .unauthorized)
    }

    /// The call may have been sent with an older token.
    @Test func aLate401ForAnOlderTokenLeavesTheSessionEnded() async throws {
        let gate = Gate()
        let stage = AuthStage(
            FakeSession { session in
                guard session.token == "t1" else {
                    session.set(\.token, nil)
                    throw PulseError.unauthorized()
                }
                return session.takeNextToken()
            }
        ) { request in
            guard request.url?.path == "/late" else {
                return request.url?.path == "/end" ? PulseResponse(statusCode: 401, request: request) : nil
            }
            await gate.pass()
            return PulseResponse(statusCode: 401, request: request)
        }
        let late = Task { await stage.failure("/late") }
        await gate.arrivals(atLeast: 1)
        try await stage.get()
        await stage.clock.advance(by: 60)
        #expect(await stage.failure("/end")?.kind == .sessionExpired)
        gate.open()
        #expect(await late.value?.kind == .sessionExpired)
        #expect(await stage.failure(auth: .required)?.kind == .sessionExpired)
    }

    @Test func anOldSessionThatEndsDoesNotEndANewOne() async throws {
        let stage = AuthStage(
            FakeSession { session in
                session.set(\.token, "t9")
                throw PulseError.unauthorized()
            })
        try await stage.get()
        #expect(stage.sentTokens == ["Bearer t1", "Bearer t9"])
        await stage.plugin.shutdown()
        #expect(stage.session.endings == 0)
        #expect(stage.session.refreshes == 1)
        #expect(stage.events.all == ["started", "failed: unauthorized"])
    }

    @Test func aHangingFailureHandlerBlocksNoCall() async {
        let gate = Gate()
        let stage = AuthStage(FakeSession { _ in throw PulseError.unauthorized() })
        stage.session.set(\.ending) { await gate.pass() }
        #expect(await stage.failure()?.kind == .sessionExpired)
        #expect(await stage.failure()?.kind == .sessionExpired)
        gate.open()
        await stage.plugin.shutdown()
    }

    @Test func theFailureHandlerMayUseTheClientAndShutItDown() async {
        let box = Locked<PulseClient?>(nil)
        let stage = AuthStage(FakeSession { _ in throw PulseError.unauthorized() }) { request in
            request.url?.path == "/logout" ? PulseResponse(statusCode: 200, request: request) : nil
        }
        box.withLock { $0 = stage.client }
        let isDown = Gate(isOpen: true)
        stage.session.set(\.ending) {
            let client = box.withLock { $0 }
            let _: EmptyResponse? = try? await client?.get("/logout")
            await client?.shutdown()
            await isDown.pass()
        }
        #expect(await stage.failure()?.kind == .sessionExpired)
        await isDown.arrivals(atLeast: 1)
        #expect(stage.sentTokens == ["Bearer t1", ""])
        #expect(await stage.failure()?.kind == .cancelled)
        box.withLock { $0 = nil }
    }

    @Test func theRefreshCooldownDoublesFromOneSecondToThirty() async throws {
        let stage = AuthStage(FakeSession { _ in throw PulseError.noConnection })
        var tries = 0
        for cooldown in [1.0, 2, 4, 8, 16, 30, 30] {
            #expect(await stage.failure()?.kind == .noConnection)
            tries += 1
            #expect(stage.session.refreshes == tries)
            await stage.clock.advance(by: cooldown - 0.25)
            #expect(await stage.failure()?.kind == .noConnection)
            #expect(stage.session.refreshes == tries)
            await stage.clock.advance(by: 0.25)
        }
        stage.session.set(\.refresh) { $0.takeNextToken() }
        try await stage.get()
        // A success resets the cooldown.
        stage.session.set(\.token, "t1")
        stage.session.set(\.refresh) { _ in throw PulseError.noConnection }
        #expect(await stage.failure()?.kind == .noConnection)
        await stage.clock.advance(by: 1)
        stage.session.set(\.refresh) { $0.takeNextToken() }
        try await stage.get()
    }

    @Test func moreThanFiveRefreshesInThirtySecondsFailWithSessionExpired() async throws {
        let stage = AuthStage(refusesAll: true)
        for _ in 0..<5 {
            #expect(await stage.failure()?.kind == .unauthorized)
            await stage.clock.advance(by: 5)
        }
        for _ in 0..<2 { #expect(await stage.failure()?.kind == .sessionExpired) }
        #expect(stage.session.refreshes == 5)
        #expect(stage.session.endings == 0)
        #expect(stage.events.all.count { $0 == "warning" } == 1)
        // The first refresh was 30 s ago.
        await stage.clock.advance(by: 5)
        #expect(await stage.failure()?.kind == .unauthorized)
        #expect(await stage.failure()?.kind == .sessionExpired)
        #expect(stage.session.refreshes == 6)
    }
}
