// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

@testable import PulseGraphQL

/// Subscriptions of a hostile server, and buffers that are full.
@Suite(.tags(.threads), .throttled)
struct SubscriptionHostileTests {
    private typealias Wire = SubscriptionWire

    @Test(
        "Violations",
        arguments: [
            "[]", "{", "", "null", #"{"id":"1"}"#, #"{"type":1}"#, #"{"type":"data","id":"1"}"#, #"{"type":"next"}"#,
            #"{"type":"next","id":"","payload":{}}"#, #"{"type":"next","id":1,"payload":{}}"#,
            #"{"type":"next","id":"1"}"#, #"{"type":"next","id":"1","payload":[]}"#,
            #"{"type":"next","id":"1","payload":null}"#, #"{"type":"complete"}"#, #"{"type":"connection_ack"}"#,
        ])
    func whatIsNoMessageEndsAll(text: String) async throws {
        let (client, transport) = Wire.client { wire in
            try await wire.greet()
            _ = try await wire.expect("subscribe")
            _ = try await wire.expect("subscribe")
            try await wire.send(text)
            try await wire.untilClosed()
        }
        async let first = client.subscribe(Ticks()).all()
        async let second = client.subscribe(Ticks()).all()
        for error in [await first.error, await second.error] {
            guard case .socketClosed(4400, let reason)? = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(reason.hasPrefix("no message of graphql-transport-ws: ") && reason.utf8.count <= 123)
        }
        while transport.sockets.contains(where: \.isOpen) { await Task.yield() }
        #expect(transport.sockets.map(\.closeReceived?.code) == [4400])
        await client.shutdown()
    }

    /// An error that says nothing readable ends its operation and not the others.
    @Test(arguments: ["[]", "{}", "7", "null", #"[{"message":7}]"#, "[null]", #"[{"code":"x"}]"#])
    func anErrorWithoutATextEndsItsOperationOnly(payload: String) async throws {
        let (client, _) = Wire.client { wire in
            try await wire.greet()
            let first = try await wire.expect("subscribe").id
            let second = try await wire.expect("subscribe").id
            try await wire.send(#"{"id":"\#(first)","type":"error","payload":\#(payload)}"#)
            try await wire.next(second, 7)
            try await wire.complete(second)
            try await wire.untilClosed()
        }
        async let one = client.subscribe(Ticks()).all()
        async let other = client.subscribe(Ticks()).all()
        let results = [await one, await other].sorted { $0.0.count < $1.0.count }
        guard case .graphQL(let errors)? = results[0].error else {
            Issue.record("\(String(describing: results[0].error))")
            return
        }
        #expect(errors.map(\.message) == [""])
        #expect(results[1].0 == [7] && results[1].error == nil)
        await client.shutdown()
    }

    @Test(arguments: [#"{"type":"next","id":"1","payload":{}}"#, "binary"])
    func violationsBeforeTheAcknowledgementEndAll(text: String) async throws {
        let (client, transport) = Wire.client { wire in
            try await wire.expect("connection_init")
            try await wire.socket.send(text == "binary" ? .binary(Data([1])) : .text(text))
            try await wire.untilClosed()
        }
        guard case .socketClosed(4400, _)? = await client.subscribe(Ticks()).all().error else {
            Issue.record("no end")
            return
        }
        while transport.sockets.contains(where: \.isOpen) { await Task.yield() }
        #expect(transport.sockets.map(\.closeReceived?.code) == [4400])
        await client.shutdown()
    }

    /// Its pongs do not pile up.
    @Test func aFloodOfPingsIsBounded() async throws {
        let waiting = Locked(0)
        let isOver = Locked(false)
        let (client, _) = Wire.client { wire in
            defer { isOver.withLock { $0 = true } }
            try await wire.greet()
            let (id, _) = try await wire.expect("subscribe")
            // It reads nothing meanwhile.
            for _ in 0..<5_000 { try await wire.send(#"{"type":"ping"}"#) }
            try await wire.complete(id)
            var pongs = 0
            while let message = try await wire.receive() { pongs += message["type"] == "pong" ? 1 : 0 }
            waiting.withLock { $0 = pongs }
        }
        #expect(await client.subscribe(Ticks()).all().error == nil)
        await client.shutdown()
        while !isOver.withLock({ $0 }) { await Task.yield() }
        // None if the server has met an error.
        #expect((1..<5_000).contains(waiting.withLock { $0 }))
    }

    @Test func aHugeMessageEndsAll() async throws {
        let (client, _) = Wire.client { wire in
            try await wire.greet()
            let (id, _) = try await wire.expect("subscribe")
            try await wire.send(
                #"{"id":"\#(id)","type":"next","payload":{}}"# + String(repeating: " ", count: 16 << 20))
            try await wire.untilClosed()
        }
        guard case .socketClosed(1009, _)? = await client.subscribe(Ticks()).all().error else {
            Issue.record("no end")
            return
        }
        await client.shutdown()
    }

    /// A buffer has a limit in bytes too: 64 messages of a megabyte would be more.
    @Test(arguments: [false, true])
    func aFloodOfLargeMessagesIsBounded(dropsOldest: Bool) async throws {
        let (sent, count) = (Locked(0), dropsOldest ? 20 : 25)
        let settings = GraphQLSettings().with(
            \.subscriptionBuffer, value: dropsOldest ? .newest(64) : .holds(64))
        let (client, _) = Wire.client(settings: settings) { wire in
            try await wire.greet()
            let slow = try await wire.expect("subscribe").id
            try await wire.next(slow, 0)
            let other = try await wire.expect("subscribe").id
            let pad = String(repeating: "x", count: 1 << 20)
            for number in 1...count {
                try await wire.send(
                    #"{"id":"\#(slow)","type":"next","payload":{"data":{"number":\#(number)},"extensions":{"a":"\#(pad)"}}}"#
                )
                sent.withLock { $0 += 1 }
            }
            try await wire.complete(other)
            try await wire.complete(slow)
            try await wire.untilClosed()
        }
        var slow = client.subscribe(Ticks()).makeAsyncIterator()
        #expect(try await slow.next()?.data?.number == 0)
        async let other = client.subscribe(Ticks()).all()
        if dropsOldest {
            _ = await other
        } else {
            while sent.withLock({ $0 }) < 16 { await Task.yield() }
            for _ in 0..<1_000 { await Task.yield() }
            #expect(sent.withLock { $0 } < 24)
        }
        var numbers: [Int?] = []
        while let response = try await slow.next() { numbers.append(response.data?.number) }
        #expect(numbers == (dropsOldest ? 5...20 : 1...25).map { $0 })
        await client.shutdown()
    }

    @Test func aFullBufferHoldsTheSocket() async throws {
        let sent = Locked(0)
        let settings = GraphQLSettings().with(\.subscriptionBuffer, value: .holds(3))
        let (client, _) = Wire.client(settings: settings) { wire in
            try await wire.greet()
            let slow = try await wire.expect("subscribe").id
            try await wire.next(slow, 0)
            let other = try await wire.expect("subscribe").id
            for number in 1..<4_000 {
                try await wire.next(slow, number)
                sent.withLock { $0 += 1 }
            }
            try await wire.next(other, 7)
            try await wire.complete(slow)
            try await wire.untilClosed()
        }
        var slow = client.subscribe(Ticks()).makeAsyncIterator()
        #expect(try await slow.next()?.data?.number == 0)
        async let other = client.subscribe(Ticks()).first()
        // What is not read stays at the server, but for what is on the way.
        for _ in 0..<2_000 { await Task.yield() }
        #expect(sent.withLock { $0 } < 4_000)
        var numbers: [Int?] = []
        while let response = try await slow.next() { numbers.append(response.data?.number) }
        #expect(numbers == (1..<4_000).map { $0 })
        #expect(try await other?.data?.number == 7)
        await client.shutdown()
    }

    @Test func cancellingTheSlowOneLetsTheOthersGoOn() async throws {
        let settings = GraphQLSettings().with(\.subscriptionBuffer, value: .holds(1))
        let (client, _) = Wire.client(settings: settings) { wire in
            try await wire.greet()
            let slow = try await wire.expect("subscribe").id
            try await wire.next(slow, 0)
            let other = try await wire.expect("subscribe").id
            for number in 1..<3 { try await wire.next(slow, number) }
            try await wire.next(other, 7)
            #expect(try await wire.expect("complete").id == slow)
            try await wire.complete(other)
            try await wire.untilClosed()
        }
        let slow = client.subscribe(Ticks())
        var reader = slow.makeAsyncIterator()
        #expect(try await reader.next()?.data?.number == 0)
        // To its end: a reader that left after the first response would tell the server so, perhaps before the slow one.
        async let other = client.subscribe(Ticks()).all()
        while client.features[SubscriptionHubs.self].hub(at: "/graphql").count < 2 { await Task.yield() }
        slow.cancel()
        let (numbers, error) = await other
        #expect(numbers == [7] && error == nil)
        do {
            _ = try await reader.next()
            Issue.record("not cancelled")
        } catch PulseError.cancelled {
        }
        await client.shutdown()
    }

    @Test func aBufferOfTheNewestDropsTheOldest() async throws {
        let bus = PulseEventBus()
        let warnings = Task { [events = bus.events] in
            for await event in events {
                if case .warning(let text) = event { return text }
            }
            return ""
        }
        let settings = GraphQLSettings().with(\.subscriptionBuffer, value: .newest(3))
        let (client, _) = Wire.client(settings: settings, events: bus) { wire in
            try await wire.greet()
            let slow = try await wire.expect("subscribe").id
            try await wire.next(slow, 0)
            let other = try await wire.expect("subscribe").id
            for number in 1...10 { try await wire.next(slow, number) }
            try await wire.complete(slow)
            try await wire.complete(other)
            try await wire.untilClosed()
        }
        var slow = client.subscribe(Ticks()).makeAsyncIterator()
        #expect(try await slow.next()?.data?.number == 0)
        // Its end comes after all.
        #expect(await client.subscribe(Ticks()).all().error == nil)
        var numbers: [Int?] = []
        while let response = try await slow.next() { numbers.append(response.data?.number) }
        #expect(numbers == [8, 9, 10])
        #expect(await warnings.value.contains("Ticks: 7 responses were dropped"))
        await client.shutdown()
    }

    /// A full buffer does not hide for ever that the connection is lost.
    @Test func aLossIsToldThoughABufferIsFull() async throws {
        let clock = TestClock(autoAdvances: true)
        let settings = GraphQLSettings().with(\.subscriptionBuffer, value: .holds(1))
        let (client, _) = Wire.client(clock: clock, settings: settings) { wire in
            try await wire.greet()
            let slow = try await wire.expect("subscribe").id
            try await wire.next(slow, 0)
            guard wire.socket.request.connection == 0 else { return try await wire.untilClosed() }
            _ = try await wire.expect("subscribe")
            for number in 1...3 { try await wire.next(slow, number) }
            try await wire.socket.run(.reset)
        }
        let subscription = client.subscribe(Ticks())
        let isInterrupted = Locked(false)
        let states = subscription.states
        let watching = Task {
            for await state in states {
                if case .interrupted = state { isInterrupted.withLock { $0 = true } }
            }
        }
        var slow = subscription.makeAsyncIterator()
        #expect(try await slow.next()?.data?.number == 0)
        // What it sends when it leaves shows the loss.
        let other = client.subscribe(Ticks())
        let reading = Task { await other.all() }
        for await state in other.states {
            if case .active = state { break }
        }
        other.cancel()
        _ = await reading.value
        await Wire.pass(clock) { isInterrupted.withLock { $0 } }
        #expect(try await slow.next()?.data?.number == 1)
        #expect(try await slow.next()?.data?.number == 0)
        subscription.cancel()
        await watching.value
        await client.shutdown()
    }

    /// A connection may end just before its reading task begins to wait for room.
    @Test func aWaitThatBeginsAfterTheEndOfTheConnectionEnds() async throws {
        let settings = GraphQLSettings().with(\.subscriptionBuffer, value: .holds(1))
        let (client, _) = Wire.client(settings: settings) { _ in }
        let feed = SubscriptionFeed(client, SubscriptionHub(path: "/"), name: nil, tag: nil) { Data() }
        let wait = try #require(feed.take(Data("{}".utf8)))
        feed.stopWaiting()
        #expect(await wait { true } == false)
        await client.shutdown()
    }
}
