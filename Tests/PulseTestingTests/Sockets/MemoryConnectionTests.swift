// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseTesting

/// The contract of `DuplexConnection`, sentence by sentence.
@Suite(.throttled, .tags(.threads, .addresses))
struct MemoryConnectionTests {
    private let client: MemoryConnection
    private let server: MemoryConnection

    init() {
        (client, server) = MemoryConnection.pair(capacity: 10)
    }

    private func bytes(_ text: String) -> Data { Data(text.utf8) }

    @Test func bytesArriveInBothDirectionsAndInOrder() async throws {
        try await client.write(bytes("ab"))
        try await client.write(Data())
        try await client.write(bytes("cd"))
        try await server.write(bytes("ef"))
        #expect(try await server.read() == bytes("abcd"))
        #expect(try await client.read() == bytes("ef"))
        #expect(client.remoteAddress == nil)
    }

    @Test func aWriterWaitsForRoom() async throws {
        let all = Data((0..<1000).map { UInt8(truncatingIfNeeded: $0) })
        let writer = Task { [client] in try await client.write(all) }
        var received = Data()
        while received.count < all.count {
            let bytes = try #require(try await server.read())
            #expect(bytes.count <= 10)
            received += bytes
        }
        #expect(received == all)
        try await writer.value
    }

    @Test func aStartedWriteIsFinishedByAnyTask() async throws {
        #expect(try client.startWriting(bytes("0123456789")))
        #expect(try await server.read() == bytes("0123456789"))
        #expect(try !client.startWriting(bytes("0123456789ab")))
        #expect { try client.startWriting(bytes("c")) } throws: { isInvalidRequest($0) }
        let finishing = Task { [client] in try await client.finishStarted() }
        #expect(try await server.read() == bytes("0123456789"))
        #expect(try await server.read() == bytes("ab"))
        try await finishing.value
        #expect(try client.startWriting(bytes("c")))
        client.close()
        #expect(throws: CancellationError.self) { try client.startWriting(bytes("d")) }
    }

    @Test func oneTaskReadsWhileAnotherWrites() async throws {
        let reader = Task { [client] in try await client.read() }
        try await client.write(bytes("up"))
        #expect(try await server.read() == bytes("up"))
        try await server.write(bytes("down"))
        #expect(try await reader.value == bytes("down"))
    }

    @Test func aCancelledReaderLosesNothing() async throws {
        let reader = Task { [client] in try await client.read() }
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        try await server.write(bytes("kept"))
        let cancelled = Task { [client] in
            withUnsafeCurrentTask { $0?.cancel() }
            return try await client.read()
        }
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(try await client.read() == bytes("kept"))
    }

    @Test func aCancelledWriterClosesTheConnection() async throws {
        let writer = Task { [client] in try await client.write(Data(count: 11)) }
        writer.cancel()
        await #expect(throws: CancellationError.self) { try await writer.value }
        await #expect(throws: CancellationError.self) { try await client.read() }
        #expect(try await server.read() == Data(count: 10))
        #expect(try await server.read() == nil)
        await #expect(throws: TransportFailure.self) { try await server.write(Data([1])) }
    }

    @Test func aWriterThatNeedNotWaitIgnoresItsCancellation() async throws {
        let writer = Task { [client] in
            withUnsafeCurrentTask { $0?.cancel() }
            try await client.write(Data(count: 10))
        }
        try await writer.value
        #expect(try await server.read() == Data(count: 10))
    }

    @Test func aSecondReaderIsRefused() async throws {
        try await secondIsRefused {
            try await $0.read()
        } release: {
            try await $0.write(Data([1]))
        }
    }

    @Test func aSecondWriterIsRefused() async throws {
        try await secondIsRefused {
            try await $0.write(Data(count: 11))
        } release: {
            _ = try await $0.read()
        }
    }

    /// Two tasks do the same: one must wait, so the other is refused, whichever comes first.
    private func secondIsRefused<Value: Sendable>(
        _ wait: @escaping @Sendable (MemoryConnection) async throws -> Value,
        release: (MemoryConnection) async throws -> Void
    ) async throws {
        let (refused, refuse) = AsyncStream<any Error>.makeStream()
        let tasks = (0..<2).map { _ in
            Task { [client] in
                do { _ = try await wait(client) } catch { refuse.yield(error) }
            }
        }
        for await error in refused {
            #expect(isInvalidRequest(error))
            break
        }
        try await release(server)
        for task in tasks { await task.value }
    }

    @Test func finishWritingEndsOneDirection() async throws {
        try await client.write(bytes("last"))
        client.finishWriting()
        client.finishWriting()
        #expect(try await server.read() == bytes("last"))
        for _ in 0..<2 { #expect(try await server.read() == nil) }
        await #expect { try await client.write(bytes("more")) } throws: {
            ($0 as? TransportFailure)?.phase == .beforeSend
        }
        try await server.write(bytes("still"))
        #expect(try await client.read() == bytes("still"))
    }

    @Test func finishWritingWaitsForTheWriteInProgress() async throws {
        let writer = Task { [client] in try await client.write(Data(count: 25)) }
        #expect(try await server.read()?.isEmpty == false)
        client.finishWriting()
        var count = 0
        while let bytes = try await server.read() { count += bytes.count }
        try await writer.value
        #expect((15..<25).contains(count))
    }

    @Test func closeWakesAllWaits() async throws {
        let reader = Task { [client] in try await client.read() }
        let writer = Task { [client] in try await client.write(Data(count: 11)) }
        #expect(try await server.read() == Data(count: 10))
        client.close()
        client.close()
        await #expect(throws: CancellationError.self) { try await reader.value }
        // The peer has made room for the rest before.
        _ = try? await writer.value
        await #expect(throws: CancellationError.self) { try await client.read() }
        await #expect(throws: CancellationError.self) { try await client.write(Data([1])) }
        await #expect(throws: CancellationError.self) { try await client.write(Data()) }
    }

    @Test func aBlockedWriterFailsWhenItsPeerCloses() async throws {
        let writer = Task { [client] in try await client.write(Data(count: 30)) }
        #expect(try await server.read()?.isEmpty == false)
        server.close()
        await #expect {
            try await writer.value
        } throws: {
            guard let failure = $0 as? TransportFailure else { return false }
            return failure.phase == .maybeSent && failure.code == .networkConnectionLost
        }
        await #expect { try await client.write(Data([1])) } throws: {
            ($0 as? TransportFailure)?.phase == .beforeSend
        }
        #expect(try await client.read() == nil)
    }

    @Test func aResetIsAFailureAfterTheBytes() async throws {
        try await server.write(bytes("kept"))
        server.reset()
        #expect(try await client.read() == bytes("kept"))
        for _ in 0..<2 {
            await #expect { try await client.read() } throws: {
                ($0 as? TransportFailure)?.code == .networkConnectionLost
            }
        }
    }

    @Test func aReleasedConnectionIsClosed() async throws {
        var (client, server): (MemoryConnection?, MemoryConnection) = MemoryConnection.pair()
        let ended = Locked(0)
        server.onPeerEnd { ended.withLock { $0 += 1 } }
        try await client?.write(bytes("last"))
        #expect(ended.withLock { $0 } == 0)
        client = nil
        #expect(ended.withLock { $0 } == 1)
        #expect(try await server.read() == bytes("last"))
        #expect(try await server.read() == nil)
    }

    @Test(arguments: ["finish", "close", "reset", "own close"])
    func tellsOfTheEndOfThePeerOnce(_ end: String) {
        let ended = Locked(0)
        server.onPeerEnd { ended.withLock { $0 += 1 } }
        for _ in 0..<2 {
            switch end {
            case "finish": client.finishWriting()
            case "close": client.close()
            case "reset": client.reset()
            default: server.close()
            }
        }
        #expect(ended.withLock { $0 } == 1)
        server.onPeerEnd { ended.withLock { $0 += 1 } }
        #expect(ended.withLock { $0 } == 2)
    }
}

/// Seeded writers, readers and ends against what a connection promises: a tenth of `PULSE_STEPS` is their number.
@Suite(.throttled, .tags(.schedule))
struct MemoryConnectionScheduleTests {
    private static let count =
        ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init).map { $0 / 10 } ?? 200

    private enum End: Sendable {
        case finished, lost, closed
    }

    @Test func everyScheduleKeepsTheOrderAndEndsAllWaits() async throws {
        for seed in 0..<UInt64(Self.count) { try await schedule(seed) }
    }

    /// The client sends numbered bytes in pieces and ends in one of four ways; reads of the server are cancelled at
    /// random.
    private func schedule(_ seed: UInt64) async throws {
        let randomness = SeededRandomness(seed: seed)
        let number = { (limit: Int) in Int(randomness.next() % UInt64(limit)) }
        let capacity = 1 + number(20)
        let (client, server) = MemoryConnection.pair(capacity: capacity)
        let total = number(200)
        let pieces = 1 + number(30)
        let end = number(4)
        let leavesEarly = number(4) == 0 ? number(total + 1) : nil
        let cancels = (0..<400).map { _ in number(3) == 0 }

        let writer = Task { () -> (Int, Bool) in
            var sent = 0
            do {
                while sent < total {
                    let next = min(total, sent + pieces)
                    try await client.write(Data((sent..<next).map { UInt8(truncatingIfNeeded: $0) }))
                    sent = next
                }
            } catch {
                return (sent, false)
            }
            switch end {
            case 0: client.finishWriting()
            case 1: client.close()
            case 2: client.reset()
            default: break
            }
            // The client's end is released with this task otherwise.
            return (sent, true)
        }
        let reader = Task { () -> (Data, End) in
            var received = Data()
            for cancelsNext in cancels {
                if let leavesEarly, received.count >= leavesEarly {
                    server.close()
                    return (received, .closed)
                }
                let read = Task { try await server.readArrived() }
                if cancelsNext { read.cancel() }
                do {
                    guard let bytes = try await read.value else { return (received, .finished) }
                    #expect(!bytes.isEmpty && bytes.count <= capacity, "seed \(seed)")
                    received += bytes
                } catch is CancellationError {
                    continue
                } catch {
                    return (received, .lost)
                }
            }
            while let bytes = try? await server.read() { received += bytes }
            return (received, .finished)
        }
        let (sent, isWhole) = await writer.value
        if end == 3 { client.close() }
        let (received, seenEnd) = await reader.value
        let expected = Data((0..<received.count).map { UInt8(truncatingIfNeeded: $0) })
        #expect(received == expected, "seed \(seed)")
        guard seenEnd != .closed else { return }
        #expect(isWhole && received.count == total && sent == total, "seed \(seed)")
        #expect(seenEnd == (end == 2 ? .lost : .finished), "seed \(seed)")
    }
}
