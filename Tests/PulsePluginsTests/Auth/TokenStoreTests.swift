// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

@Suite(.tags(.threads), .throttled)
struct TokenStoreTests {
    private let secrets = MemorySecretStore()
    private let ends = Locked(0)
    private let login = TokenStore.Tokens(
        accessToken: "t1", refreshToken: "r1", expiry: Date(timeIntervalSince1970: 4_000_000_000), accountID: "ada")

    /// - Parameter refresh: by default the refresh token `r1` leads to `t2` and `r2`, and so on.
    private func makeStore(
        refresh: @escaping @Sendable (String) async throws -> TokenStore.Tokens = { refreshToken in
            let number = (Int(refreshToken.dropFirst()) ?? 0) + 1
            return TokenStore.Tokens(accessToken: "t\(number)", refreshToken: "r\(number)")
        }
    ) -> TokenStore {
        TokenStore(account: "session", in: secrets, refresh: refresh) { [ends] in ends.withLock { $0 += 1 } }
    }

    /// The tokens that another process would read.
    private func stored() async throws -> String? { try await makeStore().accessToken() }

    // MARK: Reading

    @Test func theSecretStoreIsReadOnceForAllCalls() async throws {
        try await makeStore().logIn(login)
        let store = makeStore()
        let tokens = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<100 { group.addTask { try await store.accessToken() } }
            return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(tokens == ["t1"])
        #expect(await store.accountID == "ada")
        #expect(await store.tokenExpiry == login.expiry)
        #expect(secrets.state.withLock { $0.reads } == 1)
    }

    @Test func aCancelledCallDoesNotWaitForASecretStoreThatHangs() async throws {
        struct HangingStore: SecretStore {
            let began: AsyncStream<Void>.Continuation
            let disk = DispatchSemaphore(value: 0)

            func secret(for account: String) -> Data? {
                began.yield()
                disk.wait()
                return nil
            }

            func setSecret(_ secret: Data, for account: String) {}
            func removeSecret(for account: String) {}
        }
        let (begun, began) = AsyncStream<Void>.makeStream()
        let hanging = HangingStore(began: began)
        let store = TokenStore(account: "session", in: hanging, refresh: { _ in self.login })
        let call = Task { try await store.accessToken() }
        for await _ in begun { break }
        call.cancel()
        await #expect(throws: CancellationError.self) { _ = try await call.value }
        hanging.disk.signal()
    }

    @Test func aCallFailsWhileTheSecretStoreIsUnreadableAndTheSessionSurvives() async throws {
        try await makeStore().logIn(login)
        let stage = Stage(makeStore())
        let locked = SecretStoreFailure(.read, .locked)
        secrets.state.withLock { $0.readFailure = locked }
        for options in [RequestOptions(), RequestOptions().with(\.auth, value: .required)] {
            let error = await #expect(throws: PulseError.self) {
                try await stage.client.rawRequest(Get(path: "/a"), options: options)
            }
            guard case .custom(let failure as SecretStoreFailure)? = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(failure == locked)
        }
        #expect(await stage.store.accountID == nil)
        #expect(stage.sentTokens.isEmpty)
        #expect(stage.events.all.isEmpty && ends.withLock { $0 } == 0)
        secrets.state.withLock { $0.readFailure = nil }
        _ = try await stage.client.rawRequest(Get(path: "/a"))
        #expect(stage.sentTokens == ["Bearer t1", "Bearer t2"])
    }

    @Test(arguments: ["", "{}", "[1]", #"{"version":2,"access":"t1"}"#, #"{"version":1,"access":7}"#, "\u{0}"])
    func otherDataIsDamageUntilALoginReplacesIt(text: String) async throws {
        try secrets.setSecret(Data(text.utf8), for: "session")
        let store = makeStore()
        await #expect(throws: SecretStoreFailure(.read, .damaged)) { _ = try await store.accessToken() }
        await #expect(throws: SecretStoreFailure(.read, .damaged)) { _ = try await store.refreshToken() }
        #expect(try secrets.secret(for: "session") == Data(text.utf8))
        try await store.logIn(login)
        #expect(try await store.accessToken() == "t1")
        #expect(try await stored() == "t1")
    }

    @Test func aStoreKnowsWhetherAUserIsLoggedIn() async throws {
        let store = makeStore()
        #expect(try await store.isLoggedIn == false)
        try await store.logIn(login)
        #expect(try await store.isLoggedIn == true)
        let next = makeStore()
        #expect(try await next.isLoggedIn == true)
        try await store.logOut()
        #expect(try await store.isLoggedIn == false)
        #expect(try await makeStore().isLoggedIn == false)
    }

    @Test func anUnreadableStoreIsNoLogout() async throws {
        try await makeStore().logIn(login)
        let store = makeStore()
        let locked = SecretStoreFailure(.read, .locked)
        secrets.state.withLock { $0.readFailure = locked }
        await #expect(throws: locked) { _ = try await store.isLoggedIn }
        secrets.state.withLock { $0.readFailure = nil }
        #expect(try await store.isLoggedIn == true)
    }

    /// An app names the type of what it keeps, whatever the store of the secrets.
    @Test func aPropertyOfAnAppNamesNoSecretStore() async throws {
        struct App {
            let tokens: TokenStore
        }
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let stores: [any SecretStore] = [secrets, FileSecretStore(directory: directory)]
        for store in stores {
            let app = App(tokens: TokenStore(account: "session", in: store) { TokenStore.Tokens(accessToken: $0) })
            #expect(try await app.tokens.isLoggedIn == false)
        }
    }

    // MARK: Writing

    @Test func aLoginAndALogoutReachTheSecretStore() async throws {
        let store = makeStore()
        #expect(try await store.accessToken() == nil)
        try await store.logIn(login)
        #expect(try await stored() == "t1")
        try await store.logOut()
        #expect(try await store.accessToken() == nil)
        #expect(try await stored() == nil)
        #expect(ends.withLock { $0 } == 0)
    }

    @Test func aRefreshReachesTheSecretStoreAndKeepsWhatItDoesNotReturn() async throws {
        let store = makeStore { _ in TokenStore.Tokens(accessToken: "t2") }
        try await store.logIn(login)
        #expect(try await store.refreshToken() == "t2")
        let data = try #require(try secrets.secret(for: "session"))
        #expect(
            TokenStore.Tokens(encoded: data)
                == TokenStore.Tokens(accessToken: "t2", refreshToken: "r1", accountID: "ada"))
    }

    @Test func aFailedWriteOfALoginIsThrownAndTheTokensAreUsed() async throws {
        let store = makeStore()
        let full = SecretStoreFailure(.write, .noSpace)
        secrets.state.withLock { $0.writeFailure = full }
        await #expect(throws: full) { try await store.logIn(login) }
        #expect(try await store.accessToken() == "t1")
        await #expect(throws: full) { try await store.logOut() }
        #expect(try await store.accessToken() == nil)
    }

    @Test func aLoginThatCouldNotBeWrittenIsNotReplacedByTheOlderTokens() async throws {
        try await makeStore().logIn(TokenStore.Tokens(accessToken: "t8", refreshToken: "r8"))
        let store = makeStore()
        secrets.state.withLock { $0.writeFailure = SecretStoreFailure(.write, .noSpace) }
        await #expect(throws: SecretStoreFailure.self) { try await store.logIn(login) }
        #expect(try await store.refreshToken() == "t2")
        #expect(await store.accountID == "ada")
        #expect(try await stored() == "t8")
    }

    @Test func refreshedTokensThatCannotBeWrittenAreUsedReportedAndWrittenLater() async throws {
        let stage = Stage(makeStore())
        try await stage.store.logIn(login)
        secrets.state.withLock { $0.writeFailure = SecretStoreFailure(.write, .noSpace) }
        _ = try await stage.client.rawRequest(Get(path: "/a"))
        await stage.plugin.shutdown()
        #expect(stage.sentTokens == ["Bearer t1", "Bearer t2"])
        #expect(stage.sink.warnings.count == 1)
        #expect(stage.sink.warnings.first?.contains("no space left on the disk") == true)
        #expect(try await stored() == "t1")
        // What the secret store has is older, not another process's.
        #expect(try await stage.store.refreshToken() == "t3")
        await #expect(throws: SecretStoreFailure.self) { try await stage.store.synchronize() }
        secrets.state.withLock { $0.writeFailure = nil }
        try await stage.store.synchronize()
        #expect(try await stored() == "t3")
        #expect(ends.withLock { $0 } == 0)
    }

    @Test func textOfAnotherErrorIsNotInTheWarning() async throws {
        struct Leak: Error {
            let secret = "s3cr3t"
        }
        let stage = Stage(makeStore())
        try await stage.store.logIn(login)
        secrets.state.withLock { $0.writeFailure = Leak() }
        _ = try await stage.client.rawRequest(Get(path: "/a"))
        await stage.plugin.shutdown()
        let warnings = stage.sink.warnings
        #expect(warnings.count == 1 && !"\(warnings)".contains("s3cr3t") && "\(warnings)".contains("Leak"))
    }

    // MARK: The end of a session

    @Test func theEndOfASessionRemovesItsTokensAndCallsTheClosureOnce() async throws {
        let stage = Stage(makeStore { _ in throw PulseError.unauthorized() })
        try await stage.store.logIn(login)
        for _ in 0..<3 { await #expect(throws: PulseError.self) { try await stage.client.rawRequest(Get(path: "/a")) } }
        await stage.plugin.shutdown()
        #expect(stage.events.all == ["started", "failed: unauthorized", "expired"])
        #expect(ends.withLock { $0 } == 1)
        #expect(try await stored() == nil)
    }

    @Test func aSessionWithoutARefreshTokenEndsWithItsAccessToken() async throws {
        let store = makeStore()
        try await store.logIn(TokenStore.Tokens(accessToken: "t1"))
        let error = await #expect(throws: PulseError.self) { try await store.refreshToken() }
        #expect(error?.kind == .sessionExpired)
        await store.handleAuthenticationFailure()
        #expect(ends.withLock { $0 } == 1)
    }

    @Test func aTemporaryFailureOfTheRefreshKeepsTheTokens() async throws {
        let stage = Stage(makeStore { _ in throw PulseError.noConnection })
        try await stage.store.logIn(login)
        await #expect(throws: PulseError.self) { try await stage.client.rawRequest(Get(path: "/a")) }
        #expect(try await stage.store.accessToken() == "t1")
        #expect(try await stored() == "t1")
        #expect(ends.withLock { $0 } == 0)
    }

    @Test func aLoginAfterTheFailedRefreshIsNotEnded() async throws {
        let store = makeStore { _ in throw PulseError.unauthorized() }
        try await store.logIn(login)
        await #expect(throws: PulseError.self) { try await store.refreshToken() }
        try await store.logIn(TokenStore.Tokens(accessToken: "t9"))
        await store.handleAuthenticationFailure()
        #expect(try await store.accessToken() == "t9")
        #expect(try await stored() == "t9")
        #expect(ends.withLock { $0 } == 0)
    }

    @Test(arguments: [nil, "t9"])
    func aLoginOrLogoutDuringARefreshStays(other: String?) async throws {
        let gate = Gate()
        let store = makeStore { _ in
            await gate.pass()
            return TokenStore.Tokens(accessToken: "t2", refreshToken: "r2")
        }
        try await store.logIn(login)
        let refreshed = Task { try await store.refreshToken() }
        await gate.arrivals(atLeast: 1)
        if let other { try await store.logIn(TokenStore.Tokens(accessToken: other)) } else { try await store.logOut() }
        gate.open()
        await #expect(throws: PulseError.self) { _ = try await refreshed.value }
        await store.handleAuthenticationFailure()
        #expect(try await store.accessToken() == other)
        #expect(try await stored() == other)
        #expect(ends.withLock { $0 } == 0)
    }

    // MARK: Several processes

    @Test func tokensThatAnotherProcessHasStoredReplaceARefresh() async throws {
        let refreshes = Locked(0)
        let (app, appExtension) = (
            makeStore { _ in
                refreshes.withLock { $0 += 1 }
                throw PulseError.unauthorized()
            }, makeStore()
        )
        try await app.logIn(login)
        #expect(try await appExtension.refreshToken() == "t2")
        #expect(try await app.accessToken() == "t1")
        #expect(try await app.refreshToken() == "t2")
        #expect(try await app.accessToken() == "t2")
        #expect(refreshes.withLock { $0 } == 0)
    }

    /// What the other process has stored is not known: that is no logout. A failure that stays is one.
    @Test(arguments: [(SecretStoreFailure.Reason.locked, 0), (.notPermitted, 0), (.damaged, 1)])
    func aLostRaceOfRefreshesWithAnUnreadableStoreIsNoLogout(
        reason: SecretStoreFailure.Reason, ends expected: Int
    ) async throws {
        let gate = Gate()
        let stage = Stage(
            makeStore { _ in
                await gate.pass()
                throw PulseError.unauthorized()
            })
        try await stage.store.logIn(login)
        let call = Task { try await stage.client.rawRequest(Get(path: "/a")) }
        await gate.arrivals(atLeast: 1)
        #expect(try await makeStore().refreshToken() == "t2")
        secrets.state.withLock { $0.readFailure = SecretStoreFailure(.read, reason) }
        gate.open()
        await #expect(throws: PulseError.self) { try await call.value }
        await stage.plugin.shutdown()
        #expect(ends.withLock { $0 } == expected)
        secrets.state.withLock { $0.readFailure = nil }
        if expected == 0 {
            try await stage.store.synchronize()
            #expect(try await stage.store.accessToken() == "t2")
        }
    }

    @Test func theLaterOfTwoRefreshesWithOneTokenUsesTheResultOfTheOther() async throws {
        let gate = Gate()
        let app = makeStore { _ in
            await gate.pass()
            throw PulseError.unauthorized()
        }
        let appExtension = makeStore()
        try await app.logIn(login)
        let refreshed = Task { try await app.refreshToken() }
        await gate.arrivals(atLeast: 1)
        #expect(try await appExtension.refreshToken() == "t2")
        gate.open()
        #expect(try await refreshed.value == "t2")
        await app.handleAuthenticationFailure()
        #expect(try await app.accessToken() == "t2")
    }

    @Test func tokensStoredAfterTheFailedRefreshAreNotRemoved() async throws {
        let app = makeStore { _ in throw PulseError.unauthorized() }
        let appExtension = makeStore()
        try await app.logIn(login)
        await #expect(throws: PulseError.self) { try await app.refreshToken() }
        _ = try await appExtension.refreshToken()
        await app.handleAuthenticationFailure()
        #expect(try await app.accessToken() == "t2")
        #expect(try await stored() == "t2")
        #expect(ends.withLock { $0 } == 0)
    }

    @Test func aLogoutOfAnotherProcessEndsTheSessionWithTheNextRefresh() async throws {
        let (app, appExtension) = (makeStore(), makeStore())
        try await app.logIn(login)
        #expect(try await appExtension.accessToken() == "t1")
        try await app.logOut()
        #expect(try await appExtension.accessToken() == "t1")
        await #expect(throws: PulseError.self) { try await appExtension.refreshToken() }
        await appExtension.handleAuthenticationFailure()
        #expect(try await appExtension.accessToken() == nil)
        #expect(ends.withLock { $0 } == 1)
    }

    @Test func synchronizingReadsALoginOfAnotherProcess() async throws {
        let (app, appExtension) = (makeStore(), makeStore())
        #expect(try await appExtension.accessToken() == nil)
        try await app.logIn(login)
        try await appExtension.synchronize()
        #expect(try await appExtension.accessToken() == "t1")
    }

    // MARK: Texts and files

    @Test func noTextShowsAToken() async throws {
        let store = makeStore()
        try await store.logIn(login)
        for value in [login, store, AuthPlugin(tokenProvider: store)] as [Any] {
            var dumped = ""
            dump(value, to: &dumped)
            for text in ["\(value)", String(reflecting: value), "\([value])", "\(Optional(value) as Any)", dumped] {
                for secret in ["t1", "r1", "ada", "session\""] { #expect(!text.contains(secret), "\(text)") }
            }
        }
        #expect("\(login)".contains("2096"))
    }

    @Test func tokensInAFileAreThereInTheNextProcess() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        func makeStore() -> TokenStore {
            TokenStore(account: "session", in: FileSecretStore(directory: directory)) { _ in
                TokenStore.Tokens(accessToken: "t2", refreshToken: "r2")
            }
        }
        try await makeStore().logIn(login)
        let next = makeStore()
        #expect(try await next.accessToken() == "t1")
        #expect(try await next.refreshToken() == "t2")
        #expect(try await makeStore().accessToken() == "t2")
        #expect(await makeStore().accountID == "ada")
    }
}

/// Secrets in memory, with planned failures.
private final class MemorySecretStore: SecretStore {
    struct State {
        var secrets: [String: Data] = [:]
        var reads = 0
        var readFailure: (any Error)?
        /// Of removals, too.
        var writeFailure: (any Error)?
    }

    let state = Locked(State())

    func secret(for account: String) throws -> Data? {
        try state.withLock { state in
            state.reads += 1
            if let failure = state.readFailure { throw failure }
            return state.secrets[account]
        }
    }

    func setSecret(_ secret: Data, for account: String) throws { try set(secret, account) }
    func removeSecret(for account: String) throws { try set(nil, account) }

    private func set(_ secret: Data?, _ account: String) throws {
        try state.withLock { state in
            if let failure = state.writeFailure { throw failure }
            state.secrets[account] = secret
        }
    }
}

/// A client whose server rejects the token `t1`.
private struct Stage {
    let store: TokenStore
    let plugin: AuthPlugin
    let events = AuthEvents()
    let sink = RecordingSink()
    let transport: MockTransport
    let client: PulseClient

    init(_ store: TokenStore) {
        self.store = store
        plugin = AuthPlugin(tokenProvider: store)
        transport = MockTransport { request in
            let field = request.value(forHTTPHeaderField: "Authorization")
            return PulseResponse(statusCode: field == nil || field == "Bearer t1" ? 401 : 200, request: request)
        }
        let bus = PulseEventBus(sink: events)
        bus.addSink(sink)
        client = ClientStage.client(.root, plugins: [plugin], clock: TestClock(), over: transport, events: bus)
    }

    var sentTokens: [String] { transport.requests.map { $0.value(forHTTPHeaderField: "Authorization") ?? "" } }
}
