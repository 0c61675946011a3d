// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.tags(.threads, .addresses), .throttled, .timeLimit(.minutes(15)))
struct HTTP1TransportWireTests {
    static let conformance = TransportConformance.standardTransport

    // Serialized: most of these tests depend on timing, and the machine may have two cores.
    @Test(.serialized, arguments: conformance.cases)
    func theDefaultTransportPasses(_ promise: TransportConformance.Case) async throws {
        try await Self.conformance.run(promise)
    }
}

/// The same engine over TLS: the whole list, and the list of TLS servers.
@Suite(.tags(.threads, .addresses), .throttled, .timeLimit(.minutes(15)))
struct HTTP1OverTLSWireTests {
    @Test(.serialized, arguments: TransportConformance.engineOverTLS.cases)
    func theEnginePassesOverTLS(_ promise: TransportConformance.Case) async throws {
        try await TransportConformance.engineOverTLS.run(promise)
    }

    /// With HTTP/2 allowed, libcurl sends the request, and the engine has no connection for it.
    @Test(arguments: [HTTPVersions.automatic, .http1])
    func onlyARestrictedRequestGoesThroughTheEngine(versions: HTTPVersions) async throws {
        try await MockServer.run(over: true) { server, tls in
            server.fallback { _ in .text("response") }
            let transport = HTTP1Transport(over: CurlTransport(4, library: .system))
            let request = TransportRequest(
                urlRequest: URLRequest(url: server.baseURL), connectTimeout: 600, idleTimeout: 600, tls: tls,
                httpVersions: versions)
            for _ in 0..<3 {
                let response = try await transport.send(request)
                #expect(response.data == Data("response".utf8))
                #expect(response.timings?.networkProtocol == "http/1.1")
            }
            #expect(server.connectionCount == 1)
            let origin = try #require(Origin(server.baseURL))
            let key = ConnectionKey(origin: origin, policies: request.policies)
            let pooled = try transport.pool?.take(key, now: SystemClock().uptime)
            #expect((pooled != nil) == (versions == .http1))
            await transport.shutdown()
        }
    }

    /// A request with other pins must not use a connection on which they were not checked.
    @Test func otherPoliciesGetAnotherConnection() async throws {
        try await MockServer.run(over: true) { server, tls in
            server.fallback { _ in .text("response") }
            let transport = StandardTransport()
            var request = TransportRequest(
                urlRequest: URLRequest(url: server.baseURL), connectTimeout: 600, idleTimeout: 600, tls: tls,
                httpVersions: .http1)
            _ = try await transport.send(request)
            request.pins = PinSet(publicKeyHashes: ["sha256/" + String(repeating: "A", count: 43) + "="])
            await #expect(throws: (any Error).self) { try await transport.send(request) }
            request.pins = nil
            request.tls.minimumVersion = .tls13
            _ = try await transport.send(request)
            #expect(server.requests.count == 2 && server.connectionCount == 3)
            await transport.shutdown()
        }
    }
}

/// The loop always sends and reads for cleartext senders, as it otherwise does with many exchanges under way.
@Suite(.tags(.threads), .throttled, .timeLimit(.minutes(15)))
struct HTTP1CrowdWireTests {
    static let conformance = TransportConformance("HTTP1Transport in a crowd", timeLimit: 60) { connections in
        HTTP1Transport(over: CurlTransport(connections, library: .system), few: 0)
    }

    @Test(.serialized, arguments: conformance.cases)
    func exchangesSentByTheLoopPass(_ promise: TransportConformance.Case) async throws {
        try await Self.conformance.run(promise)
    }
}
#endif
