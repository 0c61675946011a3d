// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// Many calls, tokens revoked in between, and random cancellations.
@Suite(.tags(.threads, .addresses), .throttled)
struct AuthStressTests {
    /// The server's side of a session: one valid token at a time.
    private final class Server: Sendable {
        private struct State {
            var good = 2
            var shown = 1
            var overlapping = 0
            var most = 0
        }

        private let state = Locked(State())

        var token: String { state.withLock { "t\($0.shown)" } }
        var mostRefreshesAtATime: Int { state.withLock { $0.most } }

        func revoke() {
            state.withLock { $0.good += 1 }
        }

        func accepts(_ request: URLRequest) -> Bool {
            let good = state.withLock { "Bearer t\($0.good)" }
            return request.value(forHTTPHeaderField: "Authorization") == good
        }

        func refresh() async -> String {
            state.withLock { state in
                state.overlapping += 1
                state.most = max(state.most, state.overlapping)
            }
            for _ in 0..<5 { await Task.yield() }
            return state.withLock { state in
                state.overlapping -= 1
                state.shown = state.good
                return "t\(state.shown)"
            }
        }
    }

    private struct Session: TokenProvider {
        let server: Server

        func accessToken() async -> String? { server.token }
        func refreshToken() async throws -> String { await server.refresh() }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func everyCallEndsAndRefreshesNeverOverlap(seed: UInt64) async throws {
        let random = SeededRandomness(seed: seed)
        let server = Server()
        let plugin = AuthPlugin(tokenProvider: Session(server: server))
        let outcomes = Locked<[String: Int]>([:])
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<2_000 {
                let clock = TestClock(uptime: TimeInterval(index) * 100)
                let isCancelled = random.next() % 3 == 0
                let revokes = random.next() % 200 == 0
                group.addTask {
                    if revokes { server.revoke() }
                    let call = Task {
                        try await plugin.run(in: .mock(clock: clock)) { request in
                            await Task.yield()
                            return PulseResponse(statusCode: server.accepts(request) ? 200 : 401, request: request)
                        }
                    }
                    if isCancelled { call.cancel() }
                    let outcome: String
                    switch await call.result {
                    case .success(let response): outcome = "\(response.statusCode)"
                    case .failure(let error): outcome = "\(PulseError(wrapping: error).kind)"
                    }
                    outcomes.withLock { $0[outcome, default: 0] += 1 }
                }
                if index % 64 == 63 { await Task.yield() }
            }
        }
        await plugin.shutdown()
        let counts = outcomes.withLock { $0 }
        #expect(counts.values.reduce(0, +) == 2_000, "seed \(seed)")
        #expect(
            Set(counts.keys).isSubset(of: ["200", "401", "cancelled", "sessionExpired"]), "\(counts), seed \(seed)")
        #expect(counts["200", default: 0] > 500, "\(counts), seed \(seed)")
        #expect(server.mostRefreshesAtATime == 1, "seed \(seed)")
    }

    @Test func aShutdownUnderLoadLosesNoCall() async throws {
        let server = Server()
        let plugin = AuthPlugin(tokenProvider: Session(server: server))
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<1_000 {
                group.addTask {
                    if index % 20 == 0 { server.revoke() }
                    if index % 100 == 50 { return await plugin.shutdown() }
                    _ = try? await plugin.run(in: .mock(clock: TestClock(uptime: TimeInterval(index) * 100))) {
                        request in
                        PulseResponse(statusCode: server.accepts(request) ? 200 : 401, request: request)
                    }
                }
            }
        }
        await plugin.shutdown()
    }
}
