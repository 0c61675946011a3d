// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

/// A client that sends what a test says, over a socket of its own.
struct OperationClient: Sendable {
    private struct Endpoint: SocketEndpoint {
        let path = "/graphql"
        let headers = ["X-Test": "1"]
        var subprotocols: [String]
        let pingInterval: TimeInterval = 0
        let socketOptions = SocketOptions(reconnect: .never)
    }

    let socket: PulseSocket
    private let client: PulseClient

    init(of server: MockServer, subprotocols: [String] = ["graphql-transport-ws"]) {
        client = ClientStage.client(of: server, retry: .default)
        socket = PulseSocket(endpoint: Endpoint(subprotocols: subprotocols), client: client)
    }

    /// Opens the socket; with a payload it is initialized.
    func open(_ payload: JSONValue?) async throws {
        try await socket.connect()
        guard let payload else { return }
        try await send(["type": "connection_init", "payload": payload])
        try await expect(["type": "connection_ack"])
    }

    func send(_ message: JSONValue) async throws {
        try await socket.send(.text(String(decoding: JSONEncoder().encode(message), as: UTF8.self)))
    }

    /// Subscribes to an operation; by default to the subscription `S`.
    func subscribe(_ id: String, _ payload: JSONValue = ["query": "subscription S { s }"]) async throws {
        try await send(["type": "subscribe", "id": .string(id), "payload": payload])
    }

    func complete(_ id: String) async throws {
        try await send(["type": "complete", "id": .string(id)])
    }

    func receive() async throws -> JSONValue {
        guard case .text(let text) = try await socket.receive() else { return "binary" }
        return try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
    }

    func expect(_ messages: JSONValue..., location: SourceLocation = #_sourceLocation) async throws {
        for message in messages { #expect(try await receive() == message, sourceLocation: location) }
    }

    /// Sends a ping, and returns what comes before its pong.
    func messagesBeforePong() async throws -> [JSONValue] {
        try await send(["type": "ping"])
        var messages: [JSONValue] = []
        while true {
            let message = try await receive()
            guard message != ["type": "pong"] else { return messages }
            messages.append(message)
        }
    }

    func expectClose(
        _ code: Int, _ reason: String? = nil, location: SourceLocation = #_sourceLocation
    ) async {
        await #expect(sourceLocation: location) {
            while true { _ = try await socket.receive() }
        } throws: { error in
            guard case PulseError.socketClosed(let received, let text) = error else { return false }
            return received == code && reason.map { $0 == text } ?? true
        }
    }

    func shutdown() async {
        await client.shutdown()
    }

    /// Runs a test with a server and a client that is initialized.
    static func run(
        clock: any PulseClock = TestClock(), payload: JSONValue? = [:],
        subprotocols: [String] = ["graphql-transport-ws"],
        _ respond: @escaping @Sendable (ReceivedOperation) async throws -> OperationReply,
        test: (OperationClient, MockServer) async throws -> Void
    ) async throws {
        try await MockServer.run(clock: clock) { server in
            server.onGraphQL("/graphql", respond)
            let client = OperationClient(of: server, subprotocols: subprotocols)
            do {
                try await client.open(payload)
                try await test(client, server)
            } catch {
                await client.shutdown()
                throw error
            }
            await client.shutdown()
            #expect(server.activity.sockets.allSatisfy { $0.violation == nil })
        }
    }
}

/// The messages of a server.
extension JSONValue {
    static func next(_ id: String, _ data: JSONValue) -> JSONValue {
        ["id": .string(id), "type": "next", "payload": ["data": data]]
    }

    static func error(_ id: String, _ errors: JSONValue...) -> JSONValue {
        ["id": .string(id), "type": "error", "payload": .array(errors)]
    }

    static func complete(_ id: String) -> JSONValue {
        ["id": .string(id), "type": "complete"]
    }
}
