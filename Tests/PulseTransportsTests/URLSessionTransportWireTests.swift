// SPDX-License-Identifier: MIT

import PulseTesting
import TestSupport
import Testing

@Suite(.tags(.threads, .addresses), .timeLimit(.minutes(5)))
struct URLSessionTransportWireTests {
    static let conformance = TransportConformance.urlSessionTransport

    // One after another: most of them are about timing on a machine that may have two cores.
    @Test(.serialized, arguments: conformance.cases)
    func keeps(_ promise: TransportConformance.Case) async throws {
        if case .excluded(let reason) = try await Self.conformance.run(promise) {
            withKnownIssue("excluded: \(reason)") { Issue.record("not run") }
        }
    }

    #if canImport(FoundationNetworking)
    static let streaming = TransportConformance.streamingURLSessionTransport
    /// Without a body that has no end: Foundation on Linux cannot hold it back, and hears of a cancel when it likes.
    private static let deliveries = streaming.cases.filter { promise in
        ["stream", "file", "download", "error in place"].contains { promise.name.contains($0) }
            && promise.name != "an abandoned stream closes the connection"
    }

    @Test(.serialized, arguments: deliveries)
    func keepsWhereItStreams(_ promise: TransportConformance.Case) async throws {
        if case .excluded(let reason) = try await Self.streaming.run(promise) {
            withKnownIssue("excluded: \(reason)") { Issue.record("not run") }
        }
    }
    #endif
}
