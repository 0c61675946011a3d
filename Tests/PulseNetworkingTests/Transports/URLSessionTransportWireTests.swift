// SPDX-License-Identifier: MIT

import PulseTesting
import Testing

@Suite(.timeLimit(.minutes(2)))
struct URLSessionTransportWireTests {
    static let conformance = TransportConformance.urlSessionTransport

    // One after another: most of them are about timing on a machine that may have two cores.
    @Test(.serialized, arguments: conformance.cases)
    func keeps(_ promise: TransportConformance.Case) async throws {
        if case .excluded(let reason) = try await Self.conformance.run(promise) {
            withKnownIssue("excluded: \(reason)") { Issue.record("not run") }
        }
    }
}
