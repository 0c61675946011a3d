// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseStorage

/// A seeded random schedule against a plain model; `PULSE_STEPS` sets its length.
@Suite(.tags(.schedule), .throttled)
struct QueueStateMachineScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 10_000

    /// The expected state, in arrays.
    private struct Model {
        struct Entry: Equatable {
            let id: UUID
            var attempts = 0
            var expiry: Int64
            /// The position among all entries.
            var order: Int
            /// The number of changes.
            var revision = 0
        }

        /// An entry in flight with its revision, and its verdict if that could not be written.
        struct Flight {
            let id: UUID
            let revision: Int
            var unwritten: ReplayVerdict?
        }

        let maxAttempts: Int
        var tagQueues: [String: [Entry]] = [:]
        var dead: [(tag: String, entry: Entry)] = []
        var inFlight: [String: Flight] = [:]
        /// The uptime before which a server accepts nothing of a tag.
        var notBefore: [String: TimeInterval] = [:]
        /// The wall clock in milliseconds.
        var wall: Int64 = 1_750_000_000_000
        /// The uptime of each launch, and the gaps between launches.
        var time: Int64 = 1_750_000_000_000
        /// The time and the wall clock that were last written.
        var mark: (time: Int64, wall: Int64)?
        var count: Int { tagQueues.values.reduce(0) { $0 + $1.count } }

        init(maxAttempts: Int) {
            self.maxAttempts = maxAttempts
        }

        /// The oldest entry that is not in flight.
        var oldestNotInFlight: UUID? {
            tagQueues.flatMap { tag, queued in queued.filter { $0.id != inFlight[tag]?.id } }.min {
                $0.order < $1.order
            }?.id
        }

        /// Applies a recorded verdict, unless it is about another revision than the entry has.
        mutating func settle(_ tag: String, _ verdict: ReplayVerdict) {
            guard let flight = inFlight.removeValue(forKey: tag),
                let index = tagQueues[tag]?.firstIndex(where: { $0.id == flight.id }),
                let entry = tagQueues[tag]?[index]
            else { return }
            let isOutdated = entry.revision != flight.revision
            switch verdict {
            case .done where !isOutdated: remove(entry.id)
            case .rejected where !isOutdated: giveUp(tag, entry)
            case .unavailable(isVerdict: true, _), .unsendable:
                if entry.attempts + 1 < maxAttempts {
                    tagQueues[tag]?[index].attempts += 1
                } else if !isOutdated {
                    giveUp(tag, entry)
                }
            default: break
            }
        }

        /// Drops all state that is not in the journal, and lets the wall clock pass that long, or be set back.
        mutating func relaunch(after gap: Int64) {
            (inFlight, notBefore) = ([:], [:])
            wall += gap
            time = mark.map { $0.time + min(max(0, wall - $0.wall), 30 * 86_400_000) } ?? wall
        }

        private mutating func giveUp(_ tag: String, _ entry: Entry) {
            remove(entry.id)
            dead.append((tag, entry))
        }

        func tag(of id: UUID) -> String? { tagQueues.first { $0.value.contains { $0.id == id } }?.key }

        mutating func remove(_ id: UUID) {
            for tag in tagQueues.keys { tagQueues[tag]?.removeAll { $0.id == id } }
            dead.removeAll { $0.entry.id == id }
        }
    }

    @Test(arguments: [false, true])
    @HeavyWork func keepsEveryEntryInOrderOverEnqueueDrainResultsCancelCrashAndClockJumps(dropsOldest: Bool) {
        let random = SeededRandomness(seed: 2026)
        let capacity = 12
        let maxAttempts = 3
        var queue = MachineUnderTest(capacity: capacity, maxAttempts: maxAttempts, dropsOldest: dropsOldest)
        var model = Model(maxAttempts: maxAttempts)
        /// Events that must happen often enough for the test to be meaningful.
        var seen: [String: Int] = [:]
        func note(_ step: Int) -> Comment { "seed \(random.seed), step \(step)" }
        func pick<Element>(_ elements: [Element]) -> Element? {
            elements.isEmpty ? nil : elements[Int(random.next() % UInt64(elements.count))]
        }
        /// What a drain pass does first. A jump of the wall clock has moved nothing.
        func readTime(_ step: Int) {
            let isMarked = queue.readTime(wall: model.wall)
            #expect(queue.now == model.time, note(step))
            if isMarked {
                model.mark = (model.time, model.wall)
                seen["marked", default: 0] += 1
            }
        }
        func relaunch(_ step: Int) {
            queue.relaunch()
            let gaps: [Int64] = [0, 20_000, 3_000_000, -500_000, 40 * 86_400_000]
            model.relaunch(after: gaps[Int(random.next() % 40) / 9])
            readTime(step)
        }
        /// Writes the outcome of a replay, as the drainer does. The write may fail, and is retried later.
        func write(_ record: JournalRecord?, _ tag: String, _ id: UUID, _ verdict: ReplayVerdict) {
            if let record, !queue.machine.isOutdated(record, tag: tag) {
                if random.next() % 5 == 0 {
                    queue.machine.postpone(id, tag: tag, record, uptime: queue.uptime, randomness: queue.random)
                    model.inFlight[tag]?.unwritten = verdict
                    seen["unwritten", default: 0] += 1
                    return
                }
                queue.write(record)
            } else if record != nil {
                seen["outdated", default: 0] += 1
            }
            queue.machine.settle(id, tag: tag, uptime: queue.uptime)
            model.settle(tag, verdict)
        }
        readTime(0)
        for step in 0..<Self.steps {
            switch random.next() % 21 {
            case 0...5:
                let id = UUID(number: step)
                let tag = "t\(random.next() % 4)"
                let evicted = dropsOldest && model.count >= capacity ? model.oldestNotInFlight : nil
                let mustRefuse = model.count >= capacity && evicted == nil
                let removal: JournalRecord?
                do {
                    removal = try queue.machine.admit(id)
                    #expect(!mustRefuse, note(step))
                } catch {
                    #expect(mustRefuse, note(step))
                    seen["refused", default: 0] += 1
                    continue
                }
                #expect(removal?.id == evicted, note(step))
                if random.next() % 10 == 0 {
                    queue.machine.release(id)
                } else {
                    if let removal {
                        queue.write(removal)
                        model.remove(removal.id)
                        seen["dropped", default: 0] += 1
                    }
                    readTime(step)
                    let expiry = random.next() % 3 == 0 ? queue.now + Int64(random.next() % 6_000_000) + 1 : 0
                    queue.enqueue(step, tag: tag, expiry: expiry)
                    model.tagQueues[tag, default: []].append(Model.Entry(id: id, expiry: expiry, order: step))
                }
            case 6...10:
                readTime(step)
                for action in queue.next() {
                    switch action {
                    case .send(let id, _):
                        guard let tag = model.tag(of: id), let first = model.tagQueues[tag]?.first else {
                            Issue.record("sent what is not there, \(note(step))")
                            continue
                        }
                        #expect(first.id == id, note(step))
                        #expect(model.inFlight[tag] == nil, note(step))
                        #expect(queue.uptime >= model.notBefore[tag] ?? 0, note(step))
                        #expect(first.expiry == 0 || first.expiry > model.time, note(step))
                        model.inFlight[tag] = Model.Flight(id: id, revision: first.revision)
                    case .end(let id, let reason):
                        if reason == .expired {
                            let entry = model.tagQueues.values.joined().first { $0.id == id }
                            #expect(entry.map { $0.expiry != 0 && $0.expiry <= model.time } ?? false, note(step))
                            seen["expired", default: 0] += 1
                        }
                        if random.next() % 4 == 0 {
                            queue.machine.postponeEnd(id, uptime: queue.uptime, now: queue.now)
                        } else {
                            queue.write(QueueStore.StateMachine.removal(id, reason))
                            model.remove(id)
                        }
                    case .record(let id, let record, let tag):
                        guard let tag, let flight = model.inFlight[tag], flight.id == id,
                            let verdict = flight.unwritten
                        else {
                            Issue.record("nothing was postponed, \(note(step))")
                            continue
                        }
                        write(record, tag, id, verdict)
                    }
                }
            case 11...14:
                let waiting = model.inFlight.filter { $0.value.unwritten == nil }.sorted { $0.key < $1.key }
                guard let (tag, flight) = pick(waiting) else { continue }
                let verdict = pick([
                    ReplayVerdict.done(status: 200), .done(status: 200), .rejected, .offline, .stopped, .otherAccount,
                    .unavailable(isVerdict: true, retryAfter: 0), .unavailable(isVerdict: true, retryAfter: 100),
                    .unavailable(isVerdict: false, retryAfter: 3), .unsendable,
                ])
                guard let verdict else { continue }
                if case .unavailable(isVerdict: true, retryAfter: let seconds) = verdict {
                    // Also if this was the entry's last attempt.
                    model.notBefore[tag] = queue.uptime + seconds
                    if seconds > 0 { seen["asked", default: 0] += 1 }
                }
                // The drainer passes tag and entry as they were when the entry was sent.
                let record = queue.machine.finish(
                    flight.id, tag: tag, verdict, reason: Data(), uptime: queue.uptime, randomness: queue.random)
                if record != nil, random.next() % 8 == 0 {
                    // A crash before the verdict is written: the entry is sent again.
                    relaunch(step)
                    seen["crashed", default: 0] += 1
                } else {
                    write(record, tag, flight.id, verdict)
                }
            case 15:
                let all = model.tagQueues.values.joined().map(\.id) + model.dead.map(\.entry.id)
                guard let id = pick(all.sorted { $0.uuidString < $1.uuidString }) else { continue }
                queue.write(QueueStore.StateMachine.removal(id, .removed))
                model.remove(id)
            case 16:
                guard let letter = pick(model.dead) else { continue }
                queue.write(JournalRecord("q", letter.entry.id, expiry: queue.now + 5_000_000))
                model.dead.removeAll { $0.entry.id == letter.entry.id }
                model.tagQueues[letter.tag, default: []].append(
                    Model.Entry(
                        id: letter.entry.id, expiry: queue.now + 5_000_000, order: step,
                        revision: letter.entry.revision))
            case 17:
                relaunch(step)
            case 18:
                // The wall clock jumps either way; the uptime continues.
                let jumps: [Int64] = [1, 2, -3, 40 * 1440, -40 * 1440]
                model.wall += 60_000 * (pick(jumps) ?? 0)
                readTime(step)
                if random.next() % 2 == 0 { queue.machine.resume() }
            case 19:
                // Another process may do so, even while the entry is in flight here.
                let all = model.tagQueues.sorted { $0.key < $1.key }.flatMap { tag, queued in queued.map { (tag, $0) } }
                let inFlight = all.filter { model.inFlight[$0.0]?.id == $0.1.id }
                let picksInFlight = !inFlight.isEmpty && random.next() % 2 == 0
                guard let (tag, entry) = pick(picksInFlight ? inFlight : all) else { continue }
                queue.write(JournalRecord("U", entry.id, tag: tag, expiry: entry.expiry))
                if let index = model.tagQueues[tag]?.firstIndex(of: entry) {
                    model.tagQueues[tag]?[index].revision += 1
                }
                seen["updated", default: 0] += 1
            default:
                let seconds = Int64(random.next() % 300)
                queue.uptime += TimeInterval(seconds)
                model.wall += 1000 * seconds
                model.time += 1000 * seconds
                if random.next() % 3 == 0 {
                    compact(&queue)
                    if model.count + model.dead.count == 0 { model.mark = nil }
                }
            }
            #expect(queue.machine.pendingCount == model.count, note(step))
            #expect(queue.machine.deadCount == model.dead.count, note(step))
            #expect(queue.machine.inFlightCount == model.inFlight.count, note(step))
            guard step % 8 == 0 else { continue }
            let order = queue.machine.entries.filter { $0.value.deadLetter == nil }.sorted {
                $0.value.order < $1.value.order
            }
            for (tag, queued) in model.tagQueues {
                let entries = order.filter { $0.value.tag == tag }
                #expect(entries.map(\.key) == queued.map(\.id), note(step))
                // Preserved through every compaction and relaunch.
                #expect(entries.map(\.value.revision) == queued.map(\.revision), note(step))
            }
        }
        let last = dropsOldest ? "dropped" : "refused"
        for event in ["updated", "unwritten", "outdated", "crashed", "asked", "marked", "expired", last] {
            #expect(seen[event] ?? 0 >= Self.steps / 2_000, "\(event): \(seen)")
        }
    }

    /// Compacts like the journal: the machine's contents replace the records, and are read again.
    private func compact(_ queue: inout MachineUnderTest) {
        queue.records = queue.compacted()
        _ = queue.machine.reset(queue.records.enumerated().map { MachineUnderTest.item($0.element, $0.offset) })
    }
}
