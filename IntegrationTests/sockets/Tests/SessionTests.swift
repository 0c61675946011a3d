// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

/// Handshakes with tokens and redirects, and connections that come back.
@Suite(.servers, .timeLimit(.minutes(5)))
struct SessionTests {
    /// Gets its tokens from the server, which numbers them.
    private actor Tokens: TokenProvider {
        private let name: String
        private var token = "expired"
        private(set) var refreshCount = 0

        init(_ name: String) {
            self.name = name
        }

        func accessToken() -> String? { token }

        func refreshToken() async throws -> String {
            refreshCount += 1
            token = try await SocketServers.get("/token/\(name)")
            return token
        }
    }

    private static let routes = [Route.direct] + Route.secure

    @Test(arguments: routes)
    func aSocketOpensAfterA401AndARefresh(route: Route) async throws {
        let name = SocketServers.newName()
        let tokens = Tokens(name)
        try await SocketServers.withClient(of: .aiohttp, by: route, plugins: [.auth(tokens)]) { client in
            try await PulseSocket.with(Conversation(path: "/guarded/echo", name: name), client) { socket in
                try await socket.expectEcho(.text("hello"))
            }
        }
        #expect(try await SocketServers.record(name).refused == "expired")
        #expect(try await SocketServers.record(name).token == "\(name)-1")
        #expect(await tokens.refreshCount == 1)
    }

    /// The server cuts each connection, and with it its token ends.
    @Test(arguments: routes)
    func eachConnectionAfterACutHasANewToken(route: Route) async throws {
        let name = SocketServers.newName()
        let tokens = Tokens(name)
        let cutCount = 3
        try await SocketServers.withClient(of: .aiohttp, by: route, plugins: [.auth(tokens)]) { client in
            let options = SocketOptions(reconnect: ReconnectPolicy(maxDelay: 0.001))
            let endpoint = Conversation(path: "/guarded/until-cut", name: name, socketOptions: options)
            try await PulseSocket.with(
                endpoint, client,
                onOpen: { greeting in
                    try await greeting.send(.text("greeting"))
                    #expect(try await greeting.receive() == .text("greeting"))
                }
            ) { socket in
                let states = socket.states
                for number in 0..<cutCount {
                    try await socket.expectEcho(.text("\(number)"))
                    // The cut may overtake the confirmation of the message.
                    do { try await socket.send(.text("cut")) } catch PulseError.transport(.networkConnectionLost, _) {}
                    // Over the next connection, whether it is open yet or not.
                    var isLost = false
                    for await state in states {
                        if case .reconnecting = state { isLost = true }
                        if isLost, case .open = state { break }
                    }
                }
                try await socket.expectEcho(.text("last"))
                #expect(socket.statistics.connections == cutCount + 1)
            }
        }
        var records: [Record] = []
        for _ in 0..<(cutCount + 1) * 2 { records.append(try await SocketServers.record(name)) }
        #expect(records.compactMap(\.token) == (1...cutCount + 1).map { "\(name)-\($0)" })
        #expect(records.compactMap(\.refused) == ["expired"] + (1...cutCount).map { "\(name)-\($0)" })
        #expect(records.last?.code == 1000)
        #expect(await tokens.refreshCount == cutCount + 1)
    }

    // MARK: Redirects

    /// To wss, over a connection of its own.
    @Test(arguments: [Route.plain] + Route.secure)
    func aRedirectLeadsToWSS(route: Route) async throws {
        try await LocalServers.withClient(of: route.rawValue, isSecure: route.isSecure, "/moved") { client in
            for library in Library.allCases {
                let endpoint = Conversation(path: "/\(library)/echo", subprotocols: ["chat.v1"])
                try await PulseSocket.with(
                    endpoint, client,
                    onOpen: { #expect($0.response.headers["X-TLS"] == "TLSv1.3") },
                    { socket in
                        guard case .open("chat.v1") = socket.state else {
                            Issue.record("\(socket.state)")
                            return
                        }
                        try await socket.expectEcho(.sample(100_000, isText: true))
                    })
            }
        }
    }

    @Test(arguments: Route.secure)
    func noRedirectLeadsFromTLSToCleartext(route: Route) async throws {
        try await LocalServers.withClient(of: route.rawValue, isSecure: true, "") { client in
            let socket = PulseSocket(endpoint: Conversation(path: "/downgraded/"), client: client)
            let error = await #expect(throws: PulseError.self) { try await socket.connect() }
            guard case .http(let response) = error, response.statusCode == 302 else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    // MARK: Messages around a cut

    /// The sender waits for no cut, so that these come at any of its messages.
    @Test(arguments: Library.allCases, routes)
    func overManyCutsNoMessageComesTwiceAndAllLossesAreUnconfirmed(library: Library, route: Route) async throws {
        try await SocketServers.withClient(of: library, by: route) { client in
            let options = SocketOptions(reconnect: ReconnectPolicy(maxDelay: 0.001))
            let endpoint = Conversation(path: "/until-cut", socketOptions: options)
            try await PulseSocket.with(endpoint, client) { socket in
                let states = socket.states
                async let unconfirmedCount = Self.unconfirmedCount(states)
                async let sentCount = Self.send(500, cuttingAfterEach: 50, socket)
                var received: [Int] = []
                while case .text(let text) = try await socket.receive(), let number = Int(text) {
                    received.append(number)
                }
                await socket.close()
                let lostCount = try await sentCount - received.count
                #expect(received == Array(Set(received)).sorted())
                #expect(await lostCount <= unconfirmedCount)
                #expect(socket.statistics.connections > 1)
            }
        }
    }

    private static func unconfirmedCount(_ states: AsyncStream<SocketState>) async -> Int {
        var sum = 0
        for await state in states {
            if case .reconnecting(_, _, _, let count) = state { sum += count }
        }
        return sum
    }

    /// Sends numbers and cuts, and then an end until the socket is closed. Returns how many numbers it has sent, or may
    /// have sent.
    private static func send(_ count: Int, cuttingAfterEach perCut: Int, _ socket: PulseSocket) async throws -> Int {
        func send(_ text: String) async throws {
            do {
                try await socket.send(.text(text))
            } catch let error as PulseError where error.phase == .maybeSent {
                // A cut came meanwhile.
            }
        }
        for number in 0..<count {
            try await send(String(number))
            if number % perCut == perCut - 1 { try await send("cut") }
        }
        // A cut may take it, too.
        for await case .open in socket.states { try? await send("end") }
        return count
    }
}
