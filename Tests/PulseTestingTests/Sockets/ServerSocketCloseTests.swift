// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

/// How sockets end: by either side, by a violation, by a fault.
@Suite(.throttled, .tags(.threads))
struct ServerSocketCloseTests {
    private struct Broken: Error, CustomStringConvertible {
        let description: String
    }

    // MARK: Close handshakes

    @Test(arguments: SocketBase.allCases)
    func repliesToACloseFrameWithItsCode(_ base: SocketBase) async throws {
        let frames: [(RawFrame, code: Int, reason: String, reply: RawFrame)] = [
            (.close(1000, "bye"), 1000, "bye", .close(1000)), (RawFrame(0x88), 1005, "", RawFrame(0x88)),
            (.close(4999), 4999, "", .close(4999)), (.close(1011, "é"), 1011, "é", .close(1011)),
        ]
        for (frame, code, reason, reply) in frames {
            let seen = Seen<SocketMessage?>()
            let record = try await base.open { socket in
                for _ in 0..<3 { seen.add(try await socket.receive()) }
            } client: { client in
                try await client.send(RawFrame(0x81, "last"), frame, RawFrame(0x81, "ignored"))
                try await client.expect(reply, nil)
            }
            #expect(seen.values == [.text("last"), nil, nil])
            #expect(record.closeReceived == ServerSocket.Close(code: code, reason: reason))
            #expect(record.messageCount == 1)
        }
    }

    @Test(arguments: SocketBase.allCases)
    func repliesWhileTheClosureGoesOn(_ base: SocketBase) async throws {
        for (bytes, reply) in [
            (RawFrame.close(4000).bytes(), RawFrame.close(4000)),
            (RawFrame(0x80).bytes(), .close(1002, "a continuation without a message")),
        ] {
            let clock = TestClock()
            try await base.open(clock: clock) { socket in
                _ = try? await socket.receive()
                try await clock.sleep(60)
            } client: { client in
                try await client.send(bytes)
                try await client.expect(reply)
            }
            #expect(clock.sleeperCount == 0)
        }
    }

    @Test(arguments: SocketBase.allCases)
    func receivesMessagesBetweenBothCloseFrames(_ base: SocketBase) async throws {
        let seen = Seen<SocketMessage?>()
        try await base.open { socket in
            try await socket.close(code: 4000, reason: "over")
            try await socket.close(code: 4001)
            await #expect { try await socket.send(.text("late")) } throws: { error in
                guard case PulseError.socketClosed(4000, "over") = error else { return false }
                return true
            }
            for _ in 0..<2 { seen.add(try await socket.receive()) }
        } client: { client in
            try await client.expect(.close(4000, "over"))
            try await client.send(RawFrame(0x89, "p"), RawFrame(0x82, "late"), .close(4000))
            try await client.expect(nil)
        }
        #expect(seen.values == [.binary(Data("late".utf8)), nil])
    }

    @Test(arguments: SocketBase.allCases)
    func closesWhenTheClosureReturnsAndWaitsForTheClient(_ base: SocketBase) async throws {
        let record = try await base.open { _ in
        } client: { client in
            try await client.expect(.close(1000))
            try await client.send(RawFrame(0x81, "unread"), .close(1000, "you too"))
            try await client.expect(nil)
        }
        #expect(record.closeReceived == ServerSocket.Close(code: 1000, reason: "you too"))
        #expect(record.messageCount == 1)
    }

    @Test(arguments: SocketBase.allCases)
    func aClosureThatThrowsClosesWith1011AndItsReason(_ base: SocketBase) async throws {
        for (text, reason) in [
            ("no", "the closure threw: no"),
            (String(repeating: "é", count: 100), "the closure threw: " + String(repeating: "é", count: 52)),
        ] {
            let record = try await base.open { _ in
                throw Broken(description: text)
            } client: { client in
                try await client.expect(.close(1011, reason))
            }
            #expect(record.closeReceived == nil && !record.isOpen)
        }
    }

    // MARK: Violations

    static let violations: [(String, Data, code: Int)] = [
        ("no mask", RawFrame(0x81, "a").bytes(mask: nil), 1002),
        ("a reserved opcode", RawFrame(0x83).bytes(), 1002),
        ("a reserved control opcode", RawFrame(0x8B).bytes(), 1002),
        ("the first reserved bit", RawFrame(0xC1, "a").bytes(), 1002),
        ("the last reserved bit", RawFrame(0x91, "a").bytes(), 1002),
        ("a ping in fragments", RawFrame(0x09).bytes(), 1002),
        ("a long ping", RawFrame(0x89, Data(count: 126)).bytes(), 1002),
        ("a continuation of nothing", RawFrame(0x80).bytes(), 1002),
        ("a message within a message", RawFrame(0x01).bytes() + RawFrame(0x81).bytes(), 1002),
        ("a length in two bytes", RawFrame(0x82, "a").bytes(lengthSize: 2), 1002),
        ("a length in eight bytes", RawFrame(0x82, Data(count: 200)).bytes(lengthSize: 8), 1002),
        ("a negative length", Data([0x82, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0]), 1002),
        ("the length alone", Data([0x82, 0xFF, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4]), 1009),
        ("no UTF-8", RawFrame(0x81, Data([0x61, 0xFF])).bytes(), 1007),
        ("half a character", RawFrame(0x81, Data([0xC3])).bytes(), 1007),
        (
            "no UTF-8 in a part of a frame",
            RawFrame(0x81, Data([0xC0] + [UInt8](repeating: 0x61, count: 9))).bytes()
                .prefix(7), 1007
        ),
        ("a close frame of one byte", RawFrame(0x88, "a").bytes(), 1002),
        ("the close code 1005", RawFrame.close(1005).bytes(), 1002),
        ("a close reason that is no UTF-8", RawFrame(0x88, Data([3, 232, 0xFF])).bytes(), 1007),
    ]

    @Test(arguments: SocketBase.allCases)
    func closesForAViolationAndRecordsIt(_ base: SocketBase) async throws {
        for (name, bytes, code) in Self.violations {
            for readsFrames in [false, true] {
                let seen = Seen<PulseError>()
                let record = try await base.open { socket in
                    let before = try await socket.receive()
                    #expect(before == .text("before"))
                    for _ in 0..<2 {
                        do {
                            repeat {
                            } while try await readsFrames
                                ? socket.receiveFrame() != nil : socket.receive() != nil
                        } catch {
                            seen.add(PulseError(wrapping: error))
                        }
                    }
                } client: { client in
                    try await client.send(RawFrame(0x81, "before").bytes() + bytes + RawFrame(0x81, "after").bytes())
                    let close = try await client.receiveFrame()
                    #expect(close?.first == 0x88, "\(name)")
                    #expect(close?.payload.prefix(2) == RawFrame.close(code).payload, "\(name)")
                    try await client.expect(nil)
                }
                #expect(seen.values.count == 2, "\(name)")
                for error in seen.values {
                    guard case .socketClosed(code, let reason) = error else {
                        Issue.record("\(name): \(error)")
                        continue
                    }
                    #expect(record.violation == ServerSocket.Close(code: code, reason: reason))
                }
                #expect(record.messageCount == 1 && record.closeReceived == nil, "\(name)")
            }
        }
    }

    @Test(arguments: SocketBase.allCases)
    func recordsAViolationAfterTheClosureHasReturned(_ base: SocketBase) async throws {
        let record = try await base.open { _ in
        } client: { client in
            try await client.expect(.close(1000))
            try await client.send(RawFrame(0x81).bytes(mask: nil))
            try await client.expect(nil)
        }
        #expect(record.violation?.code == 1002)
    }

    // MARK: Cuts

    @Test(arguments: SocketBase.allCases)
    func aConnectionThatEndsWithoutACloseFrameIsLost(_ base: SocketBase) async throws {
        for end in [Data(), RawFrame(0x81, "half a frame").bytes().prefix(9), RawFrame(0x01, "half a message").bytes()]
        {
            let seen = Seen<PulseError>()
            let record = try await base.open { socket in
                let before = try await socket.receive()
                #expect(before == .text("before"))
                do { _ = try await socket.receive() } catch { seen.add(PulseError(wrapping: error)) }
            } client: { client in
                try await client.send(RawFrame(0x81, "before").bytes() + end)
                client.endSending()
                try await client.expect(.close(1000), nil)
            }
            guard case .transport(.networkConnectionLost, _)? = seen.values.first else {
                Issue.record("\(seen.values)")
                continue
            }
            #expect(record.closeReceived == nil && record.violation == nil)
        }
    }

    @Test(arguments: SocketBase.allCases)
    func cancelsTheClosureWhenTheClientLeavesAndKeepsItsMessages(_ base: SocketBase) async throws {
        let clock = TestClock()
        let seen = Seen<SocketMessage?>()
        let record = try await base.open(clock: clock) { socket in
            await #expect(throws: CancellationError.self) { try await clock.sleep(60) }
            for _ in 0..<3 { seen.add(try await socket.receive()) }
        } client: { client in
            await clock.sleepers(atLeast: 1)
            try await client.send(RawFrame(0x81, "a"), RawFrame(0x81, "b"), .close(1001))
            client.endSending()
        }
        #expect(seen.values == [.text("a"), .text("b"), nil])
        #expect(record.closeReceived?.code == 1001 && clock.sleeperCount == 0)
    }

    @Test(arguments: SocketBase.allCases)
    func aCancelledReceiverLosesNothing(_ base: SocketBase) async throws {
        let seen = Seen<PulseError.Kind>()
        try await base.open { socket in
            let receiver = Task { try await socket.receive() }
            receiver.cancel()
            do { _ = try await receiver.value } catch { seen.add(PulseError(wrapping: error).kind) }
            try await socket.send(.text("now"))
            #expect(try await socket.receive() == .text("first"))
        } client: { client in
            try await client.expect(RawFrame(0x81, "now"))
            try await client.send(RawFrame(0x81, "first"))
            try await client.expect(.close(1000))
        }
        #expect(seen.values == [.cancelled])
    }

    @Test(arguments: SocketBase.allCases)
    func aReceiverThatWaitsEndsWithItsTask(_ base: SocketBase) async throws {
        let seen = Seen<PulseError.Kind>()
        let (pongs, ponged) = AsyncStream<Void>.makeStream()
        try await base.open { socket in
            let receiver = Task { try await socket.receive() }
            for await _ in pongs { break }
            receiver.cancel()
            do { _ = try await receiver.value } catch { seen.add(PulseError(wrapping: error).kind) }
        } client: { client in
            try await client.send(RawFrame(0x89, "p"))
            try await client.expect(RawFrame(0x8A, "p"))
            ponged.yield()
            try await client.expect(.close(1000))
        }
        #expect(seen.values == [.cancelled])
    }

    // MARK: Steps

    @Test(arguments: SocketBase.allCases)
    func waitsForTheTestsClock(_ base: SocketBase) async throws {
        let clock = TestClock()
        try await base.open(clock: clock) { socket in
            try await socket.run(.delay(60))
            try await socket.send(.text("late"))
        } client: { client in
            await clock.sleepers(atLeast: 1)
            await clock.advance(by: 60)
            try await client.expect(RawFrame(0x81, "late"))
        }
    }

    @Test(arguments: SocketBase.allCases)
    func stepsThatEndTheConnectionSendNoCloseFrame(_ base: SocketBase) async throws {
        for (name, step) in [
            ("halfClose", MockServer.Step.halfClose), ("close", .close), ("truncate", .truncate), ("reset", .reset),
        ] {
            let seen = Seen<PulseError.Kind>()
            try await base.open { socket in
                #expect(try await socket.receive() == .text("go"))
                try await socket.run(step)
                do { try await socket.send(.text("no")) } catch { seen.add(PulseError(wrapping: error).kind) }
                do { _ = try await socket.receive() } catch { seen.add(PulseError(wrapping: error).kind) }
            } client: { client in
                try await client.send(RawFrame(0x81, "go"))
                if name == "reset", base == .mock {
                    await #expect(throws: TransportFailure.self) { try await client.receive(1) }
                } else {
                    #expect(try await client.receive(1) == Data(), "\(name)")
                }
                client.close()
            }
            // A client that has left cancels the closure.
            #expect(seen.values.count == 2, "\(name)")
            #expect(seen.values.allSatisfy { $0 == .transport || $0 == .cancelled }, "\(name): \(seen.values)")
        }
    }

    @Test(arguments: SocketBase.allCases)
    func stallsUntilTheClientLeaves(_ base: SocketBase) async throws {
        let seen = Seen<String>()
        let record = try await base.open { socket in
            try await socket.run(.stall)
            seen.add("left")
        } client: { client in
            // More than the buffers hold: it is discarded.
            let bytes = RawFrame(0x82, Data(count: 65536)).bytes()
            for _ in 0..<64 { try await client.send(bytes) }
            #expect(seen.values.isEmpty)
        }
        #expect(seen.values == ["left"] && record.frameCount == 0)
    }

    @Test(arguments: SocketBase.allCases)
    func nothingIsSentAfterAStall(_ base: SocketBase) async throws {
        for step in [MockServer.Step.stall, .halfClose] {
            let seen = Seen<PulseError.Kind>()
            try await base.open { socket in
                try await socket.run(step)
                do { try await socket.send(.text("late")) } catch { seen.add(PulseError(wrapping: error).kind) }
            } client: { client in
                client.endSending()
                try await client.expect(nil)
            }
            #expect(seen.values == [.transport])
        }
    }

    @Test(arguments: SocketBase.allCases)
    func sendsWithoutAnEndUntilTheClientLeaves(_ base: SocketBase) async throws {
        let seen = Seen<PulseError.Kind>()
        try await base.open { socket in
            do {
                try await socket.run(.repeating(ServerSocket.Frame(.ping).bytes))
            } catch {
                seen.add(PulseError(wrapping: error).kind)
            }
        } client: { client in
            for _ in 0..<1000 { try await client.expect(RawFrame(0x89)) }
        }
        #expect(seen.values == [.transport])
    }
}
