// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

/// `IntegrationTests/libraries/run` runs it in a process that finds no OpenSSL.
@Suite(.throttled, .enabled(if: !TLSContext.isSupported))
struct MissingOpenSSLTests {
    @Test func httpsSaysWhatIsMissingAndConnectsToNothing() async throws {
        try await MockServer.run { server in
            let transport = SocketTransport()
            #expect(!transport.capabilities.contains(.tls) && !transport.capabilities.contains(.pinning))
            let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
            let request = TransportRequest(
                urlRequest: URLRequest(url: url), connectTimeout: 600, idleTimeout: 600, proxy: .direct)
            let error = await #expect(throws: PulseError.self) { try await transport.send(request) }
            #expect(error?.kind == .unsupported && "\(error.map { "\($0)" } ?? "")".contains("libssl"))
            #expect(server.connectionCount == 0)
            await transport.shutdown()
        }
    }
}
#endif
