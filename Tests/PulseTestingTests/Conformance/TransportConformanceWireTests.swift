// SPDX-License-Identifier: MIT

import PulseConformance
import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

/// The list's part for sockets must detect defects, too.
@Suite(.tags(.threads), .throttled)
struct TransportConformanceWireTests {
    @Test(.serialized, arguments: Defect.ofTheWire)
    func noticesATransportThat(_ defect: Defect) async throws {
        let conformance = TransportConformance("Faulty", timeLimit: 2) { connections in
            FaultyTransport(base: Self.transport(maxConnectionsPerHost: connections), fault: defect.fault)
        }
        for name in defect.noticedBy {
            try await expectFailure(ofCaseNamed: name, in: conformance)
        }
    }

    /// A transport that survives truncated header fields: a case that times out ends its server within them.
    private static func transport(maxConnectionsPerHost connections: Int) -> any Transport {
        StandardTransport(PulseConfiguration().with(\.maxConnectionsPerHost, value: connections))
    }

    @Test func noticesATransportWithoutAConnectionLimit() async throws {
        let conformance = TransportConformance("Faulty") { _ in URLSessionTransport(maxConnectionsPerHost: 64) }
        try await expectFailure(ofCaseNamed: "no host gets more connections than its limit", in: conformance)
    }

    @Test func noticesATransportThatForgetsToShutDown() async throws {
        let kept = URLSessionTransport()
        let conformance = TransportConformance("Faulty", timeLimit: 1) { _ in Immortal(base: kept) }
        try await expectFailure(ofCaseNamed: "a shutdown closes every connection", in: conformance)
        try await expectFailure(ofCaseNamed: "after a shutdown nothing is sent", in: conformance)
        await kept.shutdown()
    }

    private struct Immortal: Transport {
        let base: any Transport

        func send(_ request: TransportRequest) async throws -> PulseResponse { try await base.send(request) }
    }

    private func expectFailure(ofCaseNamed name: String, in conformance: TransportConformance) async throws {
        let promise = try #require(conformance.cases.first { $0.name.hasPrefix(name) }, "\(name)")
        var failure: TransportConformance.Failure?
        // A server keeps an idle connection for a second: a pass proves nothing if the machine stalled that long.
        for _ in 0..<30 where failure == nil {
            do {
                try await conformance.run(promise)
            } catch let error as TransportConformance.Failure {
                failure = error
            }
        }
        #expect(failure?.reason.contains("unexpected error") == false, "\(name): \(failure?.reason ?? "not noticed")")
    }
}
