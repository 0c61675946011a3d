// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// Which account a call is sent for.
@Suite(.throttled)
struct AuthAccountTests {
    @Test func innerPluginsFindTheAccountInTheContext() async throws {
        let seen = Locked<[PluginContext.Account]>([])
        let session = FakeSession("t2", account: "ada")
        let stage = AuthStage(session, plugins: [AccountProbe(seen: seen)])
        try await stage.get()
        session.set(\.account, nil)
        try await stage.get()
        #expect(seen.withLock { $0 } == [.known("ada"), .none])
    }

    /// Its token may be of any account.
    @Test func aPluginWithoutAccountsMakesTheAccountUnknown() async throws {
        let context = PluginContext.mock()
        context.account = .known("ada")
        _ = try await AuthPlugin { "t" }.run(in: context) { request in
            #expect(context.account == .unknown)
            return PulseResponse(statusCode: 200, request: request)
        }
        #expect(context.account == .unknown)
    }

    @Test func anAnonymousHopKeepsTheAccountOfAnEarlierOne() async throws {
        let plugin = AuthPlugin(tokenProvider: FakeSession("t2", account: "bob"))
        for (account, expected) in [
            (PluginContext.Account.unknown, PluginContext.Account.none), (.known("ada"), .known("ada")),
        ] {
            let context = PluginContext.mock(options: RequestOptions().with(\.auth, value: .anonymous))
            context.account = account
            _ = try await plugin.run(in: context) { PulseResponse(statusCode: 200, request: $0) }
            #expect(context.account == expected)
        }
    }

    @Test func anEmptyAccountCountsAsNone() async throws {
        let seen = Locked<[PluginContext.Account]>([])
        let stage = AuthStage(FakeSession("t2", account: ""), plugins: [AccountProbe(seen: seen)])
        try await stage.get()
        #expect(seen.withLock { $0 } == [.none])
    }

    @Test func aLaterHopHasTheAccountOfItsOwnTime() async throws {
        let seen = Locked<[PluginContext.Account]>([])
        let session = FakeSession("t2", account: "ada")
        let stage = AuthStage(session, plugins: [AccountProbe(seen: seen)]) { request in
            guard request.url?.path == "/a" else { return nil }
            session.set(\.account, nil)
            return PulseResponse(statusCode: 302, headers: ["Location": "/b"], request: request)
        }
        try await stage.get()
        #expect(seen.withLock { $0 } == [.known("ada"), .none])
    }

    @Test func aLaterHopFailsIfAnotherUserHasLoggedIn() async throws {
        let session = FakeSession("t2", account: "ada")
        let stage = AuthStage(session) { request in
            guard request.url?.path == "/a" else { return nil }
            session.set(\.account, "bob")
            return PulseResponse(statusCode: 302, headers: ["Location": "/b"], request: request)
        }
        guard case .custom(let cause) = await stage.failure() else {
            Issue.record("sent for another account")
            return
        }
        #expect(cause is PulseError.AccountMismatch)
        #expect(stage.transport.requests.count == 1)
    }

    @Test(arguments: ["ada", "bob", nil] as [String?], [RequestOptions.Auth.optional, .required, .anonymous])
    func aCallExpectedForOneAccountIsNeverSentForAnother(account: String?, auth: RequestOptions.Auth) async throws {
        let plugin = AuthPlugin(tokenProvider: FakeSession("t2", account: account))
        let context = PluginContext.mock(options: RequestOptions().with(\.auth, value: auth))
        context.store[ExpectedAccount.self] = "ada"
        let sent = Locked(0)
        let call = Task {
            try await plugin.run(in: context) { request in
                sent.withLock { $0 += 1 }
                return PulseResponse(statusCode: 200, request: request)
            }
        }
        switch await call.result {
        case .success: #expect(account == "ada")
        case .failure(let error):
            #expect(account != "ada")
            guard case PulseError.custom(let cause) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(cause is PulseError.AccountMismatch)
            #expect((error as? PulseError)?.isRetryable == false)
        }
        #expect(sent.withLock { $0 } == (account == "ada" ? 1 : 0))
    }

    @Test func aUserChangeBetweenAccountAndTokenIsReadAgain() async throws {
        let seen = Locked<[PluginContext.Account]>([])
        let session = FakeSession("t2", account: "ada")
        let stage = AuthStage(session, plugins: [AccountProbe(seen: seen)])
        session.set(\.onToken) { session in
            guard session.state.withLock({ $0.account }) == "ada" else { return }
            session.set(\.account, "bob")
            session.set(\.token, "t9")
        }
        try await stage.get()
        #expect(seen.withLock { $0 } == [.known("bob")])
        #expect(stage.sentTokens == ["Bearer t9"])
    }

    @Test func constantUserChangesFailTheCallUnsent() async {
        let session = FakeSession("t2", account: "0")
        let stage = AuthStage(session)
        session.set(\.onToken) { session in
            session.state.withLock { $0.account = ($0.account ?? "") + "0" }
        }
        #expect(await stage.failure()?.kind == .custom)
        #expect(stage.transport.requests.isEmpty)
    }

    /// An app with several accounts has a token for each: the first user's refreshed token is not the second's.
    @Test func aCallOfTheNextUserNeverCarriesTheRefreshedTokenOfTheLastUser() async throws {
        let gate = Gate()
        let (adas, bobs) = (Locked(["t1", "t2"]), Locked(["b1", "b2"]))
        let session = FakeSession("t1", account: "ada", expiry: .distantPast) { session in
            let account = session.state.withLock { $0.account }
            if account == "ada" { await gate.pass() }
            let tokens = account == "ada" ? adas : bobs
            return tokens.withLock { tokens in
                tokens.removeFirst()
                return tokens[0]
            }
        }
        let stage = AuthStage(session)
        async let first = stage.failure()
        await gate.arrivals(atLeast: 1)
        session.set(\.account, "bob")
        session.set(\.token, "b1")
        let second = Task { try await stage.get() }
        await stage.clock.advance(by: 0)
        gate.open()
        _ = try await second.value
        #expect(stage.sentTokens == ["Bearer b2"])
        guard case .custom(let cause) = await first else {
            Issue.record("not an AccountMismatch")
            return
        }
        #expect(cause is PulseError.AccountMismatch)
    }

    @Test func aCallIsNotResentForAUserWhoHasLoggedInMeanwhile() async {
        let hold = Gate()
        let session = FakeSession(account: "ada")
        let stage = AuthStage(session, hold: hold)
        async let error = stage.failure()
        await hold.arrivals(atLeast: 1)
        session.set(\.account, "bob")
        session.set(\.token, "t9")
        hold.open()
        guard case .custom(let cause) = await error else {
            Issue.record("not an AccountMismatch")
            return
        }
        #expect(cause is PulseError.AccountMismatch)
        #expect(stage.sentTokens == ["Bearer t1"])
    }
}

private struct AccountProbe: PulsePlugin {
    let identifier = "test.account"
    let seen: Locked<[PluginContext.Account]>

    func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
        seen.withLock { $0.append(context.account) }
    }
}
