// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

@testable import PulseCalls
@testable import PulseGraphQL

/// Subscriptions over sockets in memory that are lost or refused.
@Suite(.tags(.threads), .throttled)
struct SubscriptionLossTests {
    private typealias Wire = SubscriptionWire

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

    /// A server may say so itself, by a close frame that comes with the response.
    @Test func aServerThatClosesWithoutTheProtocolIsUnsupported() async throws {
        let (client, _) = Wire.client(subprotocols: []) { wire in
            try await wire.socket.close(code: 4406)
            try await wire.untilClosed()
        }
        for _ in 0..<20 {
            guard case .unsupported? = await client.subscribe(Ticks()).all().error else {
                Issue.record("no error")
                return
            }
        }
        await client.shutdown()
    }

    @Test func aHandshakeThatIsRefusedForGoodEndsAll() async throws {
        let count = Locked(0)
        let stub = Stub().matching("it is the first handshake") { _ in
            count.withLock { count in
                count += 1
                return count > 1
            }
        }
        let (client, transport) = Wire.client(stubs: [stub.reply(.status(403))]) { wire in
            try await wire.greet()
            _ = try await wire.expect("subscribe")
            try await wire.socket.run(.reset)
        }
        let subscription = client.subscribe(Ticks())
        let states = subscription.allStates()
        guard case .http? = await subscription.all().error else {
            Issue.record("no status")
            return
        }
        #expect(await states.value == ["starting", "active", "interrupted", "ended http"])
        #expect(transport.requests.count == 2)
        await client.shutdown()
    }

    @Test func anUnusedSocketDoesNotComeBack() async throws {
        let done = Gate()
        let (client, transport) = Wire.client { wire in
            try await wire.greet()
            try await wire.complete(try await wire.expect("subscribe").id)
            await done.pass()
            try await wire.socket.close(code: 1001)
            try await wire.untilClosed()
        }
        #expect(await client.subscribe(Ticks()).all().error == nil)
        done.open()
        while client.calls.ownerCount > 0 { await Task.yield() }
        #expect(transport.sockets.count == 1)
        #expect(await client.subscribe(Ticks()).all().error == nil)
        #expect(transport.sockets.count == 2)
        await client.shutdown()
    }
}
