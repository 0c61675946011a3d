// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

/// The rules of graphql-transport-ws, and the ends of operations.
@Suite(.tags(.threads), .throttled)
struct OperationProtocolTests {
    private static func data(_: ReceivedOperation) -> OperationReply { .data(1) }

    // MARK: Violations

    @Test func anOperationNeedsAnInitializedConnection() async throws {
        let received = Seen<ReceivedOperation>()
        try await OperationClient.run(payload: nil) { operation in
            received.add(operation)
            return .data(1)
        } test: { client, _ in
            try await client.subscribe("1")
            await client.expectClose(4401, "Unauthorized")
        }
        #expect(received.values.isEmpty)
    }

    @Test func aConnectionIsInitializedOnce() async throws {
        try await OperationClient.run(Self.data) { client, _ in
            try await client.send(["type": "connection_init"])
            await client.expectClose(4429, "Too many initialisation requests")
        }
    }

    @Test func aConnectionIsInitializedInTime() async throws {
        let clock = TestClock()
        try await OperationClient.run(clock: clock, payload: nil, Self.data) { client, _ in
            try await client.send(["type": "ping"])
            try await client.expect(["type": "pong"])
            await clock.sleepers(atLeast: 1)
            await clock.advance(by: 2.99)
            try await client.send(["type": "ping"])
            try await client.expect(["type": "pong"])
            await clock.advance(by: 0.02)
            await client.expectClose(4408, "Connection initialisation timeout")
        }
        try await OperationClient.run(clock: clock, Self.data) { client, _ in
            #expect(try await client.messagesBeforePong().isEmpty)
            #expect(clock.sleeperCount == 0)
            await clock.advance(by: 60)
            try await client.subscribe("1")
            try await client.expect(.next("1", 1), .complete("1"))
        }
    }

    @Test func anIDIsUsedByOneActiveOperation() async throws {
        let long = String(repeating: "ä", count: 200)
        for id in ["1", long] {
            let events = AsyncStream<OperationReply>.makeStream()
            try await OperationClient.run { _ in
                .events(events.stream)
            } test: { client, _ in
                try await client.subscribe(id)
                try await client.subscribe("2")
                try await client.subscribe(id)
                await client.expectClose(4409, id == "1" ? "Subscriber for 1 already exists" : nil)
            }
        }
        try await OperationClient.run(Self.data) { client, _ in
            for _ in 0..<100 {
                try await client.subscribe(long)
                try await client.expect(.next(long, 1), .complete(long))
            }
        }
    }

    @Test(arguments: [[], ["graphql-ws"], ["graphql-ws", "chat"]])
    func anotherSubprotocolIsNotAcceptable(subprotocols: [String]) async throws {
        try await OperationClient.run(payload: nil, subprotocols: subprotocols, Self.data) { client, server in
            await client.expectClose(4406, "Subprotocol not acceptable")
            #expect(server.activity.sockets.map(\.subprotocol) == [nil])
        }
    }

    @Test func theSubprotocolIsPickedAmongOthers() async throws {
        try await OperationClient.run(subprotocols: ["graphql-ws", "graphql-transport-ws"], Self.data) {
            client, server in
            #expect(server.activity.sockets.map(\.subprotocol) == ["graphql-transport-ws"])
            try await client.subscribe("1")
            try await client.expect(.next("1", 1), .complete("1"))
        }
    }

    @Test func aWrongHandshakeIsRefused() async throws {
        try await MockServer.run { server in
            server.onGraphQL("/graphql") { _ in .data(1) }
            var fields = SocketBase.headers
            fields["Sec-WebSocket-Version"] = "8"
            let client = try WireClient.connect(to: server.port)
            try await client.send(SocketBase.request("/graphql", fields))
            #expect(try await client.receiveResponse().status == 426)
            client.close()
        }
    }

    @Test(arguments: [
        "", "x", "null", "[]", "7", #""connection_init""#, "{}", #"{"type":7}"#, #"{"type":"start"}"#,
        #"{"type":"connection_ack"}"#, #"{"type":"next","id":"1","payload":{}}"#,
        #"{"type":"error","id":"1","payload":[]}"#,
        #"{"type":"connection_init","payload":7}"#, #"{"type":"ping","payload":[]}"#, #"{"type":"pong","payload":""}"#,
        #"{"type":"complete"}"#, #"{"type":"complete","id":7}"#, #"{"type":"complete","id":""}"#,
        #"{"type":"subscribe","payload":{"query":"{ a }"}}"#,
        #"{"type":"subscribe","id":"","payload":{"query":"{ a }"}}"#,
        #"{"type":"subscribe","id":1,"payload":{"query":"{ a }"}}"#, #"{"type":"subscribe","id":"1"}"#,
        #"{"type":"subscribe","id":"1","payload":null}"#, #"{"type":"subscribe","id":"1","payload":"{ a }"}"#,
        #"{"type":"subscribe","id":"1","payload":{}}"#, #"{"type":"subscribe","id":"1","payload":{"query":null}}"#,
        #"{"type":"subscribe","id":"1","payload":{"query":"{ a }","variables":[]}}"#,
        #"{"type":"subscribe","id":"1","payload":{"query":"{ a }","extensions":"x"}}"#,
        #"{"type":"subscribe","id":"1","payload":{"query":"{ a }","operationName":7}}"#,
        #"{"type":"subscribe","id":"1","payload":{"query":"{ a }"}"#,
    ])
    func aMessageThatIsNoneOfTheProtocolClosesTheSocket(text: String) async throws {
        let received = Seen<ReceivedOperation>()
        try await OperationClient.run { operation in
            received.add(operation)
            return .data(1)
        } test: { client, _ in
            try await client.socket.send(.text(text))
            // It may come after the close.
            try? await client.subscribe("2")
            await client.expectClose(4400)
        }
        #expect(received.values.isEmpty)
    }

    @Test(arguments: ["[", #"{"a":"#, #"{"type":""#])
    func aLongMessageThatIsNoneOfTheProtocolClosesTheSocket(part: String) async throws {
        try await OperationClient.run(Self.data) { client, _ in
            let text = part.hasPrefix(#"{"t"#) ? part + String(repeating: "ä", count: 1000) + #""}"# : ""
            try await client.socket.send(.text(text.isEmpty ? String(repeating: part, count: 100_000) : text))
            await client.expectClose(4400)
        }
    }

    @Test func aBinaryMessageClosesTheSocket() async throws {
        try await OperationClient.run(Self.data) { client, _ in
            try await client.socket.send(.binary(Data(#"{"type":"ping"}"#.utf8)))
            await client.expectClose(4400, "Invalid message: the message is binary")
        }
    }

    @Test func pingsArePassedBackAndPongsIgnored() async throws {
        try await OperationClient.run(payload: nil, Self.data) { client, _ in
            try await client.send(["type": "pong"])
            try await client.send(["type": "pong", "payload": ["a": 1]])
            try await client.send(["type": "ping", "payload": ["a": [1, 1.5, nil, "ä"]]])
            try await client.expect(["type": "pong", "payload": ["a": [1, 1.5, nil, "ä"]]])
            try await client.send(["type": "ping", "payload": nil])
            try await client.expect(["type": "pong"])
            try await client.send(["type": "connection_init", "payload": nil])
            try await client.expect(["type": "connection_ack"])
            try await client.complete("unknown")
            #expect(try await client.messagesBeforePong().isEmpty)
        }
    }

    // MARK: Ends

    /// True once.
    private final class First: Sendable {
        private let isFirst = Locked(true)

        func take() -> Bool {
            isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
        }
    }

    enum Ending: CaseIterable, Sendable {
        case complete, close, cut, reset, violation, closeEvent, shutdown
    }

    /// Of three operations, busy ones fill the connection, and others wait after their first event. One case at a time:
    /// busy operations take all threads.
    @Test(.serialized, arguments: Ending.allCases, [true, false])
    func anOperationEndsWithItsClient(ending: Ending, isBusy: Bool) async throws {
        let (ended, end) = AsyncStream<Int>.makeStream()
        let received = Seen<ReceivedOperation>()
        let server = try await MockServer.start()
        server.onGraphQL("/graphql") { operation in
            received.add(operation)
            if operation.name == "Close" {
                // Its stream goes on, and the client does not confirm the close.
                return .events(AsyncStream { $0.yield(.close(code: 4403, reason: "no")) })
            }
            let isFirst = First()
            return .events(
                AsyncStream {
                    if !isBusy, !isFirst.take() { try? await SystemClock().sleep(600) }
                    return .data(String(repeating: "x", count: 10_000))
                } onCancel: {
                    end.yield(1)
                })
        }
        let wire = try WireClient.connect(to: server.port)
        var fields = SocketBase.headers
        fields["Sec-WebSocket-Protocol"] = "graphql-transport-ws"
        try await wire.send(SocketBase.request("/graphql", fields))
        #expect(try await wire.receiveResponse(hasBody: false).status == 101)
        let client = FrameClient(wire)
        try await client.send(RawFrame(0x81, #"{"type":"connection_init"}"#))
        for id in 0..<3 {
            let query = #"{"query":"subscription S { s }"}"#
            try await client.send(RawFrame(0x81, #"{"type":"subscribe","id":"\#(id)","payload":\#(query)}"#))
        }
        for _ in 0..<4 { #expect(try await client.receiveFrame() != nil) }
        // A busy server may have sent as many for the first operation alone, and it drops what it has not read.
        try await server.wait { $0.sockets.first?.messageCount == 4 }

        switch ending {
        case .complete:
            for id in 0..<3 { try await client.send(RawFrame(0x81, #"{"type":"complete","id":"\#(id)"}"#)) }
        case .close: try await client.send(.close(1000))
        case .cut: client.close()
        case .reset:
            // It waits for the message that is being written, and so for the client to read.
            let socket = received.values[0].socket
            Task { try await socket?.run(.reset) }
        case .violation: try await client.send(RawFrame(0x81, "x"))
        case .closeEvent:
            let query = #"{"query":"subscription Close { s }"}"#
            try await client.send(RawFrame(0x81, #"{"type":"subscribe","id":"9","payload":\#(query)}"#))
        case .shutdown: await server.shutdown()
        }
        // A busy server waits for its client to read, and cannot close before.
        let reading = Task { while try await client.receiveFrame() != nil {} }
        var count = 0
        for await _ in ended {
            count += 1
            if count == 3 { break }
        }
        await server.shutdown()
        _ = try? await reading.value
        #expect(server.activity.sockets.allSatisfy { !$0.isOpen })
        wire.close()
    }

    @Test func aCloseWithinTheEventsIsTheLastOfThem() async throws {
        try await OperationClient.run { _ in
            .events(
                AsyncStream { continuation in
                    continuation.yield(.data(1))
                    continuation.yield(.close(code: 4403, reason: "Forbidden"))
                    continuation.yield(.data(2))
                })
        } test: { client, server in
            try await client.subscribe("1")
            try await client.expect(.next("1", 1))
            await #expect {
                try await client.receive()
            } throws: { error in
                guard case PulseError.socketClosed(4403, "Forbidden") = error else { return false }
                return true
            }
            let ended = try await server.wait { $0.sockets.first?.isOpen == false }
            #expect(ended.sockets.first?.closeReceived?.code == 4403)
        }
    }

    @Test func aCutIsALossForTheClient() async throws {
        try await OperationClient.run { operation in
            try await operation.socket?.run(.reset)
            return .data(1)
        } test: { client, _ in
            // The cut may meet the client while it still sends.
            await #expect {
                try await client.subscribe("1")
                _ = try await client.receive()
            } throws: {
                ($0 as? PulseError)?.kind == .transport
            }
        }
    }

    /// A sequence that ignores cancellation. Its task has ended when the sequence is released.
    private struct Late: AsyncSequence, Sendable {
        final class Released: Sendable {
            let end: AsyncStream<Void>.Continuation
            init(_ end: AsyncStream<Void>.Continuation) { self.end = end }
            deinit { end.finish() }
        }
        struct AsyncIterator: AsyncIteratorProtocol {
            let sequence: Late
            mutating func next() async -> OperationReply? {
                await Task { [gate = sequence.gate] in for await _ in gate {} }.value
                return sequence.reply
            }
        }
        let reply: OperationReply
        let gate: AsyncStream<Void>
        let released: Released
        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(sequence: self) }
    }

    @Test func nothingFollowsTheEndOfAnOperation() async throws {
        for reply in [OperationReply.data("late"), .errors(GraphQLError(message: "late")), .close(code: 4000)] {
            let gate = AsyncStream<Void>.makeStream()
            let released = AsyncStream<Void>.makeStream()
            let new = AsyncStream<OperationReply>.makeStream()
            let isFirst = First()
            try await OperationClient.run { _ in
                guard isFirst.take() else { return .events(new.stream) }
                return .events(
                    Late(reply: reply, gate: gate.stream, released: Late.Released(released.continuation)))
            } test: { client, _ in
                try await client.subscribe("1")
                #expect(try await client.messagesBeforePong().isEmpty)
                try await client.complete("1")
                try await client.subscribe("1")
                #expect(try await client.messagesBeforePong().isEmpty)
                gate.continuation.finish()
                for await _ in released.stream {}
                #expect(try await client.messagesBeforePong().isEmpty)
                new.continuation.yield(.data("new"))
                try await client.expect(.next("1", "new"))
                new.continuation.finish()
                try await client.expect(.complete("1"))
            }
        }
    }

    @Test func aLateReplyOfTheClosureIsDiscarded() async throws {
        for reply in [OperationReply.data("late"), .errors(GraphQLError(message: "late")), .close(code: 4000)] {
            let gate = AsyncStream<Void>.makeStream()
            try await OperationClient.run { _ in
                await Task { for await _ in gate.stream {} }.value
                return reply
            } test: { client, _ in
                try await client.subscribe("1")
                try await client.complete("1")
                #expect(try await client.messagesBeforePong().isEmpty)
                gate.continuation.finish()
                for _ in 0..<50 { #expect(try await client.messagesBeforePong().isEmpty) }
            }
        }
    }

    @Test func aShutdownWaitsForTheClosures() async throws {
        let ended = Seen<Int>()
        let server = try await MockServer.start()
        server.onGraphQL("/graphql") { _ in
            for await _ in AsyncStream<Void>.makeStream().stream {}
            await Task { for _ in 0..<1000 { await Task.yield() } }.value
            ended.add(1)
            return .data(1)
        }
        let client = OperationClient(of: server)
        try await client.open([:])
        for id in 0..<3 { try await client.subscribe("\(id)") }
        #expect(try await client.messagesBeforePong().isEmpty)
        await server.shutdown()
        #expect(ended.values.count == 3)
        await client.shutdown()
    }

    @Test func aCompletedFloodIsSilent() async throws {
        let text = String(repeating: "x", count: 50_000)
        try await OperationClient.run { _ in
            .events(AsyncStream { .data(text) })
        } test: { client, _ in
            for _ in 0..<3 {
                try await client.subscribe("1")
                try await client.expect(.next("1", .string(text)))
                try await client.complete("1")
                _ = try await client.messagesBeforePong()
                #expect(try await client.messagesBeforePong().isEmpty)
            }
        }
    }
}
