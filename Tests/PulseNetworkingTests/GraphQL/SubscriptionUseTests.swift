// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

@testable import PulseCalls
@testable import PulseGraphQL

/// Subscriptions as an application starts, ends and sets them.
@Suite(.tags(.threads), .throttled)
struct SubscriptionUseTests {
    private typealias Wire = SubscriptionWire

    private static func error(_ body: () async throws -> Void) async -> PulseError? {
        do {
            try await body()
            return nil
        } catch {
            return PulseError(wrapping: error)
        }
    }

    @Test func whatIsNoSubscriptionIsRefused() async throws {
        let (client, transport) = Wire.client { _ in Issue.record("a socket") }
        let queries = [
            "query A { a }", "{ a }", "mutation A { a }", "", "subscription A { a } subscription B { b }",
            "subscription A {",
        ]
        for query in queries {
            guard
                case .invalidRequest? = await client.subscribe(query: query, responseType: Ticks.Value.self).all().error
            else {
                Issue.record("\(query)")
                continue
            }
        }
        guard
            case .invalidRequest? = await Self.error({
                _ = try await client.graphQL(query: Ticks.document, responseType: JSONValue.self)
            })
        else {
            Issue.record("a subscription by request")
            return
        }
        #expect(transport.requests.isEmpty)
        await client.shutdown()
    }

    @Test func settingsAreChecked() async throws {
        let all = [
            GraphQLSettings().with(\.acknowledgeTimeout, value: 0), GraphQLSettings().with(\.pingInterval, value: -1),
            GraphQLSettings().with(\.lingers, value: .nan),
            GraphQLSettings().with(\.subscriptionBuffer, value: .holds(0)),
            GraphQLSettings().with(\.subscriptionBuffer, value: .newest(-1)),
        ]
        for settings in all {
            let (client, transport) = Wire.client(settings: settings) { _ in }
            guard case .invalidRequest? = await client.subscribe(Ticks()).all().error else {
                Issue.record("\(settings)")
                continue
            }
            #expect(transport.requests.isEmpty)
            await client.shutdown()
        }
    }

    @Test func itHasOneReader() async throws {
        let (client, _) = Wire.client { wire in
            try await wire.greet()
            let (id, _) = try await wire.expect("subscribe")
            try await wire.next(id, 1)
            try await wire.untilClosed()
        }
        let subscription = client.subscribe(Ticks())
        var reader = subscription.makeAsyncIterator()
        #expect(try await reader.next()?.data?.number == 1)
        guard case .invalidRequest? = await subscription.all().error else {
            Issue.record("two readers")
            return
        }
        await client.shutdown()
    }

    @Test(arguments: 0..<5)
    func itEndsWithItsReader(way: Int) async throws {
        let clock = TestClock()
        let (client, transport) = Wire.client(clock: clock) { wire in
            try await wire.greet()
            let (id, _) = try await wire.expect("subscribe")
            try await wire.next(id, 1)
            // Unless the socket closes at once.
            while let message = try await wire.receive() {
                #expect(message["type"] == "complete" && message["id"]?.stringValue == id)
            }
        }
        let subscription = client.subscribe(Ticks(options: RequestOptions().with(\.tag, value: "ticks")))
        let states = subscription.allStates()
        let started = Gate()
        let reading = Task {
            for try await _ in subscription {
                if way == 0 { break }
                started.open()
            }
        }
        switch way {
        case 0: break
        case 1:
            await started.pass()
            reading.cancel()
        case 2:
            await started.pass()
            subscription.cancel()
        case 3:
            await started.pass()
            client.cancelAll(tag: "other")
            client.cancelAll(tag: "ticks")
        default:
            await started.pass()
            await client.shutdown()
        }
        let error = await Self.error { try await reading.value }
        if way == 0 {
            #expect(error == nil)
        } else {
            guard case .cancelled? = error else {
                Issue.record("\(way): \(String(describing: error))")
                return
            }
        }
        #expect(await states.value == ["starting", "active", "ended cancelled"])
        await Wire.pass(clock) { transport.sockets.allSatisfy { !$0.isOpen } }
        await client.shutdown()
        #expect(client.calls.ownerCount == 0)
    }

    @Test func anUnusedSocketLingers() async throws {
        let clock = TestClock()
        let closed = Gate()
        let pongs = Locked(0)
        let (client, transport) = Wire.client(clock: clock) { wire in
            try await wire.greet()
            while let message = try await wire.receive() {
                if message["type"] == "pong" { pongs.withLock { $0 += 1 } }
                guard message["type"] == "subscribe", let id = message["id"]?.stringValue else { continue }
                try await wire.next(id, 1)
                try await wire.complete(id)
                try await wire.send(#"{"type":"ping"}"#)
            }
            closed.open()
        }
        for round in 1...3 {
            #expect(await client.subscribe(Ticks()).all().numbers == [1])
            // The subscription ends before its hub sets the alarm, which is set before the hub replies to the ping.
            while pongs.withLock({ $0 }) < round { await Task.yield() }
            // Not yet.
            await clock.advance(by: 4)
        }
        #expect(transport.sockets.count == 1 && transport.sockets[0].isOpen)
        await clock.advance(by: 2)
        await closed.pass()
        #expect(await client.subscribe(Ticks()).all().numbers == [1])
        #expect(transport.sockets.count == 2)
        await client.shutdown()
    }

    @Test func eachPathHasASocket() async throws {
        let settings = GraphQLSettings().with(\.socketPath, value: "wss://events.example.com/ws")
        let (client, transport) = Wire.client(settings: settings) { wire in
            try await wire.greet()
            while let message = try await wire.receive() {
                guard let id = message["id"]?.stringValue else { continue }
                try await wire.complete(id)
            }
        }
        for path in ["", "/other", "", "/other"] {
            #expect(await client.subscribe(Ticks(path: path)).all().error == nil)
        }
        #expect(
            transport.requests.map(\.url?.absoluteString) == [
                "https://events.example.com/ws", "https://api.example.com/other",
            ])
        await client.shutdown()
    }

    @Test func whatTheSharedSocketCannotHaveIsWarnedOf() async throws {
        let bus = PulseEventBus()
        let warning = Task { [events = bus.events] in
            for await event in events {
                if case .warning(let text) = event { return text }
            }
            return ""
        }
        let (client, transport) = Wire.client(events: bus) { wire in
            try await wire.greet()
            try await wire.complete(try await wire.expect("subscribe").id)
            try await wire.untilClosed()
        }
        #expect(await client.subscribe(Ticks(headers: ["A": "b"])).all().error == nil)
        #expect(await warning.value.contains("Ticks: header fields"))
        #expect(transport.requests.first?.value(forHTTPHeaderField: "A") == nil)
        await client.shutdown()
    }

    @Test func nothingIsKept() async throws {
        weak var client: PulseClient?
        let clock = TestClock()
        do {
            let (own, transport) = Wire.client(clock: clock) { wire in
                try await wire.greet()
                try await wire.complete(try await wire.expect("subscribe").id)
                try await wire.untilClosed()
            }
            client = own
            #expect(await own.subscribe(Ticks()).all().error == nil)
            await Wire.pass(clock) { transport.sockets.allSatisfy { !$0.isOpen } }
        }
        while client != nil { await Task.yield() }
    }

    /// The server does not confirm the close, so that the cancelled socket ends late.
    @Test func aSubscriptionAfterCancelAllHasItsOwnSocket() async throws {
        let release = Gate()
        let (client, transport) = Wire.client { wire in
            try await wire.greet()
            let (id, _) = try await wire.expect("subscribe")
            try await wire.next(id, wire.socket.request.connection)
            if wire.socket.request.connection == 0 { return await release.pass() }
            try await wire.complete(id)
            try await wire.untilClosed()
        }
        var reader = client.subscribe(Ticks()).makeAsyncIterator()
        #expect(try await reader.next()?.data?.number == 0)
        client.cancelAll()
        do {
            _ = try await reader.next()
            Issue.record("not cancelled")
        } catch PulseError.cancelled {
        }
        let (numbers, error) = await client.subscribe(Ticks()).all()
        #expect(numbers == [1] && error == nil && transport.sockets.count == 2)
        release.open()
        await client.shutdown()
    }

    @Test func aPayloadThatNeverComesHoldsNoShutdown() async throws {
        let asked = Gate()
        let settings = GraphQLSettings().with(
            \.connectionPayload,
            value: {
                asked.open()
                try await Task.sleep(nanoseconds: .max)
                return nil
            })
        let (client, _) = Wire.client(settings: settings) { try await $0.untilClosed() }
        let reading = Task { await client.subscribe(Ticks()).all() }
        await asked.pass()
        await client.shutdown()
        guard case .cancelled? = await reading.value.error else {
            Issue.record("not cancelled")
            return
        }
    }
}
