// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseStorage

/// A seeded random schedule against a plain model; `PULSE_STEPS` sets its length.
@Suite(.tags(.schedule), .throttled)
struct FileJournalScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 3_000

    // Without the log's queue: thousands of thread switches among all other tests would take minutes.
    @Test @HeavyWork func survivesACrashAtAnyByteOfAnyChange() throws {
        let random = SeededRandomness(seed: 11)
        let directory = try TemporaryDirectory()
        let url = directory.file("journal")
        var model: [JournalRecord] = []
        var mirror = JournalMirror()
        // The cost of a sync does not matter here.
        let disk = Disk(write: Disk.system.write, sync: { _ in 0 }, rename: Disk.system.rename)
        func open() throws -> JournalFile {
            let file = JournalFile(url, disk: disk) { [mirror] in mirror.apply($0) }
            try file.exclusively {}
            return file
        }
        var log = try open()
        for step in 0..<Self.steps {
            switch random.next() % 16 {
            case 0...11:
                let record = JournalRecord.sample(
                    step, tag: random.next() % 4 == 0 ? nil : "t\(random.next() % 5)",
                    payload: String(repeating: "p", count: Int(random.next() % 200)))
                try log.exclusively { try log.append(JournalBatch([record])) }
                model.append(record)
            case 12:
                let kept = model.indices.filter { _ in random.next() % 2 == 0 }
                let items = mirror.now.items
                try log.exclusively { try log.compact(kept.map { .copy(items[$0].location) }) }
                model = kept.map { model[$0] }
            case 13...14:
                // A crash while the next record is written: a part of the record is in the file.
                let end = log.end
                log.close()
                var line: [UInt8] = []
                try JournalRecord.sample(-1 - step).write(to: &line)
                let part = Int(random.next() % UInt64(line.count - 1))
                let handle = try FileHandle(forWritingTo: url)
                try handle.seek(toOffset: UInt64(end))
                try handle.write(contentsOf: line[..<part])
                try handle.close()
                mirror = JournalMirror()
                log = try open()
                #expect(mirror.now.damagedBytes == 0)
            default:
                guard let index = model.indices.randomElement(random) else { continue }
                let location = mirror.now.items[index].location
                #expect(try log.record(at: location) == model[index], "seed \(random.seed), step \(step)")
            }
            if step % 16 == 0 || mirror.now.items.count != model.count {
                #expect(mirror.ids == model.map(\.id), "seed \(random.seed), step \(step)")
                #expect(mirror.now.items.map(\.tag) == model.map(\.tag), "seed \(random.seed), step \(step)")
            }
            if model.count > 200 {
                try log.exclusively { try log.compact([]) }
                model = []
            }
        }
        log.close()
    }
}

extension Range<Int> {
    fileprivate func randomElement(_ random: SeededRandomness) -> Int? {
        isEmpty ? nil : lowerBound + Int(random.next() % UInt64(count))
    }
}
