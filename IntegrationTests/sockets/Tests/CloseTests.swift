// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

/// The ends of connections, with messages before them.
@Suite(.servers, .timeLimit(.minutes(5)))
struct CloseTests {
    private static let messages = (0..<10).map { SocketMessage.text(String($0)) }

    private static func receive(_ socket: PulseSocket) async throws -> [SocketMessage] {
        var received: [SocketMessage] = []
        for _ in messages { received.append(try await socket.receive()) }
        return received
    }

    @Test(arguments: Library.allCases, [1000, 1001, 1003, 1007, 1008, 1009, 1011, 1012, 3000, 4000, 4999])
    func theServersCodeAndReasonAreTheError(library: Library, code: Int) async throws {
        let name = SocketServers.newName()
        try await SocketServers.withClient(of: library) { client in
            let endpoint = Conversation(path: "/close/\(code)/why%20not%2C%20%C3%A9", name: name)
            try await PulseSocket.with(endpoint, client) { socket in
                #expect(try await Self.receive(socket) == Self.messages)
                try await Self.expectClosed(socket, code, "why not, \u{e9}")
            }
        }
        // The client confirms with the same code (RFC 6455, section 5.5.1).
        let record = try await SocketServers.record(name)
        #expect(record.code == code)
        #expect(record.fault == nil)
    }

    @Test
    func aCloseFrameWithoutACodeIs1005() async throws {
        let name = SocketServers.newName()
        try await SocketServers.withClient(of: .wsproto) { client in
            try await PulseSocket.with(Conversation(path: "/close/0", name: name), client) { socket in
                #expect(try await Self.receive(socket) == Self.messages)
                try await Self.expectClosed(socket, 1005, "")
            }
        }
        // wsproto's number of a frame without a code.
        #expect(try await SocketServers.record(name).code == 1005)
    }

    private static func expectClosed(_ socket: PulseSocket, _ code: Int, _ reason: String) async throws {
        let error = await #expect(throws: PulseError.self) { try await socket.receive() }
        guard case .socketClosed(code, reason) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        guard case .closed(.socketClosed(code, reason)) = socket.state else {
            Issue.record("\(socket.state)")
            return
        }
    }

    /// The limits of a reason are 0 and 123 bytes (RFC 6455, section 5.5).
    @Test(
        arguments: Library.allCases,
        [
            (1000, ""), (1001, "bye"), (1011, "\u{1F600}"), (3000, ""),
            (4999, String(repeating: "\u{20ac}", count: 41)),
        ])
    func theServerGetsTheClientsCodeAndReason(library: Library, end: (code: Int, reason: String)) async throws {
        for route in Route.allCases {
            let name = SocketServers.newName()
            try await SocketServers.withClient(of: library, by: route) { client in
                try await PulseSocket.with(Conversation(path: "/listen", name: name), client) { socket in
                    try await socket.send(.text("last"))
                    await socket.close(code: end.code, reason: end.reason)
                    guard case .closed(nil) = socket.state else {
                        Issue.record("\(socket.state)")
                        return
                    }
                }
            }
            let record = try await SocketServers.record(name)
            #expect(record.code == end.code)
            #expect(record.reason == end.reason)
            #expect(record.fault == nil)
        }
    }

    /// The server sends its messages, gets one, and is gone.
    @Test(arguments: Library.allCases, ["abort", "end"])
    func anAbruptEndIsALostConnection(library: Library, behavior: String) async throws {
        for route in Route.allCases {
            try await SocketServers.withClient(of: library, by: route) { client in
                try await PulseSocket.with(Conversation(path: "/\(behavior)"), client) { socket in
                    let messages = try await Self.receive(socket)
                    #expect(messages == Self.messages)
                    let error = await #expect(throws: PulseError.self) {
                        // The loss may overtake the confirmation of the message.
                        try await socket.send(.text("go"))
                        _ = try await socket.receive()
                    }
                    guard case .transport(.networkConnectionLost, _) = error else {
                        Issue.record("\(route): \(String(describing: error))")
                        return
                    }
                    #expect(error?.phase == .maybeSent)
                }
            }
        }
    }

    @Test
    func aMessageAboveTheLimitIsRefusedWith1009() async throws {
        let name = SocketServers.newName()
        try await SocketServers.withClient(of: .websockets) { client in
            let options = SocketOptions(reconnect: .never, maxMessageSize: 1 << 20)
            let endpoint = Conversation(path: "/echo", name: name, socketOptions: options)
            try await PulseSocket.with(endpoint, client) { socket in
                try await socket.expectEcho(.sample(1 << 20, isText: false))
                try await socket.send(.sample((1 << 20) + 1, isText: false))
                let error = await #expect(throws: PulseError.self) { try await socket.receive() }
                guard case .socketClosed(1009, _) = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
            }
        }
        #expect(try await SocketServers.record(name).code == 1009)
    }

    @Test
    func droppingTheSocketClosesWith1001() async throws {
        let name = SocketServers.newName()
        try await SocketServers.withClient(of: .websockets) { client in
            try await PulseSocket(endpoint: Conversation(path: "/listen", name: name), client: client).connect()
            #expect(try await SocketServers.record(name).code == 1001)
        }
    }
}
