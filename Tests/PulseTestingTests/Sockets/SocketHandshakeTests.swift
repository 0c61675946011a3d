// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

/// Handshakes with a server and with a mock (RFC 6455, section 4.2).
@Suite(.throttled)
struct SocketHandshakeTests {
    private static let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

    private static func headers(_ changes: [String: String?]) -> [String: String] {
        changes.reduce(into: SocketBase.headers) { $0[$1.key] = $1.value }
    }

    static let handshakes: [(String, [String: String?], status: Int)] = [
        ("as it should be", [:], 101),
        ("other cases and lists", ["Upgrade": "h2c, WebSocket", "Connection": "keep-alive , UPGRADE"], 101),
        ("an unknown extension", ["Sec-WebSocket-Extensions": "x-own; a=1"], 101),
        ("an unknown subprotocol", ["Sec-WebSocket-Protocol": "chat"], 101),
        ("no Upgrade", ["Upgrade": nil], 426),
        ("another Upgrade", ["Upgrade": "websocket2"], 426),
        ("no version", ["Sec-WebSocket-Version": nil], 426),
        ("an old version", ["Sec-WebSocket-Version": "8"], 426),
        ("two versions", ["Sec-WebSocket-Version": "13, 8"], 426),
        ("no Connection", ["Connection": nil], 400),
        ("another Connection", ["Connection": "keep-alive"], 400),
        ("no key", ["Sec-WebSocket-Key": nil], 400),
        ("an empty key", ["Sec-WebSocket-Key": ""], 400),
        ("a short key", ["Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ"], 400),
        ("a key of 15 bytes", ["Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25j"], 400),
        ("a key of 17 bytes", ["Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZTE="], 400),
        ("a key that is no base64", ["Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25j!!=="], 400),
        ("a subprotocol twice", ["Sec-WebSocket-Protocol": "a, b, a"], 400),
        ("a subprotocol that is no token", ["Sec-WebSocket-Protocol": "a b"], 400),
    ]

    @Test(arguments: handshakes)
    func acceptsOrRefusesAHandshake(_ name: String, changes: [String: String?], status: Int) async throws {
        let headers = Self.headers(changes)
        try await MockServer.run { server in
            server.onSocket("/ws") { _ in }
            let client = try WireClient.connect(to: server.port)
            try await client.send(SocketBase.request("/ws", headers))
            let response = try await client.receiveResponse(hasBody: status != 101)
            #expect(response.status == status)
            if status == 101 {
                #expect(
                    response.head == "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        + "Sec-WebSocket-Accept: \(Self.accept)\r\n\r\n")
                try await FrameClient(client).expect(.close(1000))
            } else {
                #expect(!response.body.isEmpty)
                #expect(response.header("Sec-WebSocket-Version") == (status == 426 ? ["13"] : []))
                #expect(response.header("Upgrade") == (status == 426 ? ["websocket"] : []))
                // A refusal leaves HTTP on the connection.
                try await client.send(SocketBase.request())
                #expect(try await client.receiveResponse(hasBody: false).status == 101)
                try await FrameClient(client).expect(.close(1000))
            }
            #expect(server.activity.sockets.count == 1)
        }
        let transport = MockTransport(stubs: []) { _ in }
        let response = try await transport.send(SocketBase.handshake("/ws", headers))
        #expect(response.statusCode == status)
        #expect((response.connection != nil) == (status == 101))
        #expect(response.headers["Sec-WebSocket-Accept"] == (status == 101 ? Self.accept : nil))
        #expect(response.headers["Sec-WebSocket-Version"] == (status == 426 ? "13" : nil))
        #expect(transport.sockets.count == (status == 101 ? 1 : 0))
        await transport.shutdown()
    }

    @Test func aPlainRequestIsToldToUpgrade() async throws {
        try await MockServer.run { server in
            server.onSocket("/ws") { _ in }
            let client = try WireClient.connect(to: server.port)
            #expect(try await client.exchange(get("/ws")).status == 426)
            let head = try await client.exchange("HEAD /ws HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(head.status == 426 && head.body.isEmpty)
            #expect(try await client.exchange("POST /ws HTTP/1.1\r\nHost: x\r\n\r\n").status == 404)
            try await client.send(SocketBase.request().replacingOccurrences(of: "HTTP/1.1", with: "HTTP/1.0"))
            #expect(try await client.receiveResponse().status == 426)
        }
    }

    @Test func aHandshakeIsAGet() async throws {
        try await MockServer.run { server in
            server.on(.post, "/ws") { request in try .socket(accepting: request) { _ in } }
            let client = try WireClient.connect(to: server.port)
            let request = SocketBase.request().replacingOccurrences(of: "GET", with: "POST")
            #expect(try await client.exchange(request).status == 400)
        }
    }

    @Test(arguments: [
        ("b", "b"), ("c, b, a", "b"), ("a,b", "a"), ("A, c", nil), ("c", nil),
    ])
    func agreesOnTheClientsFirstSubprotocol(_ offered: String, agreed: String?) async throws {
        let seen = Seen<String?>()
        let body: SocketBase.Body = { socket in seen.add(socket.subprotocol) }
        let headers = Self.headers(["Sec-WebSocket-Protocol": offered])
        try await MockServer.run { server in
            server.onSocket("/ws", subprotocols: ["a", "b"], body)
            let client = try WireClient.connect(to: server.port)
            try await client.send(SocketBase.request("/ws", headers))
            let response = try await client.receiveResponse(hasBody: false)
            #expect(response.header("Sec-WebSocket-Protocol") == [agreed].compactMap { $0 })
            try await FrameClient(client).expect(.close(1000))
        }
        let transport = MockTransport(stubs: [], subprotocols: ["a", "b"], onSocket: body)
        let response = try await transport.send(SocketBase.handshake("/ws", headers))
        #expect(response.headers["Sec-WebSocket-Protocol"] == agreed)
        let connection = try #require(response.connection)
        try await FrameClient(connection).expect(.close(1000))
        #expect(transport.sockets.first?.subprotocol == agreed)
        await transport.shutdown()
        #expect(seen.values == [agreed, agreed])
    }

    @Test func readsSubprotocolsOfSeveralLines() async throws {
        try await MockServer.run { server in
            server.onSocket("/ws", subprotocols: ["b"]) { _ in }
            let client = try WireClient.connect(to: server.port)
            let lines = "Host: x\r\nSec-WebSocket-Protocol: a\r\nSec-WebSocket-Protocol: b\r\n"
            try await client.send(SocketBase.request().replacingOccurrences(of: "Host: x\r\n", with: lines))
            #expect(try await client.receiveResponse(hasBody: false).header("Sec-WebSocket-Protocol") == ["b"])
        }
    }

    @Test func theClosureHasTheRequestWithItsParameters() async throws {
        let seen = Seen<String>()
        try await MockServer.run { server in
            server.onSocket("/rooms/{room}/ws") { socket in
                seen.add(socket.request.parameters["room"] ?? "")
                seen.add(socket.request.headers["Authorization"] ?? "")
            }
            let client = try WireClient.connect(to: server.port)
            let headers = Self.headers(["Authorization": "Bearer t"])
            // Frames right behind the handshake belong to the socket.
            let early = RawFrame(0x81, "early").bytes() + RawFrame.close(1000).bytes()
            try await client.send(Data(SocketBase.request("/rooms/a%20b/ws?since=1", headers).utf8) + early)
            #expect(try await client.receiveResponse(hasBody: false).status == 101)
            try await FrameClient(client).expect(.close(1000), nil)
            let record = try await server.wait { $0.sockets.first?.isOpen == false }.sockets[0]
            #expect(record.path == "/rooms/a%20b/ws" && record.messageCount == 1 && record.connection == 0)
        }
        #expect(seen.values == ["a b", "Bearer t"])
    }

    @Test func aResponseOfTheTestRefusesARightHandshakeAlone() async throws {
        try await MockServer.run { server in
            server.onSocket("/ws") { request in
                request.headers["Authorization"] == nil ? .status(401) : nil
            } _: { _ in
            }
            let client = try WireClient.connect(to: server.port)
            #expect(try await client.exchange(SocketBase.request()).status == 401)
            #expect(try await client.exchange(get("/ws")).status == 426)
            let headers = Self.headers(["Authorization": "Bearer t"])
            try await client.send(SocketBase.request("/ws", headers))
            #expect(try await client.receiveResponse(hasBody: false).status == 101)
            // The record of a socket follows its 101.
            #expect(try await server.wait { !$0.sockets.isEmpty }.sockets.count == 1)
        }
    }

    @Test func handshakesCanHaveFaults() async throws {
        let faults: [(@Sendable (inout HTTPHeaders) -> Void, status: Int, line: String)] = [
            ({ $0["Sec-WebSocket-Accept"] = "wrong" }, 101, "Sec-WebSocket-Accept: wrong"),
            ({ $0["Sec-WebSocket-Protocol"] = "unoffered" }, 101, "Sec-WebSocket-Protocol: unoffered"),
            ({ $0["Sec-WebSocket-Extensions"] = "x-own" }, 101, "Sec-WebSocket-Extensions: x-own"),
            ({ $0["Upgrade"] = nil }, 101, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade"),
            ({ $0["Connection"] = "close" }, 200, "HTTP/1.1 200 OK\r\nUpgrade: websocket\r\nConnection: close"),
        ]
        for (change, status, line) in faults {
            try await MockServer.run { server in
                server.on(.get, "/ws") { request in
                    try .socket(accepting: request, status: status, changing: change) { socket in
                        try await socket.send(.text("open"))
                    }
                }
                let client = try WireClient.connect(to: server.port)
                try await client.send(SocketBase.request())
                let response = try await client.receiveResponse(hasBody: false)
                #expect(response.status == status && response.head.contains(line + "\r\n"))
                try await FrameClient(client).expect(RawFrame(0x81, "open"), .close(1000))
            }
        }
    }
}
