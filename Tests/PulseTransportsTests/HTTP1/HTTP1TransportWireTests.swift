// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
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
    static let conformance = TransportConformance.engineOverTLS

    @Test(.serialized, arguments: conformance.cases)
    func theEnginePassesOverTLS(_ promise: TransportConformance.Case) async throws {
        try await Self.conformance.run(promise)
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
