// SPDX-License-Identifier: MIT

import PulseCore
import PulseGraphQL
import PulseStorage
import PulseTesting
import TestSupport
import Testing

/// Twenty subscriptions that come and go over one socket that breaks at random points. A hundredth of `PULSE_STEPS`
/// connections break.
@Suite(.tags(.alone, .threads), .serialized, .throttled)
struct SubscriptionScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 2_000

    @Test(arguments: [false, true])
    func cutsLoseNothingInSilence(isWire: Bool) async throws {
        var (cuts, seed) = (0, UInt64(0))
        while cuts < Self.steps / 100 {
            let schedule = SubscriptionSchedule(seed: seed)
            cuts += isWire ? try await schedule.overWire() : try await schedule.overMemory()
            seed += 1
        }
    }
}

/// Chance comes from the seed; the order in which tasks run does not.
private final class SubscriptionSchedule: Sendable {
    private static let count = 20
    private static let cuts = 25

    private let random: SeededRandomness
    private let seed: UInt64
    private let clock = TestClock(autoAdvances: true)
    /// The connections that have subscribed each subscription.
    private let served = Locked<[Int: [Int]]>([:])
    private let isCalm = Locked(false)

    init(seed: UInt64) {
        (self.seed, random) = (seed, SeededRandomness(seed: seed))
    }

    private func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }

    // MARK: The carriers

    /// Returns the number of cuts.
    func overMemory() async throws -> Int {
        let mock = MockTransport(stubs: [], subprotocols: ["graphql-transport-ws"], clock: clock) {
            try await self.serve(SubscriptionWire(socket: $0))
        }
        let configuration = PulseConfiguration().with(\.baseURL, value: URL(string: "https://api.example.com"))
        return try await run(configuration, over: mock)
    }

    /// Returns the number of cuts.
    func overWire() async throws -> Int {
        try await MockServer.run { server in
            server.onSocket("/graphql", subprotocols: ["graphql-transport-ws"]) {
                try await self.serve(SubscriptionWire(socket: $0))
            }
            let count = try await run(.patient(with: server), over: StandardTransport())
            try await server.wait { $0.openConnectionCount == 0 }
            return count
        }
    }

    // MARK: The server

    /// Serves numbered events: each has the connection, its number there, and the id of its subscription.
    private func serve(_ wire: SubscriptionWire) async throws {
        let connection = wire.socket.request.connection
        if below(8) == 0, !isCalm.withLock({ $0 }) { return try await wire.socket.close(code: 4403) }
        try await wire.greet()
        // Each pong is followed by events and another ping.
        try await wire.send(#"{"type":"ping"}"#)
        var (active, number) = (Set<String>(), 0)
        while let message = try await wire.receive() {
            let id = message["id"]?.stringValue ?? ""
            let key = Int(id) ?? 0
            switch message["type"]?.stringValue ?? "" {
            case "subscribe":
                let isNew = served.withLock { served in
                    defer { served[key, default: []].append(connection) }
                    return served[key]?.contains(connection) != true
                }
                #expect(isNew && !active.contains(id), "\(seed): \(id) was subscribed twice on \(connection)")
                active.insert(id)
            case "complete":
                active.remove(id)
            case "pong":
                try await wire.send(#"{"type":"ping"}"#)
            default:
                Issue.record("\(seed): \(message)")
            }
            for id in active.sorted() where below(2) == 0 {
                number += 1
                try await wire.send(
                    #"{"id":"\#(id)","type":"next","payload":{"data":{"id":\#(id),"c":\#(connection),"n":\#(number)}}}"#
                )
            }
            if below(12) == 0, let id = active.popFirst() {
                try await wire.send(
                    below(2) == 0
                        ? #"{"id":"\#(id)","type":"complete"}"#
                        : #"{"id":"\#(id)","type":"error","payload":[{"message":"no"}]}"#)
                // A late one, which is passed over.
                try await wire.next(id, 1)
            }
        }
    }

    // MARK: The run

    private struct Event: Decodable, Sendable {
        let id: Int, c: Int, n: Int
    }

    private func run(_ configuration: PulseConfiguration, over base: any Transport) async throws -> Int {
        let transport = CuttingTransport(base) { [self] index in
            guard index < Self.cuts else { return CuttingTransport.Cut() }
            var cut = CuttingTransport.Cut()
            if index > 0, below(10) == 0 { cut.refusal = 503 }
            if below(2) == 0 { cut.read = 200 + below(12_000) } else { cut.written = 200 + below(6_000) }
            return cut
        }
        let settings = GraphQLSettings().with(
            \.subscriptionBuffer, value: below(2) == 0 ? .holds(1 + below(4)) : .holds(64))
        let client = ClientStage.client(
            configuration.with(\.graphQL, value: settings).with(\.connectivity, value: ManualConnectivityMonitor()),
            retry: .never, clock: clock, over: transport)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.count {
                group.addTask { [self] in
                    while transport.count.handshakes < Self.cuts {
                        await follow(client)
                        await Task.yield()
                    }
                }
            }
        }
        isCalm.withLock { $0 = true }
        await client.shutdown()
        let count = transport.count
        #expect(count.maxOpen <= 2 && !count.isShared, "\(seed): \(count)")
        #expect(count.open == 0 && count.alive == 0, "\(seed): \(count)")
        return count.cut
    }

    /// One subscription, from its beginning to its end.
    private func follow(_ client: PulseClient) async {
        let subscription = client.subscribe(query: "subscription Events { id c n }", responseType: Event.self)
        let log = Locked<[String]>([])
        let states = subscription.states
        let watching = Task {
            for await state in states { log.withLock { $0.append(state.name) } }
        }
        let limit = below(30)
        var (events, isCancelled) = ([Event](), false)
        do {
            for try await response in subscription {
                guard let event = response.data else { continue }
                #expect(!isCancelled, "\(seed): an event after the end")
                events.append(event)
                if events.count > limit {
                    isCancelled = true
                    if below(2) == 0 { break }
                    subscription.cancel()
                }
            }
        } catch {
            // Else it is refused or cancelled, or fails with the socket.
            if case PulseError.decodingFailed = error { Issue.record("\(seed): an event of another subscription") }
        }
        await watching.value
        check(events, log.withLock { $0 })
    }

    private func check(_ events: [Event], _ states: [String]) {
        #expect(Set(events.map(\.id)).count <= 1, "\(seed): events of another subscription")
        for (event, next) in zip(events, events.dropFirst()) {
            #expect((event.c, event.n) < (next.c, next.n), "\(seed): an event twice, or out of order")
        }
        // Each gap was told: the connections that have delivered are at most as many as the times it was active.
        let active = states.count { $0 == "active" }
        #expect(Set(events.map(\.c)).count <= active, "\(seed): \(states)")
        #expect(states.first == "starting" && states.last?.hasPrefix("ended") == true, "\(seed): \(states)")
        for (state, next) in zip(states, states.dropFirst()) {
            let allowed =
                switch state {
                case "starting": ["active", "ended"]
                case "active": ["interrupted", "ended"]
                default: ["active", "ended"]
                }
            #expect(allowed.contains { next.hasPrefix($0) }, "\(seed): \(states)")
        }
        guard let id = events.first?.id else { return }
        let connections = served.withLock { $0[id] ?? [] }
        // The server may read the rest of a connection that is cut while the next one is open.
        #expect(Set(connections).count == connections.count)
        #expect(Set(events.map(\.c)).isSubset(of: connections))
    }
}
