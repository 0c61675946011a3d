// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulsePlatform
import PulseStorage
import PulseTesting
import TestSupport
import Testing

/// Sockets over real connections.
@Suite(.tags(.threads), .throttled)
struct SocketWireTests {
    private struct Feed: SocketEndpoint {
        var path = "/feed"
        var socketOptions = SocketOptions()
    }

    private struct Silent: SocketEndpoint {
        let path = "/feed"
        let pingInterval: TimeInterval = 0
        let socketOptions = SocketOptions(reconnect: .never)
    }

    private static func client(_ server: MockServer) -> PulseClient {
        ClientStage.client(
            of: server, retry: .default, clock: TestClock(autoAdvances: true),
            with: { $0.connectivity = ManualConnectivityMonitor() })
    }

    @Test(arguments: [false, true]) func messagesOfAllSizesComeBack(compresses: Bool) async throws {
        try await MockServer.run { server in
            server.onSocket("/feed", compresses: compresses) { socket in
                while let message = try await socket.receive() { try await socket.send(message) }
            }
            let client = Self.client(server)
            let socket = PulseSocket(endpoint: Feed(), client: client)
            try await socket.connect()
            let random = SeededRandomness(seed: 27)
            for size in [0, 1, 125, 126, 1023, 1024, 65_535, 65_536, 200_000] {
                let noise = Data((0..<size).map { _ in UInt8(truncatingIfNeeded: random.next()) })
                for message in [SocketMessage.binary(noise), .text(String(repeating: "price ", count: size / 6))] {
                    let sending = Task { try await socket.send(message) }
                    #expect(try await socket.receive() == message)
                    try await sending.value
                }
            }
            await socket.close()
            let record = try #require(server.activity.sockets.first)
            #expect(record.violation == nil && record.closeReceived?.code == 1000)
            #expect(record.mayBeCompressed == compresses)
            #expect(record.compressedMessageCount == (compresses ? 7 : 0))
            await client.shutdown()
        }
    }

    /// The handshake, a message and what ends the connection in one packet.
    @Test(arguments: [false, true], [4000, 1000, nil])
    func aMessageComesWithTheHandshake(greets: Bool, code: Int?) async throws {
        try await MockServer.run { server in
            server.on(.get, "/feed") { request in
                let accept = SocketHandshake.accept(for: request.headers["Sec-WebSocket-Key"] ?? "") ?? ""
                var bytes = Data(
                    """
                    HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r
                    Sec-WebSocket-Accept: \(accept)\r\n\r\n
                    """.utf8)
                bytes += [0x81, 2] + Data("hi".utf8)
                if let code { bytes += [0x88, 2, UInt8(code >> 8), UInt8(code & 0xFF)] }
                return .raw([.bytes(bytes), .close])
            }
            let client = Self.client(server)
            for _ in 0..<100 {
                let socket = PulseSocket(endpoint: Feed(), client: client) { greeting in
                    guard greets else { return }
                    let message = try await greeting.receive()
                    #expect(message == .text("hi"))
                }
                try await socket.connect()
                if !greets { #expect(try await socket.receive() == .text("hi")) }
                await socket.close()
            }
            let ends = Locked<[PulseError]>([])
            let socket = PulseSocket(endpoint: Feed(socketOptions: SocketOptions(reconnect: .never)), client: client)
            try await socket.connect()
            #expect(try await socket.receive() == .text("hi"))
            do {
                _ = try await socket.receive()
                Issue.record("a message after the end")
            } catch let error as PulseError {
                ends.withLock { $0.append(error) }
            }
            if let code {
                #expect(ends.withLock { $0.first?.kind } == .socketClosed)
                guard case .socketClosed(code, "") = ends.withLock({ $0.first }) else {
                    Issue.record("\(ends.withLock { $0 })")
                    return
                }
            }
            await client.shutdown()
        }
    }

    /// What came before a fault is delivered, and the reply to it is sent before the close frame: as it must be after a
    /// message, and a server's frames come in one packet or in many.
    @Test(arguments: [false, true])
    func aReplyGoesOutBeforeTheConnectionFails(inOnePacket: Bool) async throws {
        try await MockServer.run { server in
            let texts = Locked<[SocketMessage]>([])
            server.onSocket("/feed") { socket in
                // A text, and a frame with a reserved bit.
                let bytes = Data([0x81, 2]) + Data("hi".utf8) + [0xA1, 2] + Data("no".utf8)
                if inOnePacket {
                    try await socket.sendRaw(bytes)
                } else {
                    for byte in bytes { try await socket.sendRaw(Data([byte])) }
                }
                while let message = try await socket.receive() { texts.withLock { $0.append(message) } }
            }
            let client = Self.client(server)
            for _ in 0..<50 {
                let socket = PulseSocket(
                    endpoint: Feed(socketOptions: SocketOptions(reconnect: .never)), client: client)
                try await socket.connect()
                do {
                    while true {
                        let message = try await socket.receive()
                        // The fault is found meanwhile.
                        for _ in 0..<20 { await Task.yield() }
                        try await socket.send(message)
                    }
                } catch PulseError.socketClosed(1002, _) {}
                await socket.close()
            }
            try await server.wait { $0.sockets.allSatisfy { $0.closeReceived != nil } }
            #expect(server.activity.sockets.allSatisfy { $0.closeReceived?.code == 1002 })
            #expect(texts.withLock { $0 } == Array(repeating: .text("hi"), count: 50))
            await client.shutdown()
        }
    }

    /// An application that does not read does not hold the connection open.
    @Test func aFaultEndsAConnectionThatNobodyReads() async throws {
        try await MockServer.run { server in
            server.onSocket("/feed") { socket in
                try await socket.sendRaw(Data([0x81, 2]) + Data("hi".utf8) + [0xA1, 0])
                while try await socket.receive() != nil {}
            }
            let clock = TestClock()
            let client = ClientStage.client(of: server, retry: .default, clock: clock)
            let socket = PulseSocket(endpoint: Silent(), client: client)
            try await socket.connect()
            // Nothing else has an alarm.
            await clock.sleepers(atLeast: 1, for: .deadline)
            await clock.advance(by: 5)
            try await server.wait { $0.sockets.first?.closeReceived != nil }
            #expect(server.activity.sockets.first?.closeReceived?.code == 1002)
            #expect(try await socket.receive() == .text("hi"))
            await client.shutdown()
        }
    }

    /// A redirect to `ws` is followed, and the connection of each handshake is closed.
    @Test func aRedirectLeadsToWS() async throws {
        try await MockServer.run { server in
            let target = server.baseURL.absoluteString.replacingOccurrences(of: "http://", with: "ws://") + "/feed"
            server.on(.get, "/old") { _ in .status(307, headers: ["Location": target]) }
            server.onSocket("/feed") { socket in while try await socket.receive() != nil {} }
            let client = Self.client(server)
            let socket = PulseSocket(endpoint: Feed(path: "/old"), client: client)
            try await socket.connect()
            await socket.close()
            #expect(server.requests.map(\.path) == ["/old", "/feed"])
            try await server.wait { $0.openConnectionCount == 0 }
            await client.shutdown()
        }
    }

    @Test func aWrongResponseIsTyped() async throws {
        let faults: [@Sendable (inout HTTPHeaders) -> Void] = [
            { $0["Sec-WebSocket-Accept"] = "wrong" }, { $0["Upgrade"] = "h2c" }, { $0["Connection"] = "keep-alive" },
            { $0["Sec-WebSocket-Protocol"] = "chat" }, { $0["Sec-WebSocket-Extensions"] = "own" },
            { $0["Sec-WebSocket-Extensions"] = "permessage-deflate; client_max_window_bits=99" },
        ]
        for (index, fault) in faults.enumerated() {
            try await MockServer.run { server in
                server.on(.get, "/feed") { try .socket(accepting: $0, changing: fault) { _ in } }
                let client = Self.client(server)
                let socket = PulseSocket(endpoint: Feed(), client: client)
                do {
                    try await socket.connect()
                    Issue.record("fault \(index) was accepted")
                } catch PulseError.transport(.badServerResponse, _) {}
                await client.shutdown()
                try await server.wait { $0.openConnectionCount == 0 }
            }
        }
    }
}
