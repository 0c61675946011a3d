// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.tags(.threads, .addresses), .throttled)
struct BytePipeStressTests {
    /// A thread that must not block: it continues only when it is woken.
    private final class Bell: Sendable {
        private let rings = AsyncStream<Void>.makeStream(bufferingPolicy: .unbounded)

        func ring() { rings.continuation.yield() }
        func stop() { rings.continuation.finish() }

        func wait() async {
            for await _ in rings.stream { return }
        }
    }

    private static func bytes(_ count: Int) -> Data {
        Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func offeredBytesAreReadInOrder(seed: UInt64) async throws {
        let randomness = SeededRandomness(seed: seed)
        let all = Self.bytes(50_000)
        let bell = Bell()
        let pipe = BytePipe(capacity: Int(randomness.next() % 2000) + 1) { bell.ring() }
        let producer = Task {
            var rest = all[...]
            while !rest.isEmpty {
                let piece = rest.prefix(Int(randomness.next() % 700) + 1)
                let isTaken = piece.withUnsafeBytes { pipe.offer($0) }
                if isTaken { rest = rest.dropFirst(piece.count) } else { await bell.wait() }
                if randomness.next() % 5 == 0 { await Task.yield() }
            }
            pipe.finish()
        }
        var received = Data()
        while let chunk = try await pipe.read() {
            received.append(chunk)
            if randomness.next() % 3 == 0 { await Task.yield() }
        }
        await producer.value
        #expect(received == all, "seed \(seed)")
        #expect(try await pipe.read() == nil)
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func writtenBytesAreTakenInOrder(seed: UInt64) async throws {
        let randomness = SeededRandomness(seed: seed)
        let all = Self.bytes(50_000)
        let bell = Bell()
        let pipe = BytePipe(capacity: Int(randomness.next() % 2000) + 1) { bell.ring() }
        let producer = Task {
            var rest = all[...]
            while !rest.isEmpty {
                let piece = rest.prefix(Int(randomness.next() % 700) + 1)
                try await pipe.write(Data(piece))
                rest = rest.dropFirst(piece.count)
                if randomness.next() % 5 == 0 { await Task.yield() }
            }
            pipe.finish()
        }
        var received = Data()
        taking: while true {
            var buffer = [UInt8](repeating: 0, count: Int(randomness.next() % 900) + 1)
            switch buffer.withUnsafeMutableBytes({ pipe.take(into: $0) }) {
            case .bytes(let count): received.append(contentsOf: buffer.prefix(count))
            case .nothingYet: await bell.wait()
            case .end: break taking
            case .failed(let error): throw error
            }
        }
        try await producer.value
        #expect(received == all, "seed \(seed)")
    }

    /// The bytes' memory returns to the pipe, but not before the reader has released it.
    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func bytesThatWereReadStayUnchanged(seed: UInt64) async throws {
        let randomness = SeededRandomness(seed: seed)
        // A period that divides no block, so that no two positions of a block look alike.
        let period = Self.bytes(65_521)
        let all = (0..<60).reduce(into: Data()) { all, _ in all.append(period) }
        let bell = Bell()
        let pipe = BytePipe { bell.ring() }
        let producer = Task {
            var rest = all[...]
            while !rest.isEmpty {
                let piece = rest.prefix(Int(randomness.next() % 90_000) + 1)
                let isTaken = piece.withUnsafeBytes { pipe.offer($0) }
                if isTaken { rest = rest.dropFirst(piece.count) } else { await bell.wait() }
            }
            pipe.finish()
        }
        var kept: [(start: Int, chunk: Data)] = []
        var count = 0
        while let chunk = try await pipe.read() {
            kept.append((count, chunk))
            count += chunk.count
            // Some chunks are checked later and then released, so that memory is reused.
            guard kept.count > 6 else { continue }
            let (start, old) = kept.remove(at: Int(randomness.next() % 7))
            #expect(old == all[start..<start + old.count], "seed \(seed)")
        }
        await producer.value
        #expect(count == all.count)
        for (start, chunk) in kept { #expect(chunk == all[start..<start + chunk.count], "seed \(seed)") }
    }

    @Test func bytesOfferedBeforeTheReaderResumesAreReadInOnePiece() async throws {
        let pipe = BytePipe {}
        let reader = Task.startingNow { try await pipe.read() }
        let calls = Locked<[BytePipe.Resumption]>([])
        for piece in ["a", "b", "c"] {
            let isTaken = Data(piece.utf8).withUnsafeBytes { bytes in
                pipe.offer(bytes) { call in calls.withLock { $0.append(call) } }
            }
            #expect(isTaken)
        }
        #expect(calls.withLock { $0.count } == 1)
        for call in calls.withLock({ $0 }) { call.perform() }
        #expect(try await reader.value == Data("abc".utf8))
    }

    @Test(arguments: [false, true])
    func anEndDuringAResumptionComesAfterTheBytes(isError: Bool) async throws {
        struct Broken: Error {}
        let pipe = BytePipe {}
        let reader = Task.startingNow { try await pipe.read() }
        let calls = Locked<[BytePipe.Resumption]>([])
        _ = Data("last".utf8).withUnsafeBytes { bytes in
            pipe.offer(bytes) { call in calls.withLock { $0.append(call) } }
        }
        pipe.finish(isError ? Broken() : nil)
        for call in calls.withLock({ $0 }) { call.perform() }
        #expect(try await reader.value == Data("last".utf8))
        if isError {
            await #expect(throws: Broken.self) { try await pipe.read() }
        } else {
            #expect(try await pipe.read() == nil)
        }
    }

    @Test func anErrorEndsWaitingReadersAndWriters() async throws {
        struct Broken: Error {}
        let pipe = BytePipe(capacity: 1) {}
        let reader = Task { try await pipe.read() }
        await Task.yield()
        pipe.finish(Broken())
        await #expect(throws: Broken.self) { try await reader.value }
        await #expect(throws: (any Error).self) { try await pipe.write(Data([1])) }
        // The first end counts, and later bytes are dropped.
        pipe.finish()
        #expect(Data([1]).withUnsafeBytes { pipe.offer($0) })
        await #expect(throws: Broken.self) { try await pipe.read() }
    }
}
