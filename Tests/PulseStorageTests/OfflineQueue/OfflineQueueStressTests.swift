// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@Suite(.tags(.threads, .addresses), .throttled)
struct OfflineQueueStressTests {
    @Test func concurrentEnqueuesDuringADrainLoseNothingAndKeepEachTagsOrder() async throws {
        let directory = try TemporaryDirectory()
        let failures = Locked(0)
        let queue = QueueUnderTest(directory.url, policy: OfflineQueuePolicy(maxQueueSize: 10_000)) { _ in
            // Every seventh replay finds the connection lost.
            let number = failures.withLock { count in
                count += 1
                return count
            }
            return number % 7 == 0 ? .failure(.noConnection) : .status(200)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for tag in 0..<8 {
                group.addTask {
                    for step in 0..<25 { try await queue.enqueue("/\(tag)/\(100 + step)", tag: "\(tag)") }
                }
            }
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<20 { try await queue.queue.drain() }
                }
            }
            group.addTask {
                for _ in 0..<20 { _ = try await queue.queue.pending() }
            }
            try await group.waitForAll()
        }
        while try await queue.queue.drain() > 0 {}
        await queue.queue.close()
        for tag in 0..<8 {
            let sent = queue.sent.filter { $0.hasPrefix("/\(tag)/") }
            #expect(sent == sent.sorted())
            #expect(Set(sent).count == 25)
        }
    }

    @Test func allConcurrentDrainCallsReturn() async throws {
        let directory = try TemporaryDirectory()
        for _ in 0..<20 {
            let queue = QueueUnderTest(directory.url)
            try await queue.enqueue("/1", isOffline: false)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask { try await queue.queue.drain() }
                }
                try await group.waitForAll()
            }
            #expect(try await queue.queue.count() == 0)
            await queue.queue.close()
        }
    }

    @Test func aDrainEndsOnlyWhenNothingIsLeftToSend() async throws {
        let directory = try TemporaryDirectory()
        for _ in 0..<50 {
            let first = QueueUnderTest(directory.url) { _ in .failure(.noConnection) }
            for number in 1...4 { try await first.enqueue("/\(number)") }
            await first.queue.close()
            let second = QueueUnderTest(directory.url)
            #expect(try await second.queue.drain() == 0)
            #expect(second.sent == (1...4).map { "/\($0)" })
            await second.queue.close()
        }
    }
}
