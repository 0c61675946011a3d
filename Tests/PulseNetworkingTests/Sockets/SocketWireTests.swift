// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulseStorage
import PulseTesting
import TestSupport
import Testing

/// Sockets over real connections.
@Suite(.tags(.threads), .throttled, .timeLimit(.minutes(15)))
struct SocketWireTests {
    private struct Feed: SocketEndpoint {
        var path = "/feed"
        var socketOptions = SocketOptions()
    }

    private static func client(_ server: MockServer) -> PulseClient {
        PulseClient(
            configuration: .patient(with: server).with(\.clock, value: TestClock(autoAdvances: true))
                .with(\.connectivity, value: ManualConnectivityMonitor()),
            events: PulseEventBus())
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
