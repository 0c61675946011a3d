// SPDX-License-Identifier: MIT

import PulseConformance
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct MockTransportConformanceTests {
    static let conformance = TransportConformance.mockTransport

    @Test(arguments: conformance.cases)
    func keeps(_ promise: TransportConformance.Case) async throws {
        if case .excluded(let reason) = try await Self.conformance.run(promise) {
            withKnownIssue("excluded: \(reason)") { Issue.record("not run") }
        }
    }
}
