// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseTesting
import TestSupport
import Testing

import PulseTransports

/// What TLS adds to an upgrade.
@Suite(.tags(.threads, .addresses), .throttled)
struct UpgradeTLSWireTests {
    /// Runs `body` with a server that echoes over TLS, and a request to it.
    private static func run(
        _ configuration: MockServer.Configuration = .init(),
        _ body: (MockServer, SocketTransport, TransportRequest, MockServer.TLSIdentity) async throws -> Void
    ) async throws {
        let identity = try MockServer.TLSIdentity.generated()
        var configuration = configuration
        configuration.tls = identity
        try await MockServer.run(configuration) { server in
            server.fallback { _ in .echo }
            let transport = SocketTransport()
            var urlRequest = URLRequest(url: server.baseURL)
            urlRequest.allHTTPHeaderFields = UpgradeStage.offer
            let request = TransportRequest(
                urlRequest: urlRequest, delivery: .upgrade, connectTimeout: 600, idleTimeout: 600,
                tls: identity.clientSettings)
            do {
                try await body(server, transport, request, identity)
            } catch {
                await transport.shutdown()
                throw error
            }
            await transport.shutdown()
        }
    }

    private static func echoes(_ connection: (any DuplexConnection)?) async throws {
        let connection = try #require(connection)
        try await connection.write(Data([1, 2, 3]))
        #expect(try await connection.read(count: 3) == Data([1, 2, 3]))
        connection.close()
    }

    // MARK: Pins

    @Test func aPinnedServerIsAccepted() async throws {
        try await Self.run { _, transport, request, identity in
            var request = request
            let events = EventLog()
            (request.pins, request.events) = (
                SSLPinningPolicy.PinSet(publicKeyHashes: [], certificates: [identity.leaf]), events
            )
            try await Self.echoes(try await transport.send(request).connection)
            #expect(events.hosts == [])
        }
    }

    @Test func aServerWithoutThePinGetsNoByteOfTheRequest() async throws {
        let stranger = try MockServer.TLSIdentity.generated()
        try await Self.run { server, transport, request, _ in
            var request = request
            let events = EventLog()
            (request.pins, request.events) = (
                SSLPinningPolicy.PinSet(publicKeyHashes: [], certificates: [stranger.leaf]), events
            )
            let error = await #expect(throws: PulseError.self) { try await transport.send(request) }
            guard case .sslPinningFailed(host: "127.0.0.1") = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(events.hosts == ["127.0.0.1"])
            try await server.wait { $0.connections.count == 1 && $0.openConnectionCount == 0 }
            let activity = server.activity
            #expect(activity.requests.isEmpty && activity.incompleteRequests.isEmpty)
            #expect(activity.connections.allSatisfy { $0.requestCount == 0 })
            #expect(activity.malformedRequests.allSatisfy { $0.reason.hasPrefix("TLS: ") })
        }
    }

    @Test func aReportedMismatchDoesNotEndTheHandshake() async throws {
        let stranger = try MockServer.TLSIdentity.generated()
        try await Self.run { _, transport, request, _ in
            var request = request
            let events = EventLog()
            request.events = events
            request.pins = SSLPinningPolicy.PinSet(
                publicKeyHashes: [], certificates: [stranger.leaf], isReportOnly: true)
            try await Self.echoes(try await transport.send(request).connection)
            #expect(events.hosts == ["127.0.0.1"])
        }
    }

    // MARK: Settings

    @Test func anUntrustedServerGetsNothing() async throws {
        try await Self.run { server, transport, request, _ in
            var request = request
            request.tls = .default
            let failure = await #expect(throws: TransportFailure.self) { try await transport.send(request) }
            #expect(failure?.code == .serverCertificateHasUnknownRoot && failure?.phase == .beforeSend)
            #expect(server.requests.isEmpty)
        }
    }

    @Test func theMinimumVersionHolds() async throws {
        let configuration = MockServer.Configuration(tlsVersions: .tls12 ... .tls12)
        try await Self.run(configuration) { _, transport, request, _ in
            try await Self.echoes(try await transport.send(request).connection)
            var request = request
            request.tls.minimumVersion = .tls13
            let failure = await #expect(throws: TransportFailure.self) { try await transport.send(request) }
            #expect(failure?.code == .secureConnectionFailed && failure?.phase == .beforeSend)
        }
    }

    /// With TLS 1.3 the server objects after the handshake of TLS.
    @Test(arguments: [TLSSettings.Version.tls12, .tls13])
    func aClientCertificateIsPresented(version: TLSSettings.Version) async throws {
        let configuration = MockServer.Configuration(tlsVersions: version...version, clientCertificates: .required)
        try await Self.run(configuration) { _, transport, request, identity in
            var known = request
            known.tls.clientCertificate = identity.clientCertificate
            try await Self.echoes(try await transport.send(known).connection)
            let failure = await #expect(throws: TransportFailure.self) { try await transport.send(request) }
            #expect(failure?.code == .clientCertificateRequired)
        }
    }

    /// HTTP/2 has no upgrades.
    @Test func onlyHTTP1IsOffered() async throws {
        let (hellos, told) = AsyncStream<Data>.makeStream()
        try await MockServer.run { server in
            server.onAccept { _ in
                MockServer.Step.conversing { conversation in
                    if let hello = try await conversation.receive() { told.yield(hello) }
                    told.finish()
                }
            }
            let transport = SocketTransport()
            let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
            let request = TransportRequest(urlRequest: URLRequest(url: url), delivery: .upgrade, connectTimeout: 600)
            await #expect(throws: TransportFailure.self) { try await transport.send(request) }
            for await hello in hellos {
                #expect(hello.range(of: Data("\u{8}http/1.1".utf8)) != nil)
                #expect(hello.range(of: Data("\u{2}h2".utf8)) == nil)
            }
            await transport.shutdown()
        }
    }

    // MARK: The end

    @Test(arguments: [false, true])
    func onlyACloseAlertIsAnEnd(isCut: Bool) async throws {
        try await Self.run { server, transport, request, _ in
            server.fallback { _ in
                let head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\n\r\nall of it"
                return .raw([.text(head), isCut ? .truncate : .close])
            }
            let connection = try #require(try await transport.send(request).connection)
            #expect(try await connection.read(count: 9) == Data("all of it".utf8))
            if isCut {
                let failure = await #expect(throws: TransportFailure.self) { try await connection.read() }
                #expect(failure?.code == .networkConnectionLost)
            } else {
                for _ in 0..<2 { #expect(try await connection.read() == nil) }
            }
        }
    }

    /// The end of one direction of TLS alone is not told to the peer.
    @Test func finishingSendsNothingMoreAndStillReads() async throws {
        try await Self.run { _, transport, request, _ in
            let connection = try #require(try await transport.send(request).connection)
            try await connection.write(Data([1]))
            connection.finishWriting()
            let failure = await #expect(throws: TransportFailure.self) { try await connection.write(Data([2])) }
            #expect(failure?.phase == .beforeSend)
            #expect(try await connection.read() == Data([1]))
        }
    }

    /// The reader finds it; no event would resume the writer.
    @Test func garbageEndsAWriteThatWaits() async throws {
        let clock = TestClock()
        let identity = try MockServer.TLSIdentity.generated()
        try await MockServer.run(.init(tls: identity), clock: clock) { server in
            server.fallback { _ in
                .raw([
                    .text("HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\n\r\n"), .delay(1),
                    .unencrypted(Data(repeating: 7, count: 100)), .delay(1),
                ])
            }
            var urlRequest = URLRequest(url: server.baseURL)
            urlRequest.allHTTPHeaderFields = UpgradeStage.offer
            let transport = SocketTransport()
            let request = TransportRequest(
                urlRequest: urlRequest, delivery: .upgrade, connectTimeout: 600, idleTimeout: 600,
                tls: identity.clientSettings)
            let connection = try #require(try await transport.send(request).connection)
            await clock.sleepers(atLeast: 1)
            let writer = Task.startingNow { try await connection.write(Data(count: 24 << 20)) }
            let reader = Task.startingNow { try await connection.read() }
            await clock.advance(by: 1)
            await #expect(throws: TransportFailure.self) { try await reader.value }
            let failure = await #expect(throws: TransportFailure.self) { try await writer.value }
            #expect(failure?.phase == .maybeSent)
            clock.autoAdvances = true
            await clock.advance(by: 1)
            await transport.shutdown()
        }
    }

    @Test func garbageBetweenRecordsIsALostConnection() async throws {
        try await Self.run { server, transport, request, _ in
            server.fallback { _ in
                .raw([
                    .text("HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\n\r\n"),
                    .unencrypted(Data(repeating: 7, count: 100)), .stall,
                ])
            }
            let connection = try #require(try await transport.send(request).connection)
            let failure = await #expect(throws: TransportFailure.self) { while try await connection.read() != nil {} }
            #expect(failure?.code == .networkConnectionLost)
            #expect(failure?.underlying != nil)
        }
    }
}

/// The hosts of the pinning events.
private final class EventLog: EventSink {
    private let all = Locked<[String]>([])

    var isActive: Bool { true }

    func emit(_ event: NetworkEvent) {
        if case .pinningFailed(let host, _) = event { all.withLock { $0.append(host) } }
    }

    var hosts: [String] { all.withLock { $0 } }
}

extension MockServer.TLSIdentity {
    /// The server's own certificate in DER.
    fileprivate var leaf: Data {
        let text = String(decoding: certificates, as: UTF8.self)
        let lines = text.split(separator: "\n").drop { !$0.hasPrefix("-----BEGIN") }.dropFirst()
        return Data(base64Encoded: lines.prefix { !$0.hasPrefix("-----END") }.joined()) ?? Data()
    }
}
#endif
