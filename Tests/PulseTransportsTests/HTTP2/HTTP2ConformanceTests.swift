// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseConformance
import PulseCore
import PulseTesting
import TestSupport
import Testing

@Suite(.tags(.threads), .throttled)
struct HTTP2ConformanceTests {
    static let conformance = TransportConformance.socketTransportOverHTTP2

    @Test(.serialized, arguments: conformance.cases)
    func theTransportKeepsItsPromisesOverHTTP2(_ promise: TransportConformance.Case) async throws {
        if case .excluded(let reason) = try await Self.conformance.run(promise) {
            withKnownIssue("excluded: \(reason)") { Issue.record("not run") }
        }
    }
}
#endif
