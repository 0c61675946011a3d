// SPDX-License-Identifier: MIT

import PulseCore
import PulseGraphQL
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// The calls of a client and the handshakes for its subscriptions share one session.
@Suite(.tags(.threads), .throttled)
struct SubscriptionSessionTests {
    private struct GetTea: GraphQLOperation {
        struct Value: Codable, Sendable { var name: String }
        static let document = "query GetTea { name }"
    }

    private actor Tokens: TokenProvider {
        private(set) var refreshes = 0

        func accessToken() -> String? { "t\(refreshes)" }

        func refreshToken() async throws -> String {
            // Others join meanwhile.
            for _ in 0..<100 { await Task.yield() }
            refreshes += 1
            return "t\(refreshes)"
        }
    }

    private static func call(_ client: PulseClient) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<5 {
                group.addTask {
                    let tea = try await client.graphQL(GetTea())
                    #expect(tea.name == "sencha")
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func oneRefreshServesHandshakesAndCalls() async throws {
        let tokens = Tokens()
        let expired = Locked<Set<String>>(["Bearer t0"])
        let cut = Gate()
        let stubs = [
            Stub().matching("the token is valid") { request in
                expired.withLock { $0.contains(request.value(forHTTPHeaderField: "Authorization") ?? "") }
            }.reply(.status(401)),
            Stub.graphQL("GetTea", data: GetTea.Value(name: "sencha")),
        ]
        let (client, transport) = SubscriptionWire.client(
            stubs: stubs, plugins: [AuthPlugin(tokenProvider: tokens)]
        ) { wire in
            try await wire.greet()
            let (id, _) = try await wire.expect("subscribe")
            try await wire.next(id, wire.socket.request.connection)
            guard wire.socket.request.connection == 0 else { return try await wire.untilClosed() }
            await cut.pass()
            try await wire.socket.close(code: 1001)
        }
        var reader = client.subscribe(Ticks()).makeAsyncIterator()
        async let first: Void = Self.call(client)
        #expect(try await reader.next()?.data?.number == 0)
        try await first
        #expect(await tokens.refreshes == 1)
        // The new token expires too, when the connection is lost.
        expired.withLock { _ = $0.insert("Bearer t1") }
        cut.open()
        async let second: Void = Self.call(client)
        #expect(try await reader.next()?.data?.number == 1)
        try await second
        #expect(await tokens.refreshes == 2)
        #expect(transport.sockets.count == 2)
        await client.shutdown()
    }
}
