// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulsePlatform
import PulseSockets
import PulseTesting
import TestSupport
import Testing

/// permessage-deflate (RFC 7692), with the bytes of its section 7.2.3.
@Suite(.throttled, .tags(.addresses))
struct SocketCompressionTests {
    private static let offer = ["Sec-WebSocket-Extensions": "permessage-deflate"]
    private static let hello = Data([0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00])
    /// "Hello" again, as a reference to the first.
    private static let helloAgain = Data([0xF2, 0x00, 0x11, 0x00, 0x00])

    private func open(
        compresses: Bool = true, _ headers: [String: String] = offer, _ body: @escaping SocketBase.Body,
        client: (FrameClient) async throws -> Void
    ) async throws -> ServerSocket.Record {
        let transport = MockTransport(stubs: [], compresses: compresses, onSocket: body)
        let headers = SocketBase.headers.merging(headers) { $1 }
        let response = try await transport.send(SocketBase.handshake("/ws", headers))
        #expect(response.headers["Sec-WebSocket-Extensions"] == (compresses ? "permessage-deflate" : nil))
        try await client(FrameClient(try #require(response.connection)))
        await transport.shutdown()
        return try #require(transport.sockets.first)
    }

    @Test func receivesCompressedMessages() async throws {
        let record = try await open { socket in
            var messages: [SocketMessage] = []
            while let message = try await socket.receive() { messages.append(message) }
            let hello = SocketMessage.text("Hello")
            #expect(messages == [hello, hello, .binary(Data("Hello".utf8)), .text("plain"), .text("")])
        } client: { client in
            try await client.send(RawFrame(0xC1, Self.hello))
            try await client.send(
                RawFrame(0x41, Self.helloAgain.prefix(2)), RawFrame(0x8A), RawFrame(0x80, Self.helloAgain.dropFirst(2)))
            try await client.send(RawFrame(0xC2, Self.helloAgain), RawFrame(0x81, "plain"), RawFrame(0xC1, Data([0])))
            try await client.send(.close(1000))
            try await client.expect(.close(1000), nil)
        }
        #expect(record.mayBeCompressed && record.compressedMessageCount == 4 && record.messageCount == 5)
        #expect(record.fragmentedMessageCount == 1 && record.violation == nil)
    }

    @Test func sendsMessagesCompressedUnlessTheTestSaysOtherwise() async throws {
        _ = try await open { socket in
            try await socket.send(.text("Hello"))
            try await socket.send(.text("Hello"), fragments: 2)
            try await socket.send(.text("plain"), compressed: false)
            try await socket.send(.binary(Data()))
        } client: { client in
            try await client.expect(RawFrame(0xC1, Self.hello))
            try await client.expect(
                RawFrame(0x41, Self.helloAgain.prefix(3)), RawFrame(0x80, Self.helloAgain.dropFirst(3)))
            try await client.expect(RawFrame(0x81, "plain"), RawFrame(0xC2, Data([0])), .close(1000))
        }
    }

    @Test func aServerThatDoesNotCompressAcceptsNoOffer() async throws {
        let record = try await open(compresses: false) { socket in
            try await socket.send(.text("Hello"))
            _ = try await socket.receive()
        } client: { client in
            try await client.expect(RawFrame(0x81, "Hello"))
            try await client.send(RawFrame(0xC1, Self.hello))
            try await client.expect(.close(1002, "a reserved bit"))
        }
        #expect(!record.mayBeCompressed && record.violation?.code == 1002)
    }

    @Test(arguments: [
        (Data([0xFF, 0xFF, 0xFF]), 1007, "no DEFLATE"),
        // A stored block with the byte FF, which is no UTF-8.
        (Data([0x00, 0x01, 0x00, 0xFE, 0xFF, 0xFF, 0x00]), 1007, "no UTF-8"),
        (Data([0x00, 0x01, 0x00, 0xFE, 0xFF, 0xC3, 0x00]), 1007, "half a character"),
    ])
    func closesForInvalidData(_ payload: Data, code: Int, name: String) async throws {
        let record = try await open { socket in
            for _ in 0..<2 {
                await #expect { try await socket.receive() } throws: { error in
                    guard case PulseError.socketClosed(code, _) = error else { return false }
                    return true
                }
            }
        } client: { client in
            try await client.send(RawFrame(0xC1, payload), RawFrame(0x81, "after"))
            let close = try await client.receiveFrame()
            #expect(close?.first == 0x88 && close?.payload.prefix(2) == RawFrame.close(code).payload, "\(name)")
        }
        #expect(record.violation?.code == code && record.messageCount == 0, "\(name)")
    }

    @Test func aMessageThatDecompressesBeyondTheLimitIsRefused() async throws {
        let record = try await open { socket in
            try await socket.send(.binary(Data(count: 65 << 20)))
            _ = try await socket.receive()
        } client: { client in
            let bomb = try #require(try await client.receiveFrame())
            #expect(bomb.first == 0xC2 && bomb.payload.count < 100_000)
            try await client.send(bomb)
            let close = try await client.receiveFrame()
            #expect(close?.payload.prefix(2) == RawFrame.close(1009).payload)
        }
        #expect(record.violation?.code == 1009)
    }

    @Test(arguments: [
        ("x-own, permessage-deflate; a=1, permessage-deflate; client_max_window_bits", true, 101, true),
        ("x-own\r\nSec-WebSocket-Extensions: permessage-deflate", true, 101, true),
        ("x-own", true, 101, false), ("permessage-deflate; ;", true, 400, false),
        ("permessage-deflate; ;", false, 101, false),
    ])
    func choosesAmongTheOffers(_ offers: String, compresses: Bool, status: Int, isAgreed: Bool) async throws {
        try await MockServer.run { server in
            server.onSocket("/ws", compresses: compresses) { socket in try await socket.send(.text("Hello")) }
            let wire = try WireClient.connect(to: server.port)
            let headers = SocketBase.headers.merging(["Sec-WebSocket-Extensions": offers]) { $1 }
            try await wire.send(SocketBase.request("/ws", headers))
            let response = try await wire.receiveResponse(hasBody: status != 101)
            #expect(response.status == status)
            #expect(response.header("Sec-WebSocket-Extensions") == (isAgreed ? ["permessage-deflate"] : []))
            guard status == 101 else { return }
            try await FrameClient(wire).expect(isAgreed ? RawFrame(0xC1, Self.hello) : RawFrame(0x81, "Hello"))
        }
    }

    @Test func aTestSetsTheLimitsOfTheServer() async throws {
        var limits = DeflateParameters()
        limits.serverNoContextTakeover = true
        limits.serverMaxWindowBits = 10
        try await MockServer.run { [limits] server in
            server.on(.get, "/ws") { request in
                try .socket(accepting: request, compressing: limits) { socket in
                    for _ in 0..<2 { try await socket.send(.text("Hello")) }
                }
            }
            let wire = try WireClient.connect(to: server.port)
            try await wire.send(SocketBase.request("/ws", SocketBase.headers.merging(Self.offer) { $1 }))
            #expect(
                try await wire.receiveResponse(hasBody: false).header("Sec-WebSocket-Extensions") == [limits.response])
            let client = FrameClient(wire)
            try await client.expect(RawFrame(0xC1, Self.hello), RawFrame(0xC1, Self.hello), .close(1000))
        }
    }
}
#endif
