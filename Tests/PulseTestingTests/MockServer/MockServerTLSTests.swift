// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseNetworking
import TestSupport
import Testing

@testable import PulseConformance
@testable import PulseTesting

/// The server over TLS, with `SocketTransport` as its client.
@Suite(.throttled)
struct MockServerTLSTests {
    typealias Configuration = MockServer.Configuration

    @Test(arguments: [TLSSettings.Version.tls12, .tls13])
    func respondsOverEachTLSVersion(_ version: TLSSettings.Version) async throws {
        try await run {
            $0.tlsVersions = version...version
        } _: { server, client in
            server.on(.post, "/echo") { .data($0.body) }
            #expect(server.baseURL.scheme == "https")
            for _ in 0..<2 {
                let response = try await client.send(.post, "/echo", Data("over TLS".utf8))
                #expect(response.text == "over TLS")
            }
            #expect(server.connectionCount == 1)
            #expect(server.requests.map(\.text) == ["over TLS", "over TLS"])
        }
    }

    @Test func carriesLargeBodiesBothWaysThroughSmallBuffers() async throws {
        try await run {
            $0.sendBufferSize = 32 << 10
            $0.receiveBufferSize = 32 << 10
        } _: { server, client in
            server.on(.post, "/echo", reading: .slowly(bytes: 50_000, every: 0)) { .data($0.body) }
            let body = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
            let response = try await client.send(.post, "/echo", body)
            #expect(response.data == body)
        }
    }

    @Test func aBodyThatEndsWithTheConnectionEndsWithAClosureAlert() async throws {
        try await run { server, client in
            let body = String(repeating: "to the end ", count: 100_000)
            server.on(.get, "/") { _ in .raw([.text("HTTP/1.1 200 OK\r\n\r\n" + body), .close]) }
            let response = try await client.send(.get, "/")
            #expect(response.data == Data(body.utf8))
            #expect(server.activity.connections.first?.ending == .closedByServer)
        }
    }

    // MARK: Certificates

    @Test func aClientThatTrustsAnotherAuthorityRefusesTheServer() async throws {
        let foreign = try MockServer.TLSIdentity.generated()
        try await run { server, client in
            await expect(.serverCertificateHasUnknownRoot) {
                try await client.send(.get, "/", trusting: foreign.clientSettings)
            }
            let refusal = try await server.wait { !$0.malformedRequests.isEmpty }.malformedRequests[0]
            #expect(refusal.reason.contains("unknown ca"))
            #expect(server.requests.isEmpty)
        }
    }

    @Test func aCertificateForOtherNamesOrOfThePastIsRefused() async throws {
        let named = try MockServer.TLSIdentity.generated(names: ["example.test", "192.0.2.1"])
        try await run(named) { _, client in
            await expect(.serverCertificateUntrusted) { try await client.send(.get, "/") }
        }
        let expired = try MockServer.TLSIdentity.generated(validity: -7200 ..< -3600)
        try await run(expired) { _, client in
            await expect(.serverCertificateHasBadDate) { try await client.send(.get, "/") }
        }
        let future = try MockServer.TLSIdentity.generated(validity: 3600..<7200)
        try await run(future) { _, client in
            await expect(.serverCertificateNotYetValid) { try await client.send(.get, "/") }
        }
    }

    @Test(arguments: [TLSSettings.Version.tls12, .tls13])
    func acceptsAClientCertificateOfItsAuthorityAndRefusesOthers(_ version: TLSSettings.Version) async throws {
        let identity = try MockServer.TLSIdentity.generated()
        let foreign = try MockServer.TLSIdentity.generated()
        for clients in [Configuration.ClientCertificates.requested, .required] {
            try await run(identity) {
                $0.clientCertificates = clients
                $0.tlsVersions = version...version
            } _: { server, client in
                server.on(.get, "/") { _ in .text("known") }
                var settings = identity.clientSettings
                settings.clientCertificate = identity.clientCertificate
                let response = try await client.send(.get, "/", trusting: settings)
                #expect(response.text == "known")
                settings.clientCertificate = foreign.clientCertificate
                await expect(.clientCertificateRejected) { try await client.send(.get, "/", trusting: settings) }
            }
        }
    }

    @Test func aClientWithoutACertificateIsAcceptedIfNoneIsRequired() async throws {
        try await run {
            $0.clientCertificates = .requested
        } _: { server, client in
            server.on(.get, "/") { _ in .text("unknown") }
            let response = try await client.send(.get, "/")
            #expect(response.text == "unknown")
        }
    }

    @Test func tlsVersionsWithoutOverlapFailInTheHandshake() async throws {
        let identity = try MockServer.TLSIdentity.generated()
        try await run(identity) {
            $0.tlsVersions = .tls12 ... .tls12
        } _: { server, client in
            var settings = identity.clientSettings
            settings.minimumVersion = .tls13
            await expect(.secureConnectionFailed) { try await client.send(.get, "/", trusting: settings) }
            let refusal = try await server.wait { !$0.malformedRequests.isEmpty }.malformedRequests[0]
            #expect(refusal.reason.hasPrefix("TLS: ") && refusal.status == 0)
        }
    }

    // MARK: Faults beneath and before TLS

    @Test func doesNotStartTheHandshakeOfAStalledConnection() async throws {
        try await run { server, client in
            server.onAccept { $0 == 0 ? [.stall] : [] }
            server.fallback { _ in .text("response") }
            let stalled = Task { try await client.send(.get, "/") }
            try await server.wait { $0.openConnectionCount == 1 }
            // The handshake of a later connection, of another transport, shows that the server has had time for both.
            let other = Client(server: server, settings: client.settings)
            _ = try await other.send(.get, "/")
            await other.transport.shutdown()
            stalled.cancel()
            await #expect(throws: CancellationError.self) { try await stalled.value }
            try await server.wait { $0.openConnectionCount == 0 }
            #expect(server.requests.count == 1)
        }
    }

    @Test(arguments: [MockServer.Step.reset, .close, .truncate])
    func endsAConnectionBeforeTheHandshake(by step: MockServer.Step) async throws {
        try await run { server, client in
            server.onAccept { _ in [step] }
            // A reset may come before the client has seen the connection.
            let isEarly = if case .reset = step.action { true } else { false }
            await expect(.secureConnectionFailed, isEarly ? .cannotConnectToHost : nil) {
                try await client.send(.get, "/")
            }
        }
    }

    @Test func sendsAnotherProtocolInPlaceOfTLS() async throws {
        try await run { server, client in
            server.onAccept { _ in [.unencrypted(Data("220 mail ready\r\n".utf8)), .stall] }
            await expect(.secureConnectionFailed) { try await client.send(.get, "/") }
        }
    }

    @Test func sendsGreetingStepsWithinTLSBeforeItReadsARequest() async throws {
        try await run { server, client in
            // Stalls, since the response to the request would count too.
            server.onAccept { _ in [.text("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly"), .stall] }
            _ = try? await client.send(.get, "/")
            // The client may have them before the server has counted them.
            try await server.wait { $0.connections.map(\.sentByteCount) == [43] }
        }
    }

    @Test(arguments: [MockServer.Step.unencrypted(Data("no record".utf8)), .reset, .truncate])
    func breaksTLSInTheMiddleOfABody(by step: MockServer.Step) async throws {
        try await run { server, client in
            server.on(.get, "/") { _ in .raw([.text("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345"), step]) }
            await expect(.networkConnectionLost) { try await client.send(.get, "/") }
        }
    }

    @Test func aClientWithoutTLSIsRefused() async throws {
        try await run { server, _ in
            let client = try WireClient.connect(to: server.port)
            try await client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try await client.receiveToEnd().text.isEmpty)
            let refusal = try await server.wait { !$0.malformedRequests.isEmpty }.malformedRequests[0]
            #expect(refusal.reason == "TLS: http request")
        }
    }

    @Test func aShutdownEndsConnectionsDuringAndAfterTheHandshake() async throws {
        let identity = try MockServer.TLSIdentity.generated()
        let server = try await MockServer.start(Configuration(tls: identity))
        server.on(.get, "/") { _ in .raw([.stall]) }
        let idle = try WireClient.connect(to: server.port)
        let sender = Client(server: server, settings: identity.clientSettings)
        let waiting = Task { await expect(.networkConnectionLost) { try await sender.send(.get, "/") } }
        try await server.wait { $0.requests.count == 1 && $0.connections.count == 2 }
        await server.shutdown()
        await waiting.value
        await sender.transport.shutdown()
        #expect(try await idle.receiveToEnd().text.isEmpty)
        #expect(server.openConnectionCount == 0)
    }

    // MARK: Support

    fileprivate struct Client: Sendable {
        let server: MockServer
        let settings: TLSSettings
        let transport = SocketTransport()

        func send(
            _ method: HTTPMethod, _ path: String, _ body: Data? = nil, trusting other: TLSSettings? = nil
        ) async throws -> PulseResponse {
            var request = URLRequest(url: server.baseURL.appendingPathComponent(path))
            request.httpMethod = method.rawValue
            request.httpBody = body
            return try await transport.send(
                TransportRequest(
                    urlRequest: request, body: body.map { .bytes($0) } ?? .none, connectTimeout: 600,
                    idleTimeout: 600, tls: other ?? settings))
        }
    }

    private func run(
        _ identity: MockServer.TLSIdentity? = nil, _ change: (inout Configuration) -> Void = { _ in },
        _ body: (MockServer, Client) async throws -> Void
    ) async throws {
        let identity = try identity ?? .generated()
        var configuration = Configuration(tls: identity)
        change(&configuration)
        try await MockServer.run(configuration) { server in
            let sender = Client(server: server, settings: identity.clientSettings)
            try await body(server, sender)
            await sender.transport.shutdown()
        }
    }

    /// The kind of failure; a timeout has its own.
    private func expect(
        _ code: URLError.Code, _ other: URLError.Code? = nil, sourceLocation: SourceLocation = #_sourceLocation,
        _ body: () async throws -> PulseResponse
    ) async {
        do {
            let response = try await body()
            Issue.record("it succeeded: \(response.statusCode)", sourceLocation: sourceLocation)
        } catch {
            switch PulseError(wrapping: error) {
            case .transport(let actual, _):
                #expect(actual == code || actual == other, "\(error)", sourceLocation: sourceLocation)
            case .timeout: #expect(code == .timedOut, sourceLocation: sourceLocation)
            case let error: Issue.record("\(error)", sourceLocation: sourceLocation)
            }
        }
    }
}
#endif
