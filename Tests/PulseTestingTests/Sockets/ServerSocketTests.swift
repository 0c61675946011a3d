// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

/// Sockets over a wire and in memory, with a client that knows nothing of the codec.
@Suite(.throttled, .tags(.threads))
struct ServerSocketTests {
    private static let echo: SocketBase.Body = { socket in
        while let message = try await socket.receive() { try await socket.send(message) }
    }

    // MARK: Messages

    @Test(arguments: SocketBase.allCases)
    func echoesMessagesOfEveryLength(_ base: SocketBase) async throws {
        let sizes = [0, 1, 125, 126, 65535, 65536, 200_000]
        let record = try await base.open(Self.echo) { client in
            for size in sizes {
                let bytes = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) })
                try await client.send(RawFrame(0x82, bytes))
                try await client.expect(RawFrame(0x82, bytes))
                let text = String(repeating: "é", count: size / 2)
                try await client.send(RawFrame(0x81, text))
                try await client.expect(RawFrame(0x81, text))
            }
            try await client.send(.close(1000))
            try await client.expect(.close(1000), nil)
        }
        #expect(record.messageCount == 2 * sizes.count && record.frameCount == 2 * sizes.count + 1)
        #expect(record.closeReceived?.code == 1000 && record.violation == nil && record.path == "/ws")
    }

    @Test(arguments: SocketBase.allCases)
    func receivesFragmentsWithControlFramesBetweenThem(_ base: SocketBase) async throws {
        let record = try await base.open(Self.echo) { client in
            try await client.send(
                RawFrame(0x01, Data([0xC3])), RawFrame(0x89, "p"), RawFrame(0x00), RawFrame(0x8A, "q"),
                RawFrame(0x80, Data([0xA9])))
            try await client.send(RawFrame(0x82, "whole"))
            try await client.expect(RawFrame(0x8A, "p"), RawFrame(0x81, "é"), RawFrame(0x82, "whole"))
        }
        #expect(record.messageCount == 2 && record.fragmentedMessageCount == 1)
        #expect(record.pingCount == 1 && record.pongCount == 1 && record.frameCount == 6)
        #expect(record.closeReceived == nil)
    }

    @Test(arguments: SocketBase.allCases)
    func sendsAMessageInFragmentsOfAboutTheSameSize(_ base: SocketBase) async throws {
        try await base.open { socket in
            try await socket.send(.text("héllo"), fragments: 4)
            try await socket.send(.binary(Data([1])), fragments: 3)
            try await socket.send(.binary(Data()), fragments: 2)
            try await socket.send(.text("x"), fragments: 0)
        } client: { client in
            try await client.expect(
                RawFrame(0x01, Data([0x68, 0xC3])), RawFrame(0x00, Data([0xA9, 0x6C])), RawFrame(0x00, "l"),
                RawFrame(0x80, "o"))
            try await client.expect(RawFrame(0x02, Data([1])), RawFrame(0x00), RawFrame(0x80))
            try await client.expect(RawFrame(0x02), RawFrame(0x80), RawFrame(0x81, "x"), .close(1000))
        }
    }

    @Test(arguments: SocketBase.allCases)
    func messagesOfManyTasksAreNotMixed(_ base: SocketBase) async throws {
        try await base.open { socket in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        let message = SocketMessage.binary(Data(repeating: UInt8(number), count: 60_000))
                        try await socket.send(message, fragments: 3)
                        try await socket.ping(Data([UInt8(number)]))
                    }
                }
                try await group.waitForAll()
            }
        } client: { client in
            var messages = Set<UInt8>()
            var pings = Set<UInt8>()
            while let frame = try await client.receiveFrame(), frame.first != 0x88 {
                let number = try #require(frame.payload.first)
                if frame.first == 0x89 {
                    #expect(messages.contains(number) && pings.insert(number).inserted)
                    continue
                }
                #expect(frame.first == 0x02 && messages.insert(number).inserted)
                let rest = Data(repeating: number, count: 20_000)
                try await client.expect(RawFrame(0x00, rest), RawFrame(0x80, rest))
            }
            #expect(messages.count == 20 && pings.count == 20)
        }
    }

    @Test(arguments: SocketBase.allCases)
    func aSecondReceiverIsRefused(_ base: SocketBase) async throws {
        try await base.open { socket in
            await withTaskGroup(of: Result<SocketMessage?, any Error>.self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        do { return .success(try await socket.receive()) } catch { return .failure(error) }
                    }
                }
                // One waits, so the other is refused, whichever comes first.
                let refused = await group.next()
                #expect { try refused?.get() } throws: { isInvalidRequest($0) }
                try? await socket.send(.text("refused"))
                let received = await group.next()
                #expect((try? received?.get()) == .text("a"))
            }
        } client: { client in
            try await client.expect(RawFrame(0x81, "refused"))
            try await client.send(RawFrame(0x81, "a"))
            try await client.expect(.close(1000))
        }
    }

    // MARK: Frames

    @Test(arguments: SocketBase.allCases)
    func rawFramesGetNoReply(_ base: SocketBase) async throws {
        let seen = Seen<ServerSocket.Frame>()
        let record = try await base.open { socket in
            while let frame = try await socket.receiveFrame() { seen.add(frame) }
            #expect(socket.record.closeReceived == ServerSocket.Close(code: 4001, reason: "bye"))
            #expect(try await socket.receive() == nil)
        } client: { client in
            try await client.send(RawFrame(0x89, "ping"), RawFrame(0x01, "a"), RawFrame(0x8A, "pong"))
            try await client.send(RawFrame(0x80, "b").bytes(mask: [0xFF, 0, 0xFF, 0]))
            try await client.send(.close(4001, "bye"))
            try await client.expect(.close(4001), nil)
        }
        let mask: UInt32 = 0x0102_0304
        #expect(
            seen.values == [
                ServerSocket.Frame(.ping, Data("ping".utf8), mask: mask),
                ServerSocket.Frame(.text, Data("a".utf8), isFinal: false, mask: mask),
                ServerSocket.Frame(.pong, Data("pong".utf8), mask: mask),
                ServerSocket.Frame(.continuation, Data("b".utf8), mask: 0xFF00_FF00),
                ServerSocket.Frame(.close, RawFrame.close(4001, "bye").payload, mask: mask),
            ])
        #expect(record.masks == [mask, mask, mask, 0xFF00_FF00, mask])
    }

    @Test(arguments: SocketBase.allCases)
    func sendsAnyBytes(_ base: SocketBase) async throws {
        try await base.open { socket in
            let frame = ServerSocket.Frame(
                ServerSocket.Frame.Opcode(rawValue: 0xB), Data([5]), isFinal: false, reservedBits: 5)
            try await socket.sendRaw(frame.bytes)
            let masked = ServerSocket.Frame(.text, Data([0, 0, 0, 0, 0]), mask: 0x0102_0304)
            try await socket.sendRaw(masked.bytes)
            try await socket.run(.text("!"))
            try await socket.run(.repeating(Data("ab".utf8), times: 2))
            try await socket.run(.unencrypted(Data("c".utf8)))
        } client: { client in
            try await client.expect(RawFrame(0x5B, Data([5])))
            #expect(try await client.receive(11) == Data([0x81, 0x85, 1, 2, 3, 4, 1, 2, 3, 4, 1]))
            #expect(try await client.receive(6) == Data("!ababc".utf8))
            try await client.expect(.close(1000))
        }
    }

    @Test func recordsTheMasksOfTheLastFrames() async throws {
        let record = try await SocketBase.mock.open(Self.echo) { client in
            for number in 0..<70 {
                try await client.send(RawFrame(0x8A).bytes(mask: [9, 9, 9, UInt8(number)]))
            }
            try await client.send(.close(1000))
            try await client.expect(.close(1000))
        }
        #expect(record.masks.count == 64 && record.masks.first == 0x0909_0907 && record.frameCount == 71)
    }

    // MARK: Limits of control frames

    @Test(arguments: SocketBase.allCases)
    func refusesToSendWhatNoControlFrameCanHave(_ base: SocketBase) async throws {
        try await base.open { socket in
            for code in [0, 999, 1004, 1006, 1015, 2999, 5000, 70000, -1] {
                await #expect { try await socket.close(code: code) } throws: { isInvalidRequest($0) }
            }
            let long = String(repeating: "a", count: 124)
            await #expect { try await socket.close(reason: long) } throws: { isInvalidRequest($0) }
            await #expect { try await socket.ping(Data(count: 126)) } throws: { isInvalidRequest($0) }
            await #expect { try await socket.pong(Data(count: 126)) } throws: { isInvalidRequest($0) }
            try await socket.ping(Data(count: 125))
            try await socket.close(code: 1008, reason: String(long.dropLast()))
        } client: { client in
            let close = RawFrame.close(1008, String(repeating: "a", count: 123))
            try await client.expect(RawFrame(0x89, Data(count: 125)), close)
        }
    }
}
