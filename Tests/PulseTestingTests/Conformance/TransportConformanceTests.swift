// SPDX-License-Identifier: MIT

import PulseConformance
import PulseCore
import PulseTesting
import TestSupport
import Testing

/// The list itself: it must detect defects and report exclusions.
@Suite(.throttled)
struct TransportConformanceTests {
    @Test(arguments: Defect.ofSemantics)
    func noticesATransportThat(_ defect: Defect) async throws {
        for name in defect.noticedBy {
            let promise = try #require(TransportConformance.semantics.first { $0.name == name })
            // In time, also for a transport that never ends.
            let conformance = TransportConformance(simulated: "Faulty", timeLimit: 0.3) { respond in
                FaultyTransport(base: MockTransport(respond), fault: defect.fault)
            }
            let failure = await #expect(throws: TransportConformance.Failure.self, "\(name)") {
                try await conformance.run(promise)
            }
            #expect(failure?.promise == name)
            #expect(failure?.reason.contains("unexpected error") == false, "\(failure?.reason ?? "")")
        }
    }

    private static let all = TransportConformance.semantics + TransportConformance.wire + TransportConformance.tls

    @Test func everyCaseHasANameOfItsOwn() {
        let names = Self.all.map(\.name)
        #expect(Set(names).count == names.count)
    }

    @Test func casesHaveTheirPartOfTheList() {
        #expect(TransportConformance.semantics.allSatisfy { $0.kind == .semantics })
        #expect(TransportConformance.wire.allSatisfy { $0.kind == .wire })
        #expect(TransportConformance.tls.allSatisfy { $0.kind == .tls })
    }

    @Test func aTransportWithoutSocketsRunsTheSemanticsOnly() {
        let simulated = TransportConformance(simulated: "Mock") { MockTransport($0) }
        #expect(simulated.cases.map(\.name) == TransportConformance.semantics.map(\.name))
        let real = TransportConformance("Real") { _ in MockTransport(stubs: []) }
        #expect(real.cases.map(\.name) == Self.all.map(\.name))
    }

    @Test func anExcludedCaseIsNotRunAndReportsItsReason() async throws {
        let promise = try #require(TransportConformance.semantics.first)
        let runs = Locked(0)
        let conformance = TransportConformance(simulated: "Mock", exclusions: [promise.name: "because"]) { respond in
            runs.withLock { $0 += 1 }
            return MockTransport(respond)
        }
        #expect(conformance.cases.contains { $0.name == promise.name })
        #expect(try await conformance.run(promise) == .excluded(reason: "because"))
        #expect(runs.withLock { $0 } == 0)
    }

    @Test func anExclusionWithoutACaseFails() async throws {
        let conformance = TransportConformance(simulated: "Mock", exclusions: ["no such case": "because"]) {
            MockTransport($0)
        }
        let promise = try #require(conformance.cases.last)
        #expect(promise.name == "no such case")
        await #expect(throws: TransportConformance.Failure.self) { try await conformance.run(promise) }
    }

    @Test func anExclusionOfAWireCaseFailsForATransportWithoutSockets() async throws {
        let name = try #require(TransportConformance.wire.first?.name)
        let conformance = TransportConformance(simulated: "Mock", exclusions: [name: "because"]) { MockTransport($0) }
        let promise = try #require(conformance.cases.last)
        await #expect(throws: TransportConformance.Failure.self) { try await conformance.run(promise) }
    }

    @Test func aCaseThatNeverEndsFailsInTime() async throws {
        let promise = try #require(TransportConformance.semantics.first)
        let (stream, end) = AsyncStream<Void>.makeStream()
        defer { end.finish() }
        let conformance = TransportConformance(simulated: "Stuck", timeLimit: 0.05) { _ in
            FaultyTransport(base: MockTransport(stubs: [])) { _, request in
                // Ignores cancellation until the case is over.
                await Task.detached { for await _ in stream {} }.value
                return PulseResponse(statusCode: 200, request: request.urlRequest)
            }
        }
        let failure = await #expect(throws: TransportConformance.Failure.self) { try await conformance.run(promise) }
        #expect(failure?.reason.contains("not ended within") == true)
    }

    @Test func reportCountsEveryCaseOnce() async {
        let name = TransportConformance.semantics[0].name
        let conformance = TransportConformance(
            simulated: "Faulty", exclusions: [name: "because", "gone": "because"], timeLimit: 0.3
        ) { respond in
            FaultyTransport(base: MockTransport(respond)) { base, request in
                if request.urlRequest.url?.path == "/a/b" { throw PulseError.noConnection }
                return try await base.send(request)
            }
        }
        let report = await conformance.report()
        #expect(!report.isConforming)
        #expect(report.passed.count + report.excluded.count + report.failures.count == conformance.cases.count)
        #expect(report.excluded.map(\.promise) == [name])
        #expect(report.failures.contains { $0.promise == "gone" })
        #expect(report.failures.contains { $0.promise.hasPrefix("POST is sent unchanged") })
        #expect(report.description.contains("excluded  \(name): because"))
    }
}
