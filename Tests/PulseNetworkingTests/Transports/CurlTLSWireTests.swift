// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseTesting
import Testing

@testable import PulseNetworking

/// HTTP/1.1 over TLS, all of which goes through libcurl and the system's libssl.
@Suite(.timeLimit(.minutes(5)))
struct CurlTLSWireTests {
    static let conformance = TransportConformance.curlTransportOverTLS

    @Test(.serialized, arguments: conformance.cases)
    func keeps(_ promise: TransportConformance.Case) async throws {
        try await Self.conformance.run(promise)
    }
}
#endif
