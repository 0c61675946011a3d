// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseTesting
import Testing

@testable import PulseTransports

/// A server that makes upgrades, and the way to it.
struct UpgradeStage: Sendable {
    /// The engine of the handshake and of the bytes behind it.
    enum Way: CaseIterable, Sendable {
        case sockets, socketsOverTLS
        /// `URLSessionTransport` over a channel with callbacks, as on Apple platforms.
        case callbacks

        var isSecure: Bool { self == .socketsOverTLS }

        fileprivate func transport(_ connections: Int) -> any Transport {
            switch self {
            case .sockets, .socketsOverTLS: SocketTransport(connections)
            case .callbacks:
                URLSessionTransport(connections, appliesBackpressure: false, makeChannel: SocketCallbackChannel.make)
            }
        }
    }

    let server: MockServer
    let transport: any Transport
    private let tls: TLSSettings

    /// Runs `body` with a server and a transport, and ends both.
    static func run(
        _ way: Way, connections: Int = 64, sendBufferSize: Int? = nil,
        _ body: (UpgradeStage) async throws -> Void
    ) async throws {
        let identity = way.isSecure ? try MockServer.TLSIdentity.generated() : nil
        let configuration = MockServer.Configuration(sendBufferSize: sendBufferSize, tls: identity)
        try await MockServer.run(configuration) { server in
            let transport = way.transport(connections)
            let stage = UpgradeStage(
                server: server, transport: transport, tls: identity?.clientSettings ?? .default)
            let result = await Result { try await body(stage) }
            await transport.shutdown()
            try result.get()
        }
    }

    static let offer = ["Connection": "Upgrade", "Upgrade": "echo"]

    func request(
        _ path: String = "/", fields: [String: String] = offer, delivery: TransportRequest.Delivery = .upgrade,
        idleTimeout: TimeInterval = 600
    ) -> TransportRequest {
        var urlRequest = URLRequest(url: server.baseURL.appendingPathComponent(path))
        urlRequest.allHTTPHeaderFields = fields
        return TransportRequest(
            urlRequest: urlRequest, delivery: delivery, connectTimeout: 600, idleTimeout: idleTimeout, tls: tls)
    }

    /// The connection of an accepted upgrade.
    func open(_ path: String = "/") async throws -> any DuplexConnection {
        let response = try await transport.send(request(path))
        #expect(response.statusCode == 101)
        return try #require(response.connection)
    }

    func failure(of request: TransportRequest) async -> TransportFailure? {
        await #expect(throws: TransportFailure.self) { try await transport.send(request) }
    }
}

extension MockServer.Response {
    /// Accepts an upgrade.
    static func accepting(
        _ body: @escaping @Sendable (MockServer.Conversation) async throws -> Void
    ) -> MockServer.Response {
        .upgrade(headers: ["Connection": "Upgrade", "Upgrade": "echo"], body)
    }

    /// Accepts an upgrade and sends back all that comes.
    static var echo: MockServer.Response { accepting(MockServer.Conversation.echo) }
}

extension MockServer.Conversation {
    static let echo: @Sendable (MockServer.Conversation) async throws -> Void = { conversation in
        while let bytes = try await conversation.receive() { try await conversation.send(bytes) }
    }
}

extension MockServer.Step {
    /// Hands over a connection without any HTTP traffic, for other protocols.
    static func conversing(
        _ body: @escaping @Sendable (MockServer.Conversation) async throws -> Void
    ) -> [MockServer.Step] {
        let upgrade = MockServer.Response.upgrade(headers: [:], body)
        // Without the head that comes before the conversation.
        return Array(ResponseScript(upgrade, to: .get, closing: false, isBodyUnread: false).steps.suffix(1))
    }
}

extension DuplexConnection {
    /// Reads that many bytes, or to the end.
    func read(count: Int) async throws -> Data {
        var all = Data()
        while all.count < count, let bytes = try await read() { all.append(bytes) }
        return all
    }
}

extension Data {
    /// Whether the bytes are equal. For `==`, the tests would search for the differences, which takes long.
    func isSame(as other: Data) -> Bool { self == other }

    /// Whether the bytes are that piece again and again.
    func isRepetition(of piece: Data) -> Bool {
        stride(from: 0, to: count, by: piece.count).allSatisfy { start in
            dropFirst(start).prefix(piece.count) == piece.prefix(count - start)
        }
    }

    /// Bytes that show where they belong.
    static func pattern(_ count: Int) -> Data {
        let block = Data((0..<Swift.min(count, 65_521)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })
        var bytes = Data(capacity: count)
        while bytes.count < count { bytes.append(block.prefix(count - bytes.count)) }
        return bytes
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
#endif
