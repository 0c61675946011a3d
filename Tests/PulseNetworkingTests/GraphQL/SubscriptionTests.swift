// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

@testable import PulseNetworking

/// Subscriptions over sockets in memory: what an application sees, and what its server.
@Suite(.tags(.threads), .throttled, .timeLimit(.minutes(5)))
struct SubscriptionTests {
    private typealias Wire = SubscriptionWire

    private static func error(_ body: () async throws -> Void) async -> PulseError? {
        do {
            try await body()
            return nil
        } catch {
            return PulseError(wrapping: error)
        }
    }

    // MARK: The protocol

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
        while client.subscriptions.hub(at: "/graphql").count < 2 { await Task.yield() }
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
        for _ in 0..<3 {
            do {
                _ = try await reader.next()
                Issue.record("a response")
            } catch PulseError.decodingFailed {
            }
        }
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

    // MARK: Losses

    @Test func aCutIsToldAndTheSubscriptionComesBack() async throws {
        let payloads = Locked<[JSONValue?]>([])
        let count = Locked<Int64>(0)
        let settings = GraphQLSettings().with(
            \.connectionPayload,
            value: {
                let attempt = count.withLock { count -> Int64 in
                    count += 1
                    return count
                }
                return ["attempt": .integer(attempt)]
            })
        let (client, transport) = Wire.client(settings: settings) { wire in
            let payload = try await wire.greet()
            payloads.withLock { $0.append(payload) }
            let number = payloads.withLock { $0.count }
            let (id, request) = try await wire.expect("subscribe")
            #expect(request?["operationName"] == "Ticks")
            try await wire.next(id, number)
            switch number {
            case 1: try await wire.socket.run(.reset)
            case 2: try await wire.socket.close(code: 1001)
            case 3: try await wire.socket.close(code: 1000)
            default: try await wire.complete(id)
            }
            try await wire.untilClosed()
        }
        let subscription = client.subscribe(Ticks())
        let states = subscription.allStates()
        let (numbers, error) = await subscription.all()
        #expect(numbers == [1, 2, 3, 4] && error == nil)
        #expect(
            await states.value == [
                "starting", "active", "interrupted", "active", "interrupted", "active", "interrupted", "active",
                "ended",
            ])
        #expect(payloads.withLock { $0 } == (1...4).map { ["attempt": .integer($0)] })
        #expect(transport.sockets.count == 4)
        await client.shutdown()
    }

    @Test(
        "Close codes", arguments: [4004, 4005, 4400, 4401, 4406, 4409, 4429, 4500, 1002, 1003, 1007, 1008, 1009, 1010])
    func aCodeEndsAll(code: Int) async throws {
        let (client, transport) = Wire.client { wire in
            try await wire.greet()
            _ = try await wire.expect("subscribe")
            _ = try await wire.expect("subscribe")
            try await wire.socket.close(code: code, reason: "why")
            try await wire.untilClosed()
        }
        async let first = client.subscribe(Ticks()).all()
        async let second = client.subscribe(Ticks()).all()
        for error in [await first.error, await second.error] {
            guard case .socketClosed(code, "why")? = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        #expect(transport.sockets.count == 1)
        await client.shutdown()
    }

    @Test("Close codes", arguments: [1000, 1001, 1011, 1012, 4403, 4408, 4499, 4504, 4000])
    func aCodeIsFollowedByAnotherConnection(code: Int) async throws {
        let (client, transport) = Wire.client { wire in
            try await wire.greet()
            let (id, _) = try await wire.expect("subscribe")
            if wire.socket.request.connection == 0 {
                try await wire.socket.close(code: code)
            } else {
                try await wire.complete(id)
            }
            try await wire.untilClosed()
        }
        #expect(await client.subscribe(Ticks()).all().error == nil)
        #expect(transport.sockets.count == 2)
        await client.shutdown()
    }

    @Test func threeConnectionsWithoutAcknowledgementEndAll() async throws {
        // One that is acknowledged starts the count again.
        let (client, transport) = Wire.client { wire in
            if wire.socket.request.connection == 2 {
                try await wire.greet()
                _ = try await wire.expect("subscribe")
            } else {
                try await wire.expect("connection_init")
            }
            try await wire.socket.close(code: 4403, reason: "Forbidden")
            try await wire.untilClosed()
        }
        let subscription = client.subscribe(Ticks())
        let states = subscription.allStates()
        guard case .socketClosed(4403, "Forbidden")? = await subscription.all().error else {
            Issue.record("no end")
            return
        }
        #expect(await states.value == ["starting", "active", "interrupted", "ended socketClosed"])
        #expect(transport.sockets.count == 6)
        await client.shutdown()
    }

    @Test func aServerThatDoesNotAcknowledgeIsLeft() async throws {
        let clock = TestClock(autoAdvances: true)
        let (client, transport) = Wire.client(clock: clock) { wire in
            try await wire.untilClosed()
        }
        let subscription = client.subscribe(Ticks())
        let reading = Task { await subscription.all() }
        let ended = Locked(false)
        let states = subscription.states
        Task {
            for await _ in states {}
            ended.withLock { $0 = true }
        }
        await Wire.pass(clock) { ended.withLock { $0 } }
        guard case .socketClosed(4504, _)? = await reading.value.error else {
            Issue.record("no end")
            return
        }
        #expect(transport.sockets.map(\.closeReceived?.code) == [4504, 4504, 4504])
        await client.shutdown()
    }

    @Test func aPayloadThatFailsFailsTheAttempt() async throws {
        struct NoToken: Error {}
        let settings = GraphQLSettings().with(\.connectionPayload, value: { throw NoToken() })
        let (client, transport) = Wire.client(settings: settings) { try await $0.untilClosed() }
        guard case .custom(let error)? = await client.subscribe(Ticks()).all().error, error is NoToken else {
            Issue.record("no error")
            return
        }
        #expect(transport.sockets.count == 3)
        await client.shutdown()
    }

    @Test func theFirstHandshakeMustSucceed() async throws {
        let stubs = [Stub().reply(.status(403))]
        let (client, transport) = Wire.client(stubs: stubs) { _ in }
        guard case .http? = await client.subscribe(Ticks()).all().error else {
            Issue.record("no status")
            return
        }
        #expect(transport.requests.count == 1 && transport.sockets.isEmpty)
        await client.shutdown()
    }

    @Test func aServerWithoutTheProtocolIsUnsupported() async throws {
        let (client, transport) = Wire.client(subprotocols: ["graphql-ws"]) { try await $0.untilClosed() }
        for _ in 0..<2 {
            guard case .unsupported? = await client.subscribe(Ticks()).all().error else {
                Issue.record("no error")
                return
            }
        }
        #expect(transport.sockets.count == 2)
        await client.shutdown()
    }

    // MARK: Hostile servers

    @Test(
        "Violations",
        arguments: [
            "[]", "{", "", "null", #"{"id":"1"}"#, #"{"type":1}"#, #"{"type":"data","id":"1"}"#, #"{"type":"next"}"#,
            #"{"type":"next","id":"","payload":{}}"#, #"{"type":"next","id":1,"payload":{}}"#,
            #"{"type":"next","id":"1"}"#, #"{"type":"next","id":"1","payload":[]}"#,
            #"{"type":"next","id":"1","payload":null}"#, #"{"type":"error","id":"1","payload":[]}"#,
            #"{"type":"error","id":"1","payload":{}}"#, #"{"type":"complete"}"#, #"{"type":"connection_ack"}"#,
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
        let (client, _) = Wire.client { wire in
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
        while waiting.withLock({ $0 }) == 0 { await Task.yield() }
        #expect(waiting.withLock { $0 } < 5_000)
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
        let sent = Locked(0)
        let settings = GraphQLSettings().with(
            \.subscriptionBuffer, value: dropsOldest ? .newest(64) : .holds(64))
        let (client, _) = Wire.client(settings: settings) { wire in
            try await wire.greet()
            let slow = try await wire.expect("subscribe").id
            try await wire.next(slow, 0)
            let other = try await wire.expect("subscribe").id
            let space = String(repeating: " ", count: 1 << 20)
            for number in 1...40 {
                try await wire.send(
                    #"{"id":"\#(slow)","type":"next","payload":{"data":{"number":\#(number)}\#(space)}}"#)
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
        #expect(numbers == (dropsOldest ? 25...40 : 1...40).map { $0 })
        await client.shutdown()
    }

    // MARK: Buffers

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
            try await wire.untilClosed()
        }
        let slow = client.subscribe(Ticks())
        var reader = slow.makeAsyncIterator()
        #expect(try await reader.next()?.data?.number == 0)
        async let other = client.subscribe(Ticks()).first()
        while client.subscriptions.hub(at: "/graphql").count < 2 { await Task.yield() }
        slow.cancel()
        #expect(try await other?.data?.number == 7)
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

    // MARK: The application

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
            await started.wait()
            reading.cancel()
        case 2:
            await started.wait()
            subscription.cancel()
        case 3:
            await started.wait()
            client.cancelAll(tag: "other")
            client.cancelAll(tag: "ticks")
        default:
            await started.wait()
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
        let (client, transport) = Wire.client(clock: clock) { wire in
            try await wire.greet()
            while let message = try await wire.receive() {
                guard message["type"] == "subscribe", let id = message["id"]?.stringValue else { continue }
                try await wire.next(id, 1)
                try await wire.complete(id)
            }
            closed.open()
        }
        for _ in 0..<3 {
            #expect(await client.subscribe(Ticks()).all().numbers == [1])
            // Not yet.
            await clock.advance(by: 4)
        }
        #expect(transport.sockets.count == 1 && transport.sockets[0].isOpen)
        await clock.advance(by: 2)
        await closed.wait()
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
        #expect(await warning.value.contains("Ticks: headers"))
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
}
