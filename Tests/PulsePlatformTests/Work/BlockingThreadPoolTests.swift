// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlatform

@Suite(.throttled)
struct BlockingThreadPoolTests {
    /// A free thread takes the next job, so that a long job delays only itself.
    @Test func aLongJobDoesNotDelayLaterJobs() async {
        let pool = BlockingThreadPool(count: 2)
        let isFree = DispatchSemaphore(value: 0)
        let long = Task { await pool.run { isFree.wait() } }
        let (begun, began) = AsyncStream<Void>.makeStream()
        pool.begin { began.yield() }
        for await _ in begun { break }
        // Each job waits for the one before it on the remaining thread.
        for number in 0..<100 { #expect(await pool.run { number } == number) }
        await withTaskGroup(of: Int.self) { group in
            for number in 0..<100 { group.addTask { await pool.run { number } } }
            #expect(await group.reduce(0, +) == 4950)
        }
        isFree.signal()
        await long.value
    }

    @Test func oneThreadKeepsTheOrder() async {
        let pool = BlockingThreadPool(count: 1)
        let order = Locked<[Int]>([])
        for number in 0..<1_000 { pool.begin { order.withLock { $0.append(number) } } }
        await pool.run {}
        #expect(order.withLock { $0 } == Array(0..<1_000))
    }

    /// Else a file that the job has used would be closed some time after its last user has dropped it.
    @Test func aJobIsReleasedBeforeItsCallerGoesOn() async {
        final class Probe: Sendable {
            let isGone: Locked<Bool>
            init(_ isGone: Locked<Bool>) { self.isGone = isGone }
            deinit { isGone.withLock { $0 = true } }
        }
        func use(_ isGone: Locked<Bool>) async {
            let probe = Probe(isGone)
            await BlockingThreadPool.files.run { withExtendedLifetime(probe) {} }
        }
        for _ in 0..<2_000 {
            let isGone = Locked(false)
            await use(isGone)
            #expect(isGone.withLock { $0 })
        }
    }

    // MARK: A disk that hangs

    /// Each of more directories than the pool has threads keeps one, whatever the number of its jobs.
    @Test func aDirectoryThatHangsKeepsOneThreadAndTheOthersGoOn() async {
        let (pool, disk) = (BlockingThreadPool(count: 2), DispatchSemaphore(value: 0))
        let begun = Locked<[String: Int]>([:])
        let paths = ["/a", "/b", "/c"]
        let (ended, end) = AsyncStream<Void>.makeStream()
        for number in 0..<9 {
            let path = paths[number / 3]
            pool.lane(of: path).begin {
                begun.withLock { $0[path, default: 0] += 1 }
                disk.wait()
                // For the next one.
                disk.signal()
                end.yield()
            }
        }
        while begun.withLock({ $0.count }) < 3 { await Task.yield() }
        for number in 0..<100 { #expect(await pool.lane(of: "/d").run { number } == number) }
        await pool.run {}
        #expect(begun.withLock { $0 } == ["/a": 1, "/b": 1, "/c": 1])
        disk.signal()
        var count = 0
        for await _ in ended {
            count += 1
            if count == 9 { break }
        }
        #expect(begun.withLock { $0 } == ["/a": 3, "/b": 3, "/c": 3])
    }

    @Test func directoriesThatHangKeepALimitedNumberOfThreads() async {
        let (pool, disk) = (BlockingThreadPool(count: 1), DispatchSemaphore(value: 0))
        let limit = 1 + BlockingThreadPool.extraThreads
        let running = Locked((now: 0, most: 0))
        let (begun, began) = AsyncStream<Void>.makeStream()
        let (ended, end) = AsyncStream<Void>.makeStream()
        for number in 0..<limit + 3 {
            pool.lane(of: "/\(number)").begin {
                running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                began.yield()
                disk.wait()
                running.withLock { $0.now -= 1 }
                end.yield()
            }
        }
        var count = 0
        for await _ in begun {
            count += 1
            if count == limit { break }
        }
        for _ in 0..<limit + 3 { disk.signal() }
        count = 0
        for await _ in ended {
            count += 1
            if count == limit + 3 { break }
        }
        #expect(running.withLock { $0.most } == limit)
    }

    /// Bodies of several files in one directory are written side by side.
    @Test func aDirectoryThatRespondsGetsTheThreadsOfThePool() async {
        let pool = BlockingThreadPool(count: 2)
        let first = DispatchSemaphore(value: 0)
        let (second, third) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let lane = pool.lane(of: "/a")
        lane.begin { first.wait() }
        let (ended, end) = AsyncStream<Void>.makeStream()
        lane.begin {
            second.signal()
            third.wait()
            end.yield()
        }
        lane.begin {
            third.signal()
            second.wait()
            end.finish()
        }
        first.signal()
        for await _ in ended {}
        await lane.run {}
    }

    /// Bytes are written while earlier ones are synced.
    @Test func shortJobsDoNotQueueBehindLongOnes() async {
        let disk = DispatchSemaphore(value: 0)
        let directory = "/pulse-\(UUID().uuidString)"
        let long = Task { await BlockingThreadPool.longJobs(in: directory).run { disk.wait() } }
        for number in 0..<100 { #expect(await BlockingThreadPool.files(in: directory).run { number } == number) }
        disk.signal()
        await long.value
    }

    @Test func aCancelledReaderWaitsForNoThread() async {
        let (pool, disk, ran) = (BlockingThreadPool(count: 1), DispatchSemaphore(value: 0), Locked(false))
        let (begun, began) = AsyncStream<Void>.makeStream()
        let first = Task {
            try await pool.read {
                began.yield()
                disk.wait()
            }
        }
        for await _ in begun { break }
        let second = Task { try await pool.read { ran.withLock { $0 = true } } }
        for reader in [first, second] {
            reader.cancel()
            await #expect(throws: CancellationError.self) { try await reader.value }
        }
        disk.signal()
        await pool.run {}
        #expect(!ran.withLock { $0 })
    }

    /// A job with effects is left alone only if the disk hangs, and runs to its end.
    @Test(arguments: [true, false]) func aCancelledWriterWaitsForTheGracePeriod(hangs: Bool) async throws {
        let (pool, disk, clock) = (BlockingThreadPool(count: 1), DispatchSemaphore(value: 0), TestClock())
        let (begun, began) = AsyncStream<Void>.makeStream()
        let isWritten = Locked(false)
        let writer = Task {
            try await pool.abandonableAfterGrace(clock) {
                began.yield()
                disk.wait()
                isWritten.withLock { $0 = true }
                return 7
            }
        }
        for await _ in begun { break }
        writer.cancel()
        await clock.sleepers(atLeast: 1, for: .timeout)
        if hangs {
            await clock.advance(by: BlockingThreadPool.gracePeriod)
            await #expect(throws: CancellationError.self) { try await writer.value }
            disk.signal()
        } else {
            disk.signal()
            #expect(try await writer.value == 7)
        }
        await pool.run {}
        #expect(isWritten.withLock { $0 })
    }

    @Test func aFailureReachesTheCaller() async {
        await #expect(throws: CancellationError.self) {
            try await BlockingThreadPool.files.result { throw CancellationError() }
        }
    }
}
