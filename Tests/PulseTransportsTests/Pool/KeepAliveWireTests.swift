// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

/// `Keep-Alive: timeout=n` of a response: how long its server keeps an idle connection.
@Suite(.tags(.threads), .throttled)
struct KeepAliveWireTests {
    enum Engine: CaseIterable {
        case plain, crowded, overTLS, http1OverTLS

        var isOverTLS: Bool { [.overTLS, .http1OverTLS].contains(self) }

        func transport() -> SocketTransport {
            self == .crowded ? SocketTransport(64, few: 0) : SocketTransport(64)
        }
    }

    /// A request that may not be resent keeps a margin of a second.
    @Test(
        arguments: Engine.allCases,
        [
            (nil, false, true), ("timeout=1", false, false), ("timeout=600, max=100", true, true),
            ("max=5, Timeout = 1", false, false), ("timeout=0", true, false), ("timeout=0", false, false),
            ("timeout=60", false, true), ("max=100", false, true), ("timeout=x", false, true),
            ("timeout=99999999999999999999", false, true),
        ] as [(String?, Bool, Bool)])
    func theKeepAliveTimeoutIsRespected(engine: Engine, rule: (value: String?, mayBeResent: Bool, isReused: Bool))
        async throws
    {
        try await MockServer.run(over: engine.isOverTLS) { server, tls in
            server.fallback { _ in .text("response", headers: rule.value.map { ["keep-alive": $0] } ?? [:]) }
            let transport = engine.transport()
            let request = TransportRequest(
                urlRequest: URLRequest(url: server.baseURL), connectTimeout: 600, idleTimeout: 600,
                mayBeResent: rule.mayBeResent, tls: tls, httpVersions: engine == .http1OverTLS ? .http1 : .automatic)
            _ = try await transport.send(request)
            let second = try await transport.send(request)
            #expect(second.timings?.isConnectionReused == rule.isReused)
            #expect(Set(server.requests.map(\.connection)).count == (rule.isReused ? 1 : 2))
            await transport.shutdown()
        }
    }

    @Test(
        arguments: [
            ("Keep-Alive: timeout=5", 5), ("keep-alive:timeout=5\r\n", 5), ("KEEP-ALIVE: max=2,timeout=7", 7),
            ("Keep-Alive: TIMEOUT = 5 , max=1", 5), ("Keep-Alive: timeout=0", 0),
            ("Keep-Alive: timeout=9999999999", 999_999_999),
            ("Keep-Alive: timeout", nil), ("Keep-Alive: timeout=", nil), ("Keep-Alive: timeout=-1", nil),
            ("Keep-Alive: timeout=1.5", nil), ("Keep-Alive: timeout=1=2", nil), ("Keep-Alive: xtimeout=5", nil),
            ("Keep-Alive:", nil), ("Keep-Alives: timeout=5", nil), ("K", nil), ("", nil), ("Kind: timeout=5", nil),
        ] as [(String, TimeInterval?)])
    func aKeepAliveFieldIsParsedLeniently(line: String, seconds: TimeInterval?) {
        #expect(Array(line.utf8).withUnsafeBytes { KeepAliveTimeout.seconds(in: $0) } == seconds)
    }
}
#endif
