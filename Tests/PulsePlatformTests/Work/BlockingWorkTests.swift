// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore
import TestSupport
import Testing

@testable import PulsePlatform

@Suite(.throttled)
struct BlockingWorkTests {
    /// Signals its start, blocks its thread until the gate opens, and then checks for cancellation.
    private static func held(
        by gate: DispatchSemaphore, on pool: BlockingThreadPool = BlockingThreadPool(count: 1),
        began: AsyncStream<Void>.Continuation
    ) async throws {
        try await BlockingWork.run(on: pool) { work in
            began.yield()
            gate.wait()
            try work.checkCancellation()
        }
    }

    @Test func workEndsWhenItsTaskIsCancelled() async {
        let (begun, began) = AsyncStream.makeStream(of: Void.self)
        let gate = DispatchSemaphore(value: 0)
        let task = Task { try await Self.held(by: gate, began: began) }
        for await _ in begun { break }
        task.cancel()
        gate.signal()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func workOfACancelledTaskDoesNotStart() async {
        let ran = Locked(false)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await BlockingWork.run { _ in ran.withLock { $0 = true } }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(!ran.withLock { $0 })
    }

    @Test func aCancelledWaiterReturnsBeforeItsJobStarts() async {
        let (pool, gate) = (BlockingThreadPool(count: 1), DispatchSemaphore(value: 0))
        let (begun, began) = AsyncStream.makeStream(of: Void.self)
        let first = Task { try await Self.held(by: gate, on: pool, began: began) }
        for await _ in begun { break }
        let ran = Locked(false)
        let second = Task {
            try await BlockingWork.run(on: pool) { _ in ran.withLock { $0 = true } }
        }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        first.cancel()
        gate.signal()
        await #expect(throws: CancellationError.self) { try await first.value }
        // A later job on the same thread runs after the second job would have run.
        await #expect(throws: Never.self) { try await BlockingWork.run(on: pool) { _ in } }
        #expect(!ran.withLock { $0 })
    }

    @Test func aCancelledReaderDoesNotWaitForADiskThatHangs() async {
        let disk = DispatchSemaphore(value: 0)
        let (begun, began) = AsyncStream.makeStream(of: Void.self)
        let reader = Task {
            try await BlockingWork.run(reading: URL(fileURLWithPath: "/pulse-hangs/file")) { _ in
                began.yield()
                disk.wait()
            }
        }
        for await _ in begun { break }
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        disk.signal()
    }

    @Test func blockingWorkDoesNotOccupySwiftsThreadPool() async {
        let count = 2 * ProcessInfo.processInfo.activeProcessorCount
        let (pool, gate) = (BlockingThreadPool(count: count), DispatchSemaphore(value: 0))
        let (begun, began) = AsyncStream.makeStream(of: Void.self)
        let tasks = (0..<count).map { _ in Task { try await Self.held(by: gate, on: pool, began: began) } }
        var running = 0
        for await _ in begun {
            running += 1
            if running == count { break }
        }
        #expect(await Task.detached { 7 }.value == 7)
        // Cancel all tasks first: a signal wakes any thread.
        for task in tasks { task.cancel() }
        for _ in tasks { gate.signal() }
        for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
    }

    @Test func returnsTheResultOrErrorOfTheWork() async throws {
        struct Failure: Error {}
        #expect(try await BlockingWork.run { _ in 7 } == 7)
        await #expect(throws: Failure.self) { try await BlockingWork.run { _ in throw Failure() } }
    }

    @Test func readsAWholeFileInOrder() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let data = Data(HashVectors.bytes(600_000, seed: 1))
        try data.write(to: file)
        let (read, chunks) = try await BlockingWork.run { work in
            var (read, chunks) = (Data(), 0)
            try work.forEachChunk(of: file) { chunk in
                read.append(contentsOf: chunk)
                chunks += 1
            }
            return (read, chunks)
        }
        #expect(read == data)
        #expect(chunks == 3)
    }
}
