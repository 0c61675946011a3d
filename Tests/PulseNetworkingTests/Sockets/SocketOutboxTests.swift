// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseSockets

/// What leaves a socket, in which order and how often; without a wire.
@Suite(.throttled)
struct SocketOutboxTests {
    /// What a server reads of the batches.
    private struct Server {
        var reader = FrameReader(of: .client)
        var parts: [String] = []
        var messages: [Data] = []
        private var message = Data()

        mutating func read(_ batch: SocketOutbox.Batch) throws {
            reader.take(batch.bytes)
            while let part = try reader.next() {
                switch part {
                case .begin: message = Data()
                case .bytes(let bytes): message.append(bytes)
                case .end:
                    messages.append(message)
                    parts.append("message \(message.count)")
                case .ping: parts.append("ping")
                case .pong(let payload): parts.append("pong \(String(decoding: payload, as: UTF8.self))")
                case .close(let close): parts.append("close \(close.code)")
                }
            }
        }
    }

    private static func item(_ size: Int, isGreeting: Bool = false) -> SocketOutbox.Item {
        SocketOutbox.Item(.binary(Data(repeating: UInt8(size & 0xFF), count: size)), isGreeting: isGreeting)
    }

    private static func next(_ outbox: inout SocketOutbox) -> SocketOutbox.Batch? {
        var encoder = SocketEncoder()
        return next(&outbox, &encoder)
    }

    private static func next(_ outbox: inout SocketOutbox, _ encoder: inout SocketEncoder) -> SocketOutbox.Batch? {
        guard var batch = outbox.next(ping: { _ in Data("ping".utf8) }) else { return nil }
        #expect(throws: Never.self) { try batch.encode(with: &encoder) }
        return batch
    }

    @Test func controlFramesGoBetweenFragments() throws {
        var (outbox, encoder, server) = (SocketOutbox(), SocketEncoder(), Server())
        outbox.append(Self.item(200_000))
        outbox.append(Self.item(0))
        try server.read(#require(Self.next(&outbox, &encoder)))
        outbox.pong(Data("a".utf8))
        outbox.ping(nil)
        while let batch = Self.next(&outbox, &encoder) { try server.read(batch) }
        #expect(server.parts == ["pong a", "ping", "message 200000", "message 0"])
        #expect(server.messages[0] == Data(repeating: 0x40, count: 200_000))
        #expect(!outbox.hasWork)
    }

    @Test func smallMessagesLeaveTogether() throws {
        var outbox = SocketOutbox()
        for _ in 0..<1000 { outbox.append(Self.item(100)) }
        let batch = try #require(Self.next(&outbox))
        #expect(batch.completed.count > 600 && batch.bytes.count < 66 << 10)
    }

    @Test func eachFrameHasItsOwnMask() throws {
        var outbox = SocketOutbox()
        for _ in 0..<64 { outbox.append(Self.item(10)) }
        let bytes = try #require(Self.next(&outbox)).bytes
        let masks = stride(from: 2, to: bytes.count, by: 16).map { Array(bytes[$0..<$0 + 4]) }
        #expect(masks.count == 64 && Set(masks).count > 60)
    }

    @Test func atMost64PongsWait() throws {
        var (outbox, server) = (SocketOutbox(), Server())
        for index in 0..<100 { outbox.pong(Data("\(index)".utf8)) }
        try server.read(#require(Self.next(&outbox)))
        #expect(server.parts == (36..<100).map { "pong \($0)" })
    }

    @Test func aMessageIsTakenBackUntilItBegins() throws {
        var outbox = SocketOutbox()
        let items = [200_000, 10].map { Self.item($0) }
        for item in items { outbox.append(item) }
        _ = Self.next(&outbox)
        let taken = [items[0], items[1], items[1]].map { outbox.takeBack($0) }
        #expect(taken == [false, true, false])
    }

    @Test func theGreetingGoesFirst() throws {
        var (outbox, server) = (SocketOutbox(), Server())
        outbox.append(Self.item(1))
        outbox.isGreeting = true
        #expect(!outbox.hasWork)
        outbox.append(Self.item(2, isGreeting: true))
        try server.read(#require(Self.next(&outbox)))
        #expect(Self.next(&outbox) == nil)
        outbox.isGreeting = false
        try server.read(#require(Self.next(&outbox)))
        #expect(server.parts == ["message 2", "message 1"])
    }

    @Test func aCloseFollowsWhatTheBufferHolds() throws {
        var (outbox, server) = (SocketOutbox(), Server())
        let items = [60, 40, 1, 200].map { Self.item($0) }
        for item in items { outbox.append(item) }
        let refused = outbox.close(SocketClose(code: 1000), room: 100)
        #expect(refused.map(\.size) == [1, 200])
        outbox.append(Self.item(5))
        try server.read(#require(Self.next(&outbox)))
        #expect(server.parts.prefix(2) == ["message 60", "message 40"] && server.parts.last == "close 1000")
        #expect(!outbox.hasWork && outbox.hasClosed)
        // A message larger than the buffer goes alone.
        var large = SocketOutbox()
        large.append(Self.item(1000))
        #expect(large.close(SocketClose(code: 1000), room: 1).isEmpty)
    }

    @Test func aCloseOfTheProtocolWaitsForNothing() throws {
        var (outbox, server) = (SocketOutbox(), Server())
        outbox.append(Self.item(200_000))
        try server.read(#require(Self.next(&outbox)))
        _ = outbox.close(SocketClose(code: 1000), room: 1 << 20)
        outbox.closeNow(SocketClose(code: 1002))
        try server.read(#require(Self.next(&outbox)))
        #expect(server.parts == ["close 1002"])
        outbox.closeNow(SocketClose(code: 1001))
        #expect(Self.next(&outbox) == nil)
    }

    private static let rounds =
        ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init).map { $0 / 100 } ?? 60

    /// Connections end at random points, also within a message. No byte of a message is sent twice: each is completed
    /// once, reported as possibly sent, or still there at the end, in order.
    @Test(.tags(.schedule), arguments: 0..<4) func nothingIsSentTwice(seed: UInt64) throws {
        let random = SeededRandomness(seed: seed)
        for _ in 0..<Self.rounds {
            let keeps = random.next() % 2 == 0
            var outbox = SocketOutbox()
            var waiting: [Int] = []
            var next = 0
            var (completed, maybeSent, unsent): ([Int], [Int], [Int]) = ([], [], [])
            var ids: [ObjectIdentifier: Int] = [:]
            var held: [SocketOutbox.Item] = []
            for _ in 0..<Int(random.next() % 60) {
                switch random.next() % 6 {
                case 0...2:
                    let item = Self.item(Int(random.next() % 4) * 40_000 + Int(random.next() % 100))
                    (ids[ObjectIdentifier(item)], held) = (next, held + [item])
                    waiting.append(next)
                    next += 1
                    outbox.append(item)
                case 3...4:
                    guard let batch = Self.next(&outbox) else { continue }
                    completed += batch.completed.compactMap { ids[ObjectIdentifier($0)] }
                default:
                    let batch = random.next() % 2 == 0 ? Self.next(&outbox) : nil
                    let isUnsent = random.next() % 2 == 0
                    let leftover = outbox.endConnection(batch, isUnsent: batch != nil && isUnsent, keepsUnsent: keeps)
                    maybeSent += leftover.maybeSent.compactMap { ids[ObjectIdentifier($0)] }
                    unsent += leftover.unsent.compactMap { ids[ObjectIdentifier($0)] }
                    if batch != nil, !isUnsent {
                        let inBatch = batch?.completed.compactMap { ids[ObjectIdentifier($0)] } ?? []
                        #expect(inBatch.allSatisfy(maybeSent.contains))
                    }
                }
            }
            let rest = outbox.endConnection(nil, isUnsent: false, keepsUnsent: false)
            maybeSent += rest.maybeSent.compactMap { ids[ObjectIdentifier($0)] }
            unsent += rest.unsent.compactMap { ids[ObjectIdentifier($0)] }
            #expect(completed == completed.sorted())
            #expect((completed + maybeSent + unsent).sorted() == waiting)
        }
    }
}
