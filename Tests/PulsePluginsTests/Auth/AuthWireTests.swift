// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// Over real sockets: the server counts the requests.
@Suite(.tags(.threads), .throttled)
struct AuthWireTests {
    /// A server with one valid token, which `/token` returns. It holds the first responses until the test releases
    /// them.
    private struct Stage {
        let server: MockServer
        let session: FakeSession
        let client: PulseClient
        let events = AuthEvents()
        let hold: Gate

        /// - Parameter tokenStatus: the status of `/token`.
        /// - Parameter tokenHold: the gate at which the response of `/token` waits.
        init(_ server: MockServer, hold: Gate, tokenStatus: Int = 200, tokenHold: Gate = Gate(isOpen: true)) {
            self.server = server
            self.hold = hold
            server.on(.get, "/data") { request in
                let isGood = request.headers["Authorization"] == "Bearer t2"
                if !isGood { await hold.pass() }
                return isGood ? .text("ok") : .status(401)
            }
            server.on(.post, "/token") { request in
                guard request.headers["Authorization"] == nil else { return .status(500) }
                await tokenHold.pass()
                return tokenStatus == 200 ? .text("t2") : .status(tokenStatus)
            }
            let box = Locked<PulseClient?>(nil)
            session = FakeSession { session in
                // The client lives as long as the stage.
                guard let client = box.withLock({ $0 }) else { throw PulseError.cancelled }
                let token: String = try await client.post("/token", body: RequestBody.text("refresh"))
                session.set(\.token, token)
                return token
            }
            // A stopped clock: no cooldown ends while calls are in flight. The transport's timeouts are real, and a busy
            // machine takes long to bring all calls to the gate.
            client = ClientStage.client(
                of: server, plugins: [.auth(session)], clock: TestClock(), events: PulseEventBus(sink: events),
                with: { ($0.timeout, $0.connectTimeout) = (.infinity, .infinity) })
            let client = client
            box.withLock { $0 = client }
        }

        func count(_ path: String) -> Int { server.requests.count { $0.path == path } }

        func failure() async -> PulseError.Kind? {
            do {
                _ = try await get()
                return nil
            } catch {
                return PulseError(wrapping: error).kind
            }
        }

        func get() async throws -> String { try await client.get("/data") }

        func shutdown() async {
            await client.shutdown()
            session.set(\.refresh) { _ in throw PulseError.cancelled }
        }
    }

    @Test func aHundredCallsWithAnExpiredTokenCauseOneRefreshAndSucceed() async throws {
        try await MockServer.run { server in
            let stage = Stage(server, hold: Gate())
            let responses = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<100 { group.addTask { try await stage.get() } }
                // The transport's limit of concurrent requests.
                await stage.hold.arrivals(atLeast: 64)
                stage.hold.open()
                return try await group.reduce(into: [String]()) { $0.append($1) }
            }
            #expect(responses == [String](repeating: "ok", count: 100))
            #expect(stage.count("/token") == 1)
            #expect(stage.count("/data") <= 200)
            #expect(stage.events.all == ["started", "succeeded"])
            await stage.shutdown()
        }
    }

    @Test func theLastOfAHundredCallsSucceedsAfter99Cancellations() async throws {
        try await MockServer.run { server in
            let tokenHold = Gate()
            let stage = Stage(server, hold: Gate(), tokenHold: tokenHold)
            let calls = (0..<100).map { _ in Task { try await stage.get() } }
            await stage.hold.arrivals(atLeast: 64)
            stage.hold.open()
            // The refresh is in progress, so no call can have succeeded yet.
            await tokenHold.arrivals(atLeast: 1)
            for call in calls.dropLast() { call.cancel() }
            for call in calls.dropLast() {
                let error = await #expect(throws: PulseError.self) { try await call.value }
                #expect(error?.kind == .cancelled)
            }
            tokenHold.open()
            let last = try await calls[99].value
            #expect(last == "ok")
            #expect(stage.count("/token") == 1)
            await stage.shutdown()
        }
    }

    @Test(arguments: [(400, PulseError.Kind.sessionExpired, 1), (503, .http, 0)])
    func aFailedRefreshFailsAllCallsOnce(status: Int, kind: PulseError.Kind, endings: Int) async throws {
        try await MockServer.run { server in
            let stage = Stage(server, hold: Gate(), tokenStatus: status)
            let kinds = await withTaskGroup(of: PulseError.Kind?.self) { group in
                for _ in 0..<100 { group.addTask { await stage.failure() } }
                await stage.hold.arrivals(atLeast: 64)
                stage.hold.open()
                return await group.reduce(into: Set<PulseError.Kind?>()) { $0.insert($1) }
            }
            #expect(kinds == [kind])
            #expect(stage.count("/token") == 1)
            await stage.shutdown()
            #expect(stage.session.endings == endings)
            #expect(stage.events.all.count { $0 == "expired" } == endings)
        }
    }

    @Test func aRedirectHopToAnotherOriginGetsNoToken() async throws {
        try await MockServer.run { server in
            try await MockServer.run { other in
                let target = other.baseURL.absoluteString + "/there"
                server.on(.get, "/here") { _ in .status(302, headers: ["Location": target]) }
                other.on(.get, "/there") { _ in .text("ok") }
                let stage = Stage(server, hold: Gate(isOpen: true))
                let text: String = try await stage.client.get("/here")
                #expect(text == "ok")
                #expect(server.requests.first?.headers["Authorization"] == "Bearer t1")
                #expect(other.requests.map { $0.headers["Authorization"] } == [nil])
                await stage.shutdown()
            }
        }
    }
}
