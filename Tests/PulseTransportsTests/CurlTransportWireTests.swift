// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.tags(.threads, .addresses), .throttled, .timeLimit(.minutes(15)))
struct CurlTransportWireTests {
    static let conformance = TransportConformance.curlTransport

    // Serialized: most of these tests depend on timing, and the machine may have two cores.
    @Test(.serialized, arguments: conformance.cases)
    func curlTransportPasses(_ promise: TransportConformance.Case) async throws {
        try await Self.conformance.run(promise)
    }
}
#endif
