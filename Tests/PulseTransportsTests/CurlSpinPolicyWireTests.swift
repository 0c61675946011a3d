// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.tags(.threads), .timeLimit(.minutes(5)))
struct CurlSpinPolicyWireTests {
    /// Its senders always poll for their responses, as they otherwise do for fast servers.
    static let hasty = TransportConformance("CurlTransport in spin", timeLimit: 60) { connections in
        CurlTransport(connections, library: .system, spin: CurlSpinPolicy(isAlwaysOn: true))
    }

    @Test(.serialized, arguments: hasty.cases)
    func keeps(_ promise: TransportConformance.Case) async throws {
        try await Self.hasty.run(promise)
    }
}
#endif
