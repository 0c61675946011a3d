// SPDX-License-Identifier: MIT

#if os(Linux)
import Foundation
import FoundationNetworking
import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

/// What `URLSessionTransport` does about an upgrade. ``UpgradeHandshakeWireTests`` and ``UpgradedConnectionWireTests``
/// run over it as well.
@Suite(.tags(.threads, .addresses), .throttled)
struct URLSessionUpgradeTests {
    private static func transport(
        configure: (@Sendable (URLSessionConfiguration) -> Void)? = nil
    ) -> URLSessionTransport {
        URLSessionTransport(
            6, appliesBackpressure: false, makeChannel: SocketCallbackChannel.make, configure: configure)
    }

    private static func request(_ url: URL) -> TransportRequest {
        var urlRequest = URLRequest(url: url)
        urlRequest.allHTTPHeaderFields = UpgradeStage.offer
        return TransportRequest(urlRequest: urlRequest, delivery: .upgrade, connectTimeout: 600, idleTimeout: 600)
    }

    private static func send(
        configure: (@Sendable (URLSessionConfiguration) -> Void)? = nil,
        _ change: (inout TransportRequest) -> Void = { _ in }
    ) async throws -> (PulseResponse, MockServer) {
        try await MockServer.run { server in
            server.fallback { _ in .text("no", status: 403) }
            let transport = transport(configure: configure)
            var request = request(server.baseURL)
            change(&request)
            do {
                let response = try await transport.send(request)
                await transport.shutdown()
                return (response, server)
            } catch {
                #expect(server.connectionCount == 0)
                throw error
            }
        }
    }

    @Test func whatTheTransportCannotEnforceIsRefusedUnsent() async throws {
        let pins = SSLPinningPolicy.PinSet(publicKeyHashes: ["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="])
        let changes: [@Sendable (inout TransportRequest) -> Void] = [
            { $0.pins = pins },
            { $0.tls.minimumVersion = .tls13 },
            { $0.proxy = .direct },
        ]
        for change in changes {
            await #expect {
                try await Self.send(configure: nil, change)
            } throws: {
                PulseError(wrapping: $0).kind == .unsupported
            }
        }
        await #expect {
            try await Self.send(configure: { $0.connectionProxyDictionary = ["HTTPEnable": 1] })
        } throws: {
            PulseError(wrapping: $0).kind == .unsupported
        }
    }

    @Test func withoutAChannelAnUpgradeIsRefused() async throws {
        let transport = URLSessionTransport()
        await #expect {
            try await transport.send(Self.request(try #require(URL(string: "http://127.0.0.1:1/"))))
        } throws: {
            PulseError(wrapping: $0).kind == .unsupported
        }
    }

    @Test func theFieldsOfTheSessionAreSentUnlessTheRequestHasThem() async throws {
        let (response, server) = try await Self.send(configure: {
            $0.httpAdditionalHeaders = ["X-Session": "a", "upgrade": "other"]
        })
        #expect(response.statusCode == 403)
        let headers = try #require(server.requests.first).headers
        #expect(headers["X-Session"] == "a" && headers.values(for: "Upgrade") == ["echo"])
        #expect(response.request.value(forHTTPHeaderField: "X-Session") == nil)
    }

    @Test func userInformationIsSentAsCredentials() async throws {
        let (_, server) = try await Self.send(configure: nil) {
            $0.urlRequest.url = $0.urlRequest.url.flatMap { url in
                URL(string: url.absoluteString.replacingOccurrences(of: "://", with: "://a:b@"))
            }
        }
        #expect(server.requests.first?.headers["Authorization"] == "Basic YTpi")
    }

    @Test func releasedConnectionsAreForgotten() async throws {
        let transport = Self.transport()
        try await MockServer.run { server in
            server.fallback { _ in .text("no", status: 403) }
            for _ in 0..<100 { _ = try await transport.send(Self.request(server.baseURL)) }
        }
        #expect(try #require(transport.upgrades).connectionCount <= 64)
        await transport.shutdown()
    }

    /// Everything from the API down to the channel.
    @Test func aSocketTalksOverCallbacks() async throws {
        try await MockServer.run { server in
            server.onSocket("/echo") { socket in
                while let message = try await socket.receive() { try await socket.send(message) }
            }
            let client = ClientStage.client(
                PulseConfiguration(baseURL: server.baseURL), over: Self.transport())
            let socket = PulseSocket(endpoint: Echo(), client: client)
            try await socket.connect()
            for size in [0, 1, 200, 70_000, 1 << 20] {
                let message = SocketMessage.binary(Data.pattern(size))
                try await socket.send(message)
                #expect(try await socket.receive() == message)
            }
            _ = try await socket.ping()
            #expect(socket.statistics.unconfirmed == 0)
            await socket.close()
            await client.shutdown()
        }
    }

    private struct Echo: SocketEndpoint {
        let path = "/echo"
    }
}
#endif
