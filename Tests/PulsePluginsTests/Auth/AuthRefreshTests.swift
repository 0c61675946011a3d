// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// A 401 and its consequences.
@Suite(.throttled)
struct AuthRefreshTests {
    @Test func a401RefreshesOnceAndResendsTheCall() async throws {
        let stage = AuthStage()
        try await stage.get()
        #expect(stage.sentTokens == ["Bearer t1", "Bearer t2"])
        #expect(stage.session.refreshes == 1)
        #expect(stage.events.all == ["started", "succeeded"])
    }

    @Test func aSecond401IsUnauthorizedWithoutALoop() async {
        let stage = AuthStage(refusesAll: true)
        let error = await stage.failure()
        #expect(error?.kind == .unauthorized)
        #expect(error?.response?.statusCode == 401)
        #expect(stage.sentTokens == ["Bearer t1", "Bearer t2"])
        #expect(stage.session.refreshes == 1)
    }

    @Test func aHundredConcurrent401sCauseOneRefreshAndAHundredResends() async throws {
        let hold = Gate()
        let stage = AuthStage(hold: hold)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { try await stage.get() } }
            await hold.arrivals(atLeast: 100)
            hold.open()
            try await group.waitForAll()
        }
        #expect(stage.session.refreshes == 1)
        #expect(stage.sentTokens.count { $0 == "Bearer t2" } == 100)
        #expect(stage.sentTokens.count == 200)
    }

    @Test func aLate401ForAnOldTokenResendsWithoutARefresh() async throws {
        let hold = Gate()
        let stage = AuthStage(hold: hold)
        let late = Task { try await stage.get() }
        await hold.arrivals(atLeast: 1)
        stage.session.set(\.token, "t2")
        hold.open()
        _ = try await late.value
        #expect(stage.session.refreshes == 0)
        #expect(stage.sentTokens == ["Bearer t1", "Bearer t2"])
    }

    /// The provider was called before the refresh and returns after it: its token is outdated.
    @Test func a401DoesNotRefreshAgainIfTheProviderReturnsAnOldTokenLate() async throws {
        let asked = Gate()
        let slow = Locked(false)
        let session = SlowSession(inner: FakeSession(), slow: slow, gate: asked)
        let plugin = AuthPlugin(tokenProvider: session)
        @Sendable func call() async throws -> Int {
            try await plugin.run { request in
                let isOld = request.value(forHTTPHeaderField: "Authorization") == "Bearer t1"
                if isOld { slow.withLock { $0 = true } }
                return PulseResponse(statusCode: isOld ? 401 : 200, request: request)
            }.statusCode
        }
        let late = Task { try await call() }
        await asked.arrivals(atLeast: 1)
        #expect(try await call() == 200)
        #expect(session.inner.refreshes == 1)
        asked.open()
        #expect(try await late.value == 200)
        #expect(session.inner.refreshes == 1)
    }

    @Test func anAccepted401CausesNoRefresh() async throws {
        let stage = AuthStage()
        let options = RequestOptions().with(\.acceptedStatuses, value: .any)
        let response = try await stage.client.rawRequest(Get(path: "/a"), options: options)
        #expect(response.statusCode == 401)
        #expect(stage.session.refreshes == 0)
    }

    @Test func aOneShotBodyIsNotResentAndTheNextCallHasANewToken() async throws {
        let stage = AuthStage()
        let body = RequestBody.stream(isOneShot: true) { ByteStream([Data("x".utf8)]) }
        let error = await #expect(throws: PulseError.self) {
            try await stage.client.rawRequest(Upload(body: body))
        }
        #expect(error?.kind == .unauthorized)
        #expect(stage.sentTokens == ["Bearer t1"])
        try await stage.get()
        #expect(stage.session.refreshes == 1)
        #expect(stage.sentTokens.last == "Bearer t2")
    }

    @Test func theResendRunsTheRestOfTheChainAgain() async throws {
        let attempts = Locked(0)
        let stage = AuthStage(plugins: [Counting(count: attempts)])
        let _: String = try await stage.client.post("/a", body: RequestBody.text("x"))
        #expect(attempts.withLock { $0 } == 2)
        #expect(stage.transport.requests.map(\.httpBody) == [Data("x".utf8), Data("x".utf8)])
    }

    @Test func aRefreshThatReturnsAnEmptyTokenFails() async {
        let stage = AuthStage(FakeSession { _ in "" })
        #expect(await stage.failure()?.kind == .invalidRequest)
        #expect(stage.sentTokens == ["Bearer t1"])
    }

    @Test func aSessionThatEndedMeanwhileLeavesThe401AsTheOutcome() async {
        let hold = Gate()
        let stage = AuthStage(hold: hold)
        async let error = stage.failure()
        await hold.arrivals(atLeast: 1)
        stage.session.set(\.token, nil)
        hold.open()
        #expect(await error?.kind == .unauthorized)
        #expect(stage.session.refreshes == 0)
    }

    // MARK: Within the refresh

    @Test func aRefreshThroughTheSameClientDoesNotWaitForItself() async throws {
        let box = Locked<PulseClient?>(nil)
        let session = FakeSession { session in
            let client = box.withLock { $0 }
            let _: String? = try await client?.post("/login", body: RequestBody.text("refresh"))
            return session.takeNextToken()
        }
        let stage = AuthStage(session) { request in
            request.url?.path == "/login"
                ? PulseResponse(statusCode: 200, data: Data("t2".utf8), request: request) : nil
        }
        box.withLock { $0 = stage.client }
        try await stage.get()
        #expect(stage.sentTokens == ["Bearer t1", "", "Bearer t2"])
        box.withLock { $0 = nil }
    }

    @Test func a401WithinARefreshFailsItWithoutAnotherRefresh() async throws {
        let box = Locked<PulseClient?>(nil)
        let session = FakeSession { session in
            let client = box.withLock { $0 }
            let _: String? = try await client?.get("/login")
            return session.takeNextToken()
        }
        let stage = AuthStage(session)
        box.withLock { $0 = stage.client }
        #expect(await stage.failure()?.kind == .sessionExpired)
        #expect(session.refreshes == 1)
        #expect(stage.events.all == ["started", "failed: unauthorized", "expired"])
        box.withLock { $0 = nil }
    }

    @Test func callsWithinARefreshAreHandledByOtherAuthPlugins() async throws {
        let other = AuthStage(FakeSession("t7"))
        let stage = AuthStage(
            FakeSession { session in
                try await other.get()
                return session.takeNextToken()
            })
        try await stage.get()
        #expect(other.sentTokens == ["Bearer t7"])
    }

    @Test func callsOfATaskThatOutlivesTheRefreshAreHandledAgain() async throws {
        let (over, box) = (Gate(), Locked<PulseClient?>(nil))
        let left = Locked<Task<Void, any Error>?>(nil)
        let session = FakeSession { session in
            let client = box.withLock { $0 }
            left.withLock { left in
                left = Task {
                    await over.pass()
                    let _: String? = try await client?.get("/later")
                }
            }
            return session.takeNextToken()
        }
        let stage = AuthStage(session)
        box.withLock { $0 = stage.client }
        try await stage.get()
        // By then the refresh has also ended for the task.
        await stage.plugin.shutdown()
        over.open()
        try await left.withLock { $0 }?.value
        #expect(stage.sentTokens.last == "Bearer t2")
        box.withLock { $0 = nil }
    }
}

private struct Upload: Endpoint {
    typealias Response = Data

    let path = "/upload"
    let method = HTTPMethod.post
    var body: RequestBody
}

private struct Counting: PulsePlugin {
    let identifier = "test.counting"
    let count: Locked<Int>

    func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
        count.withLock { $0 += 1 }
    }
}

/// Reads its token at once, and returns the first token after a 401 late.
private final class SlowSession: TokenProvider {
    let inner: FakeSession
    private let slow: Locked<Bool>
    private let gate: Gate
    private let hasHeld = Locked(false)

    init(inner: FakeSession, slow: Locked<Bool>, gate: Gate) {
        self.inner = inner
        self.slow = slow
        self.gate = gate
    }

    func accessToken() async -> String? {
        let token = inner.token
        let mustWait =
            slow.withLock { $0 }
            && hasHeld.withLock { held in
                defer { held = true }
                return !held
            }
        if mustWait { await gate.pass() }
        return token
    }

    func refreshToken() async throws -> String { try await inner.refreshToken() }
}
