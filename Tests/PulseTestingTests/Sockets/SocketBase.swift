// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import Testing

/// What carries the sockets of a test.
enum SocketBase: String, CaseIterable, Sendable {
    case server, mock

    typealias Body = @Sendable (ServerSocket) async throws -> Void

    static let headers = [
        "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    ]

    static func request(_ target: String = "/ws", _ headers: [String: String] = headers) -> String {
        let fields = headers.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)\r\n" }.joined()
        return "GET \(target) HTTP/1.1\r\nHost: x\r\n\(fields)\r\n"
    }

    static func handshake(_ target: String = "/ws", _ headers: [String: String] = headers) -> TransportRequest {
        var request = URLRequest.mock(.get, target)
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        return TransportRequest(urlRequest: request, delivery: .upgrade)
    }

    /// Opens a socket, and returns its record after the test has left it and the closure has ended.
    @discardableResult
    func open(
        clock: any PulseClock = SystemClock(), _ body: @escaping Body, client: (FrameClient) async throws -> Void
    ) async throws -> ServerSocket.Record {
        switch self {
        case .server:
            return try await MockServer.run(clock: clock) { server in
                server.onSocket("/ws", body)
                let wire = try WireClient.connect(to: server.port)
                try await wire.send(Self.request())
                #expect(try await wire.receiveResponse(hasBody: false).status == 101)
                try await client(FrameClient(wire))
                wire.close()
                let ended = try await server.wait { $0.openConnectionCount == 0 && $0.sockets.first?.isOpen == false }
                return try #require(ended.sockets.first)
            }
        case .mock:
            let (ended, end) = AsyncStream<Void>.makeStream()
            let transport = MockTransport(stubs: [], clock: clock) { socket in
                defer { end.finish() }
                try await body(socket)
            }
            let response = try await transport.send(Self.handshake())
            #expect(response.statusCode == 101)
            let connection = try #require(response.connection)
            try await client(FrameClient(connection))
            connection.close()
            for await _ in ended {}
            await transport.shutdown()
            let record = try #require(transport.sockets.first)
            #expect(!record.isOpen)
            return record
        }
    }
}

/// What a closure saw, for the test outside of it.
final class Seen<Value: Sendable>: Sendable {
    private let stored = Locked<[Value]>([])

    var values: [Value] { stored.withLock { $0 } }

    func add(_ value: Value) {
        stored.withLock { $0.append(value) }
    }
}

func isInvalidRequest(_ error: any Error) -> Bool {
    (error as? PulseError)?.kind == .invalidRequest
}
