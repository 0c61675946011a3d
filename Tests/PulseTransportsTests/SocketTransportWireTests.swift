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

    /// With HTTP/2 allowed, libcurl finds out what the server speaks. The engine takes over once its own handshake
    /// pays.
    @Test(arguments: [PulseConfiguration.HTTPVersions.automatic, .http1])
    func theEngineTakesOverAServerThatSpeaksNothingNewer(versions: PulseConfiguration.HTTPVersions) async throws {
        try await MockServer.run(over: true) { server, tls in
            server.fallback { _ in .text("response") }
            let transport = HTTP1Transport(over: CurlTransport(4, library: .system), price: 3)
            let request = TransportRequest(
                urlRequest: URLRequest(url: server.baseURL), connectTimeout: 600, idleTimeout: 600, tls: tls,
                httpVersions: versions)
            let origin = try #require(Origin(server.baseURL))
            let key = ConnectionKey(origin: origin, policies: request.policies)
            for sent in 1...8 {
                let response = try await transport.send(request)
                #expect(response.data == Data("response".utf8))
                #expect(response.timings?.networkProtocol == "http/1.1")
                let pooled = try transport.pool?.take(key, now: SystemClock().uptime)
                #expect((pooled != nil) == (versions == .http1 || sent > 3))
                if let pooled { transport.pool?.keep(pooled, now: SystemClock().uptime) }
            }
            #expect(server.connectionCount == (versions == .http1 ? 1 : 2))
            await transport.shutdown()
        }
    }

    /// Each of many requests at a time finds no idle connection; each handshake of the engine is paid for.
    @Test func aCrowdOpensNoMoreConnectionsThanItPaysFor() async throws {
        try await MockServer.run(over: true) { server, tls in
            server.fallback { _ in .text("response") }
            let transport = HTTP1Transport(over: CurlTransport(8, library: .system), price: 10)
            let request = TransportRequest(
                urlRequest: URLRequest(url: server.baseURL), connectTimeout: 600, idleTimeout: 600, tls: tls)
            for _ in 0..<5 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<8 { group.addTask { _ = try await transport.send(request) } }
                    try await group.waitForAll()
                }
            }
            // libcurl opened at most 8, and 40 requests pay for at most 4.
            #expect(server.connectionCount <= 12)
            await transport.shutdown()
        }
    }

    /// Connections share the system's authorities, and resume sessions; others must not get these.
    @Test func sharedAuthoritiesTrustNoOtherServer() async throws {
        try await MockServer.run(over: true) { server, tls in
            server.fallback { _ in .text("response") }
            let transport = StandardTransport()
            var request = TransportRequest(
                urlRequest: URLRequest(url: server.baseURL), connectTimeout: 600, idleTimeout: 600, httpVersions: .http1
            )
            request.needsNewConnection = true
            for _ in 0..<3 {
                request.tls = tls
                #expect(try await transport.send(request).data == Data("response".utf8))
                request.tls = .default
                await #expect {
                    try await transport.send(request)
                } throws: {
                    let failure = $0 as? TransportFailure
                    return failure?.code == .serverCertificateHasUnknownRoot && failure?.phase == .beforeSend
                }
                request.tls = try MockServer.TLSIdentity.generated().clientSettings
                await #expect(throws: TransportFailure.self) { try await transport.send(request) }
            }
            #expect(server.requests.count == 3)
            await transport.shutdown()
        }
    }

    /// An application that sends nothing more keeps no sockets to a server that has gone.
    @Test(arguments: [false, true]) func idleConnectionsCloseWithTheirServer(isSecure: Bool) async throws {
        let transport = StandardTransport()
        let port = try await MockServer.run(over: isSecure) { server, tls in
            server.fallback { _ in .text("response") }
            let request = TransportRequest(
                urlRequest: URLRequest(url: server.baseURL), connectTimeout: 600, idleTimeout: 600, tls: tls,
                httpVersions: .http1)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 { group.addTask { _ = try await transport.send(request) } }
                try await group.waitForAll()
            }
            let port = try #require(server.baseURL.port)
            #expect(try Self.openSocketCount(to: port) > 0)
            return port
        }
        while try Self.openSocketCount(to: port) > 0 { await Task.yield() }
        await transport.shutdown()
    }

    /// The process's sockets to a port of this machine, also those that only the peer has closed.
    private static func openSocketCount(to port: Int) throws -> Int {
        let all = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        return all.compactMap { Int32($0) }.count { descriptor in
            var address = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) }
            }
            let isInternet = result == 0 && address.sin_family == sa_family_t(AF_INET)
            return isInternet && Int(UInt16(bigEndian: address.sin_port)) == port
        }
    }

    /// The thread of the loop reads one at a time. The rest, and those behind a cancelled one, come as well.
    @Test(arguments: [false, true]) func largeBodiesComeWhole(isSecure: Bool) async throws {
        try await MockServer.run(over: isSecure) { server, tls in
            let body = Data((0..<(3 << 19)).map { UInt8(truncatingIfNeeded: $0 * 31 >> 3) })
            server.fallback { _ in .data(body) }
            let transport = StandardTransport()
            let request = TransportRequest(
                urlRequest: URLRequest(url: server.baseURL), delivery: .buffered(limit: 2 << 20), connectTimeout: 600,
                idleTimeout: 600, tls: tls, httpVersions: .http1)
            for round in 0..<8 {
                let tasks = (0..<6).map { _ in Task { try await transport.send(request).data } }
                for _ in 0..<(round * 10) { await Task.yield() }
                tasks[round % 3].cancel()
                for (index, task) in tasks.enumerated() where index != round % 3 {
                    let data = try await task.value
                    #expect(data == body)
                }
                _ = await tasks[round % 3].result
            }
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
            request.pins = SSLPinningPolicy.PinSet(publicKeyHashes: [
                "sha256/" + String(repeating: "A", count: 43) + "="
            ])
            await #expect(throws: (any Error).self) { try await transport.send(request) }
            request.pins = nil
            request.tls.minimumVersion = .tls13
            _ = try await transport.send(request)
            #expect(server.requests.count == 2 && server.connectionCount == 3)
            await transport.shutdown()
        }
    }
}

/// What the engine remembers of servers over TLS.
@Suite(.throttled, .timeLimit(.minutes(15)))
struct HTTP1ServersTests {
    private static func origin(_ number: Int = 0) throws -> Origin {
        try #require(URL(string: "https://server\(number).test/").flatMap { Origin($0) })
    }

    @Test func aConnectionIsPaidOnce() throws {
        let (servers, origin) = (HTTP1Servers(price: 2), try Self.origin())
        #expect(!servers.contains(origin) && !servers.pays(for: origin))
        servers.note(origin, speaks: "http/1.1")
        #expect(servers.contains(origin) && !servers.pays(for: origin))
        servers.note(origin, speaks: "http/1.1")
        #expect(servers.pays(for: origin))
        #expect(servers.contains(origin) && !servers.pays(for: origin))
    }

    @Test(arguments: ["h2", "http/1.0", nil])
    func aServerThatSpeaksAnotherVersionIsForgotten(version: String?) throws {
        let (servers, origin) = (HTTP1Servers(price: 1), try Self.origin())
        servers.note(origin, speaks: "http/1.1")
        servers.note(origin, speaks: version)
        #expect(!servers.contains(origin) && !servers.pays(for: origin))
    }

    @Test func theMemoryIsBounded() throws {
        let servers = HTTP1Servers(price: 1)
        for number in 0..<10_000 { servers.note(try Self.origin(number), speaks: "http/1.1") }
        let known = try (0..<10_000).filter { servers.contains(try Self.origin($0)) }
        #expect(known.count <= 256 && known.contains(9_999))
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
