// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseStorage

@Suite(.tags(.threads, .addresses), .throttled)
struct FileJournalStressTests {
    @Test func concurrentWritersOfTwoLogsLoseNothingAndAgreeOnTheOrder() async throws {
        let directory = try TemporaryDirectory()
        let url = directory.file("journal")
        let mirrors = [JournalMirror(), JournalMirror()]
        // Appends run both in place and on the log's queue, however slow the disk is.
        var disk = Disk.system
        disk.inPlaceLimit = .infinity
        let logs = mirrors.map { FileJournal.open(url, $0, disk: disk) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<16 {
                group.addTask {
                    for step in 0..<20 { try await logs[writer % 2].append([.sample(writer * 1000 + step)]) }
                }
            }
            group.addTask {
                for _ in 0..<10 {
                    try await logs[0].compact { mirrors[0].now.items.map { .copy($0.location) } }
                }
            }
            try await group.waitForAll()
        }
        for log in logs {
            try await log.refresh {}
            await log.close()
        }
        #expect(mirrors[0].ids == mirrors[1].ids)
        #expect(Set(mirrors[0].ids).count == 320)
        for writer in 0..<16 {
            let own = mirrors[0].ids.filter { id in (0..<20).contains { id == UUID(number: writer * 1000 + $0) } }
            #expect(own == (0..<20).map { UUID(number: writer * 1000 + $0) })
        }
    }

    @Test func concurrentAppendsShareASync() async throws {
        let directory = try TemporaryDirectory()
        let faulty = FaultyDisk()
        let log = FileJournal.open(directory.file("journal"), JournalMirror(), disk: faulty.disk)
        try await log.refresh {}
        let before = faulty.plan.withLock { $0.syncs }
        let writers: [Task<Void, any Error>] = await withCheckedContinuation { continuation in
            Task {
                // Keeps the log's own thread busy until all appends are queued.
                try await log.refresh {
                    continuation.resume(
                        returning: (0..<32).map { number in Task { try await log.append([.sample(number)]) } })
                    while log.waitingCount < 32 { sched_yield() }
                }
            }
        }
        for writer in writers { try await writer.value }
        #expect(faulty.plan.withLock { $0.syncs } - before == 1)
        await log.close()
    }
}
