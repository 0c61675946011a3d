// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

/// All requests go through libcurl, as they otherwise do with TLS or a proxy.
@Suite(.tags(.threads), .timeLimit(.minutes(5)))
struct CurlAloneWireTests {
    static let conformance = TransportConformance("CurlTransport, all of it by libcurl", timeLimit: 60) { connections in
        CurlTransport(connections, library: .system, leavesAllToCurl: true)
    }

    @Test(.serialized, arguments: conformance.cases)
    func libcurlAlonePasses(_ promise: TransportConformance.Case) async throws {
        try await Self.conformance.run(promise)
    }
}

/// The loop always sends and reads for cleartext senders, as it otherwise does with many exchanges under way.
@Suite(.tags(.threads), .timeLimit(.minutes(5)))
struct CurlCrowdWireTests {
    static let conformance = TransportConformance("CurlTransport in a crowd", timeLimit: 60) { connections in
        CurlTransport(connections, library: .system, few: 0)
    }

    @Test(.serialized, arguments: conformance.cases)
    func exchangesSentByTheLoopPass(_ promise: TransportConformance.Case) async throws {
        try await Self.conformance.run(promise)
    }
}
#endif
