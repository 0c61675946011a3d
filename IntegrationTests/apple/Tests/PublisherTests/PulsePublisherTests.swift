// SPDX-License-Identifier: MIT

import Combine
import PulseKit
import PulseTesting
import Testing

@Suite(.timeLimit(.minutes(15)))
struct PulsePublisherTests {
    private struct GetName: Endpoint, Hashable {
        typealias Response = String
        var path: String { "/name" }
    }

    private typealias NameProbe = Probe<String, PulseError>

    private let transport = MockTransport(stubs: [Stub(.get, "/name").reply(.text("Ada"))])
    private let client: PulseClient

    init() throws {
        client = PulseClient(
            baseURL: try #require(URL(string: "https://api.example.com")), transport: transport,
            events: PulseEventBus())
    }

    /// A client that never ends a call by itself.
    private static func patient(_ server: MockServer) -> PulseClient {
        PulseClient.Builder().baseURL(server.baseURL).timeout(3_600).events(PulseEventBus()).build()
    }

    // MARK: Demand

    @Test func eachSubscriptionIsOneCallAndAPublisherAloneIsNone() async {
        let publisher = client.publisher(for: GetName())
        await turns()
        #expect(transport.requests.isEmpty)
        let probes = (0..<2).map { _ in NameProbe(.unlimited) }
        for probe in probes { publisher.subscribe(probe) }
        await eventually { probes.allSatisfy { $0.received.count == 2 } }
        #expect(probes.map(\.received) == [["Ada", "finished"], ["Ada", "finished"]])
        #expect(transport.requests.count == 2)
    }

    @Test func withoutDemandNothingIsSent() async {
        let probe = NameProbe(.none)
        client.publisher(for: GetName()).subscribe(probe)
        await turns()
        #expect(transport.requests.isEmpty && probe.received.isEmpty)
        probe.request(.none)
        await turns()
        #expect(transport.requests.isEmpty)
        // Late, and more than once.
        for demand in [Subscribers.Demand.max(1), .unlimited] { probe.request(demand) }
        await eventually { probe.received.count == 2 }
        probe.request(.unlimited)
        await turns()
        #expect(probe.received == ["Ada", "finished"] && transport.requests.count == 1)
    }

    @Test func aFailureEndsTheSubscription() async {
        let probe = NameProbe(.max(1))
        let options = RequestOptions().with(\.acceptedStatuses, value: .only(418))
        client.publisher(for: GetName(), options: options).subscribe(probe)
        await eventually { !probe.received.isEmpty }
        #expect(probe.received == ["http"])
    }

    @Test func aSubscriberNeedNotKeepItsSubscription() async {
        let probe = NameProbe(.unlimited, keepsSubscription: false)
        client.publisher(for: GetName()).subscribe(probe)
        await eventually { probe.received.count == 2 }
        #expect(probe.received == ["Ada", "finished"])
    }

    @Test func aSubscriberIsReleasedAtTheEnd() async {
        weak var last: NameProbe?
        for isCancelled in [false, true] {
            let probe = NameProbe(isCancelled ? .none : .unlimited)
            client.publisher(for: GetName()).subscribe(probe)
            if isCancelled { probe.cancel() } else { await eventually { probe.received.count == 2 } }
            last = probe
        }
        await eventually { last == nil }
    }

    // MARK: Cancelling

    @Test func cancellingBeforeTheFirstDemandSendsNothing() async {
        let probe = NameProbe(.none)
        client.publisher(for: GetName()).subscribe(probe)
        probe.cancel()
        probe.request(.unlimited)
        await turns()
        #expect(transport.requests.isEmpty && probe.received.isEmpty)
    }

    @Test func cancellingACallClosesItsConnection() async throws {
        try await MockServer.run { server in
            server.on(.get, "/name") { _ in .raw([.stall]) }
            let client = Self.patient(server)
            let probe = NameProbe(.unlimited)
            client.publisher(for: GetName()).subscribe(probe)
            try await server.requests(atLeast: 1)
            probe.cancel()
            try await server.connectionsClosedByClient()
            await turns()
            #expect(probe.received.isEmpty)
            await client.shutdown()
        }
    }

    @Test func releasingTheCancellableCancelsTheCall() async throws {
        try await MockServer.run { server in
            server.on(.get, "/name") { _ in .raw([.stall]) }
            let client = Self.patient(server)
            var calls: Set<AnyCancellable> = []
            client.publisher(for: GetName()).replaceError(with: "").sink { _ in }.store(in: &calls)
            try await server.requests(atLeast: 1)
            calls = []
            try await server.connectionsClosedByClient()
            await client.shutdown()
        }
    }

    @Test func cancellingWhileAValueArrivesPreventsTheEnd() async {
        let probe = NameProbe(.unlimited) { $0.cancel() }
        client.publisher(for: GetName()).subscribe(probe)
        await eventually { !probe.received.isEmpty }
        await turns()
        #expect(probe.received == ["Ada"])
    }

    @Test func cancellingAfterTheEndHasNoEffect() async {
        let probe = NameProbe(.unlimited)
        client.publisher(for: GetName()).subscribe(probe)
        await eventually { probe.received.count == 2 }
        probe.cancel()
        #expect(probe.received == ["Ada", "finished"])
    }

    @Test func aCallThatTheClientCancelsFails() async throws {
        try await MockServer.run { server in
            server.on(.get, "/name") { _ in .raw([.stall]) }
            let client = Self.patient(server)
            let probe = NameProbe(.unlimited)
            client.publisher(for: GetName()).subscribe(probe)
            try await server.requests(atLeast: 1)
            client.cancelAll()
            await eventually { !probe.received.isEmpty }
            #expect(probe.received == ["cancelled"])
            await client.shutdown()
        }
    }

    @Test func manyCancelAtAnyTime() async {
        let random = SeededRandomness(seed: 1)
        var probes: [NameProbe] = []
        for _ in 0..<500 {
            let probe = NameProbe(.unlimited)
            client.publisher(for: GetName()).subscribe(probe)
            let turns = random.next() % 8
            Task {
                for _ in 0..<turns { await Task.yield() }
                probe.cancel()
            }
            probes.append(probe)
        }
        let last = NameProbe(.unlimited)
        client.publisher(for: GetName()).subscribe(last)
        await eventually { last.received.count == 2 }
        // A cancelled subscription gets a part of it, in the same order.
        for probe in probes { #expect(["Ada", "finished"].starts(with: probe.received)) }
    }

    // MARK: Operators

    @Test func aValueIsAssigned() async {
        // Unchecked: reached under the lock alone.
        final class Label: @unchecked Sendable {
            private let lock = NSLock()
            private var value = ""
            var text: String {
                get { lock.withLock { value } }
                set { lock.withLock { value = newValue } }
            }
        }
        let label = Label()
        let assignment = client.publisher(for: GetName()).map { $0.uppercased() }.replaceError(with: "unknown")
            .assign(to: \.text, on: label)
        await eventually { label.text == "ADA" }
        assignment.cancel()
    }
}
