// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

@testable import PulseStorage

/// A state machine and the journal that it is folded from.
struct MachineUnderTest {
    var machine: QueueStore.StateMachine
    var records: [JournalRecord] = []
    var uptime: TimeInterval = 0
    /// The queue's time, in milliseconds.
    var now: Int64 = 1_000_000
    let random = SeededRandomness(seed: 5)

    init(capacity: Int = 100, maxAttempts: Int = 20, dropsOldest: Bool = false) {
        machine = QueueStore.StateMachine(capacity: capacity, maxAttempts: maxAttempts, dropsOldest: dropsOldest)
    }

    static func item(_ record: JournalRecord, _ position: Int) -> JournalItem {
        JournalItem(
            operation: record.operation, id: record.id, tag: record.tag, expiry: record.expiry,
            location: JournalLocation(offset: position, length: 10), note: record.payload)
    }

    @discardableResult
    mutating func write(_ record: JournalRecord) -> QueueStore.StateMachine.Effect? {
        records.append(record)
        return machine.apply(Self.item(record, records.count - 1))
    }

    @discardableResult
    mutating func enqueue(_ number: Int, tag: String? = nil, expiry: Int64 = 0) -> UUID {
        let id = UUID(number: number)
        write(JournalRecord("E", id, tag: tag, expiry: expiry))
        return id
    }

    /// Reads the queue's time, and writes its mark if that is due, as each drain pass does.
    ///
    /// - Returns: whether a mark was written.
    mutating func readTime(wall: Int64) -> Bool {
        let mark = machine.time.dueMark(uptime: uptime, wall: wall)
        if let mark { write(mark) }
        now = machine.time.now(uptime: uptime, wall: wall)
        return mark != nil
    }

    mutating func next() -> [QueueStore.StateMachine.Action] {
        machine.next(uptime: uptime, now: now)
    }

    /// The ids of the entries that are sent now.
    mutating func sent() -> [UUID] {
        next().compactMap { if case .send(let id, _) = $0 { id } else { nil } }
    }

    @discardableResult
    mutating func finish(_ id: UUID, _ verdict: ReplayVerdict) -> QueueStore.StateMachine.Effect? {
        let tag = machine.entries[id]?.tag
        let record = machine.finish(
            id, tag: tag, verdict, reason: Data("why".utf8), uptime: uptime, randomness: random)
        let effect = record.flatMap { machine.isOutdated($0, tag: tag) ? nil : write($0) }
        machine.settle(id, tag: tag, uptime: uptime)
        return effect
    }

    /// The records of the journal after a compaction.
    func compacted() -> [JournalRecord] {
        machine.contents().map { content in
            switch content {
            case .copy(let location): records[location.offset]
            case .changed(let location, let operation, let expiry):
                records[location.offset].with(operation: operation, expiry: expiry)
            case .record(let record): record
            }
        }
    }

    mutating func relaunch() {
        var fresh = Self(capacity: machine.capacity, maxAttempts: machine.maxAttempts, dropsOldest: machine.dropsOldest)
        records.forEach { fresh.write($0) }
        machine = fresh.machine
    }
}
