// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

/// The lives of sockets, and of what has opened them.
@Suite(.throttled, .tags(.threads))
struct SocketLifetimeTests {
    @Test func aShutdownOfTheServerEndsItsSockets() async throws {
        let seen = Seen<PulseError.Kind>()
        let server = try await MockServer.start()
        server.onSocket("/{kind}") { socket in
            if socket.request.path == "/returned" { return }
            do {
                if socket.request.path == "/waiting" { try await SystemClock().sleep(600) }
                if socket.request.path == "/sending" { try await socket.run(.repeating(Data(count: 65536))) }
                _ = try await socket.receive()
            } catch {
                seen.add(PulseError(wrapping: error).kind)
            }
        }
        var clients: [WireClient] = []
        for path in ["/receiving", "/waiting", "/sending", "/returned"] {
            let client = try WireClient.connect(to: server.port)
            try await client.send(SocketBase.request(path))
            #expect(try await client.receiveResponse(hasBody: false).status == 101)
            clients.append(client)
        }
        #expect(server.openConnectionCount == 4)
        await server.shutdown()
        #expect(server.openConnectionCount == 0 && server.activity.sockets.count { $0.isOpen } == 0)
        #expect(seen.values.count == 3 && seen.values.allSatisfy { $0 == .cancelled || $0 == .transport })
        #expect(try await clients[0].receiveToEnd().text.isEmpty)
    }

    @Test func theRecordOfAnOpenSocketGrowsWithItsFrames() async throws {
        try await MockServer.run { server in
            server.onSocket("/ws") { socket in while try await socket.receive() != nil {} }
            let client = try WireClient.connect(to: server.port)
            try await client.send(SocketBase.request())
            #expect(try await client.receiveResponse(hasBody: false).status == 101)
            try await client.send(RawFrame(0x81, "a").bytes() + RawFrame(0x81, "b").bytes())
            let record = try await server.wait { $0.sockets.first?.messageCount == 2 }.sockets[0]
            #expect(record.isOpen)
            try await client.send(RawFrame(0x81).bytes(mask: nil))
            try await server.wait { $0.sockets.first?.violation?.code == 1002 }
        }
    }

    @Test func aServerHasSocketsOverTLS() async throws {
        #if os(Linux)
        let identity = try MockServer.TLSIdentity.generated()
        try await MockServer.run(MockServer.Configuration(tls: identity)) { server in
            server.on(.get, "/ws") { request in
                // The transport refuses a 101 that it has not asked for, and reads what follows a 200 up to the end.
                try .socket(accepting: request, status: 200) { socket in
                    try await socket.send(.text("secret"))
                    try await socket.run(.close)
                }
            }
            let transport = SocketTransport()
            var request = URLRequest(url: server.baseURL.appendingPathComponent("ws"))
            for (name, value) in SocketBase.headers { request.setValue(value, forHTTPHeaderField: name) }
            let response = try await transport.send(TransportRequest(urlRequest: request, tls: identity.clientSettings))
            #expect(response.data == RawFrame(0x81, "secret").bytes(mask: nil))
            await transport.shutdown()
        }
        #endif
    }

    // MARK: Mocks

    @Test func stubsComeBeforeSockets() async throws {
        let refusal = Stub(.get, "/ws").reply(.status(401), .status(503)).whenExhausted(.stopsMatching)
        let transport = MockTransport(stubs: [refusal, Stub(.get, "/users")]) { _ in }
        #expect(try await transport.send(SocketBase.handshake()).statusCode == 401)
        #expect(try await transport.send(SocketBase.handshake()).statusCode == 503)
        #expect(try await transport.send(SocketBase.handshake()).statusCode == 101)
        #expect(try await transport.send(TransportRequest(urlRequest: .mock(.get, "/users"))).statusCode == 200)
        await #expect { try await transport.send(TransportRequest(urlRequest: .mock(.get, "/other"))) } throws: {
            guard case PulseError.custom(is UnmatchedRequest) = $0 else { return false }
            return true
        }
        #expect(transport.requests.count == 5 && transport.sockets.count == 1)
        await transport.shutdown()
    }

    @Test func aMockWithoutSocketsRefusesUpgrades() async throws {
        let transport = MockTransport(stubs: [Stub()])
        await #expect { try await transport.send(SocketBase.handshake()) } throws: {
            ($0 as? PulseError)?.kind == .unsupported
        }
        #expect(transport.sockets.isEmpty)
    }

    @Test func aMocksShutdownEndsItsSocketsAndWaitsForThem() async throws {
        let clock = TestClock()
        let seen = Seen<PulseError.Kind>()
        let transport = MockTransport(stubs: [], clock: clock) { socket in
            do {
                if socket.request.path == "/waiting" { try await socket.run(.delay(60)) }
                if socket.request.path == "/sending" { try await socket.run(.repeating(Data(count: 1000))) }
                _ = try await socket.receive()
            } catch {
                seen.add(PulseError(wrapping: error).kind)
            }
        }
        var connections: [any DuplexConnection] = []
        for path in ["/receiving", "/waiting", "/sending"] {
            connections.append(try #require(try await transport.send(SocketBase.handshake(path)).connection))
        }
        await transport.shutdown()
        #expect(seen.values.count == 3 && seen.values.allSatisfy { $0 == .cancelled || $0 == .transport })
        #expect(transport.sockets.count { $0.isOpen } == 0 && clock.sleeperCount == 0)
        #expect(try await connections[0].read() == nil)
        await #expect(throws: TransportFailure.self) { try await connections[0].write(Data([1])) }
        await #expect { try await transport.send(SocketBase.handshake()) } throws: {
            ($0 as? PulseError)?.kind == .cancelled
        }
    }

    @Test func aReleasedConnectionEndsItsSocket() async throws {
        let (ended, end) = AsyncStream<PulseError.Kind>.makeStream()
        let transport = MockTransport(stubs: []) { socket in
            do { _ = try await socket.receive() } catch { end.yield(PulseError(wrapping: error).kind) }
            end.finish()
        }
        _ = try await transport.send(SocketBase.handshake())
        var kinds: [PulseError.Kind] = []
        for await kind in ended { kinds.append(kind) }
        #expect(kinds == [.transport])
        await transport.shutdown()
    }

    @Test func aCancelledHandshakeLeavesNoSocket() async throws {
        let transport = MockTransport(stubs: []) { socket in _ = try await socket.receive() }
        let call = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await transport.send(SocketBase.handshake())
        }
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(transport.sockets.isEmpty)
    }

    @Test func aMockServesManySocketsAtOnce() async throws {
        let transport = MockTransport(stubs: []) { socket in
            while let message = try await socket.receive() { try await socket.send(message) }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let connection = try #require(try await transport.send(SocketBase.handshake()).connection)
                    let client = FrameClient(connection)
                    for _ in 0..<10 {
                        try await client.send(RawFrame(0x81, "\(number)"))
                        try await client.expect(RawFrame(0x81, "\(number)"))
                    }
                    try await client.send(.close(1000))
                    try await client.expect(.close(1000), nil)
                }
            }
            try await group.waitForAll()
        }
        await transport.shutdown()
        #expect(transport.sockets.count == 200)
        #expect(Set(transport.sockets.map(\.connection)).count == 200)
        #expect(transport.sockets.allSatisfy { $0.messageCount == 10 && $0.violation == nil && !$0.isOpen })
    }
}
