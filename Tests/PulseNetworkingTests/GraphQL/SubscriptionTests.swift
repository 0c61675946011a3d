// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

@testable import PulseGraphQL

/// Subscriptions over sockets in memory: the protocol.
@Suite(.tags(.threads), .throttled)
struct SubscriptionTests {
    private typealias Wire = SubscriptionWire

    @Test func aSubscriptionRunsToItsEnd() async throws {
        let settings = GraphQLSettings().with(\.connectionPayload, value: { ["token": "t1"] })
        let clock = TestClock()
        let (client, transport) = Wire.client(clock: clock, settings: settings) { wire in
            #expect(try await wire.greet() == ["token": "t1"])
            let (id, payload) = try await wire.expect("subscribe")
            // The call's encoder writes the variables, and nothing else.
            #expect(
                payload == [
                    "query": .string(Ticks.document), "operationName": "Ticks", "variables": ["room_name": "tea"],
                ])
            for number in 1...3 { try await wire.next(id, number) }
            try await wire.complete(id)
            try await wire.untilClosed()
        }
        let subscription = client.subscribe(
            Ticks(
                options: RequestOptions().with(\.encoder, value: .json { $0.keyEncodingStrategy = .convertToSnakeCase })
            ))
        let states = subscription.allStates()
        let (numbers, error) = await subscription.all()
        #expect(numbers == [1, 2, 3] && error == nil)
        #expect(await states.value == ["starting", "active", "ended"])
        // The socket lingers, and then closes well.
        await Wire.pass(clock) { transport.sockets.allSatisfy { !$0.isOpen } }
        #expect(transport.sockets.map(\.closeReceived?.code) == [1000])
        await client.shutdown()
    }

    @Test func nothingStartsWithoutAReader() async throws {
        let (client, transport) = Wire.client { _ in Issue.record("a socket") }
        let subscription = client.subscribe(Ticks())
        let states = subscription.allStates()
        subscription.cancel()
        #expect(await states.value.last == "ended cancelled")
        guard case .cancelled? = await subscription.all().error else {
            Issue.record("not cancelled")
            return
        }
        #expect(transport.sockets.isEmpty)
        await client.shutdown()
    }

    @Test func subscriptionsShareASocket() async throws {
        let (client, transport) = Wire.client { wire in
            try await wire.greet()
            let first = try await wire.expect("subscribe").id
            try await wire.next(first, 10)
            let second = try await wire.expect("subscribe").id
            let third = try await wire.expect("subscribe").id
            for (id, number) in [(third, 30), (first, 11), (second, 20), (second, 21)] {
                try await wire.next(id, number)
            }
            // The first one leaves: the others go on.
            #expect(try await wire.expect("complete").id == first)
            try await wire.next(first, 99)
            try await wire.send(#"{"id":"\#(second)","type":"error","payload":[{"message":"no","path":["a",0]}]}"#)
            try await wire.next(second, 99)
            try await wire.next(third, 31)
            try await wire.complete(third)
            for id in [third, "77", "x"] { try await wire.next(id, 99) }
            try await wire.untilClosed()
        }
        var first: GraphQLSubscription.Iterator? = client.subscribe(Ticks()).makeAsyncIterator()
        #expect(try await first?.next()?.data?.number == 10)
        async let second = client.subscribe(Ticks()).all()
        while client.features[SubscriptionHubs.self].hub(at: "/graphql").count < 2 { await Task.yield() }
        async let third = client.subscribe(Ticks()).all()
        #expect(try await first?.next()?.data?.number == 11)
        first = nil
        let (numbers, error) = await second
        #expect(numbers == [20, 21])
        guard case .graphQL(let errors)? = error else {
            Issue.record("no error")
            return
        }
        #expect(errors.map(\.message) == ["no"] && errors.map(\.path) == [["a", 0]])
        let (others, end) = await third
        #expect(others == [30, 31] && end == nil)
        #expect(transport.sockets.count == 1)
        await client.shutdown()
    }

    @Test func aResponseMayHaveNoData() async throws {
        let (client, _) = Wire.client { wire in
            try await wire.greet()
            let (id, _) = try await wire.expect("subscribe")
            for payload in [
                #"{"data":null,"errors":[{"message":"a"}]}"#, #"{"data":{"number":2},"errors":[{"message":"b"}]}"#,
                #"{"data":null}"#, #"{"data":{"number":"x"},"errors":[{"message":"c"}],"extensions":{"e":1}}"#,
            ] {
                try await wire.send(#"{"id":"\#(id)","type":"next","payload":\#(payload)}"#)
            }
            try await wire.complete(id)
            try await wire.untilClosed()
        }
        var responses: [GraphQLResponse<Ticks.Value>] = []
        for try await response in client.subscribe(Ticks()) { responses.append(response) }
        #expect(responses.map(\.data?.number) == [nil, 2, nil, nil])
        #expect(responses.map { $0.errors.map(\.message) } == [["a"], ["b"], [], ["c"]])
        #expect(responses.map(\.extensions) == [[:], [:], [:], ["e": 1]])
        await client.shutdown()
    }

    @Test func aResponseThatDoesNotDecodeEndsNothing() async throws {
        let (client, _) = Wire.client { wire in
            try await wire.greet()
            let (id, _) = try await wire.expect("subscribe")
            try await wire.send(#"{"id":"\#(id)","type":"next","payload":{"data":{"number":"x"}}}"#)
            try await wire.send(#"{"id":"\#(id)","type":"next","payload":{"data":{]}}"#)
            try await wire.send(#"{"id":"\#(id)","type":"next","payload":{}}"#)
            try await wire.next(id, 4)
            try await wire.untilClosed()
        }
        var reader = client.subscribe(Ticks()).makeAsyncIterator()
        var texts: [String] = []
        for _ in 0..<3 {
            do {
                _ = try await reader.next()
                Issue.record("a response")
            } catch let error as PulseError {
                #expect(error.kind == .decodingFailed)
                texts.append(error.description)
            }
        }
        #expect(texts.first?.contains("(a response of a subscription, ") == true, "\(texts)")
        #expect(texts.first?.contains(" bytes, GET https://") == true, "\(texts)")
        #expect(try await reader.next()?.data?.number == 4)
        await client.shutdown()
    }

    @Test func pingsAreAnswered() async throws {
        let (client, _) = Wire.client { wire in
            try await wire.send(#"{"type":"ping"}"#)
            // Before the acknowledgement too, in any order with the beginning.
            let first = [try await wire.receive(), try await wire.receive()].compactMap { $0?["type"]?.stringValue }
            #expect(Set(first) == ["connection_init", "pong"])
            try await wire.send(#"{"type":"connection_ack","payload":{"a":1}}"#)
            let (id, _) = try await wire.expect("subscribe")
            try await wire.send(#"{"type":"ping","payload":{"a":1}}"#)
            try await wire.expect("pong")
            try await wire.send(#"{"type":"pong"}"#)
            try await wire.complete(id)
            try await wire.untilClosed()
        }
        #expect(await client.subscribe(Ticks()).all().error == nil)
        await client.shutdown()
    }
}
