// SPDX-License-Identifier: MIT

import PulseCore

/// An in-memory journal, for a queue that must not write to the disk. It drops records that are never read again. Safe
/// from any thread.
package actor MemoryJournal: Journal {
    /// The records by their position.
    private var records: [Int: JournalRecord] = [:]
    private var positions: [UUID: [Int]] = [:]
    private var nextPosition = 0
    private var isClosed = false
    private let apply: @Sendable (JournalChange) -> Void

    package init(apply: @escaping @Sendable (JournalChange) -> Void) {
        self.apply = apply
    }

    /// Compaction gains nothing: the journal drops outdated records by itself.
    package nonisolated var size: Int { 0 }

    package func append(_ records: [JournalRecord], admission: (@Sendable () throws -> [JournalRecord])?) throws {
        try checkOpen()
        let all: [JournalRecord]
        do { all = try (admission?() ?? []) + records } catch { throw PulseError(wrapping: error) }
        let items = all.map { store($0) }
        apply(.appended(items))
        for (record, item) in zip(all, items) { dropRecords(replacedBy: record, at: item.location.offset) }
    }

    package func read(_ locate: @escaping @Sendable () -> JournalLocation?) throws -> JournalRecord? {
        try checkOpen()
        return locate().flatMap { records[$0.offset] }
    }

    package func refresh<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) throws -> Value {
        try checkOpen()
        return try body()
    }

    package func compact(_ contents: @escaping @Sendable () -> [JournalContent]?) throws {
        try checkOpen()
        guard let contents = contents() else { return }
        let kept = contents.compactMap { content -> JournalRecord? in
            switch content {
            case .record(let record): record
            case .copy(let location): records[location.offset]
            case .changed(let location, let operation, let expiry):
                records[location.offset]?.with(operation: operation, expiry: expiry)
            }
        }
        (records, positions) = ([:], [:])
        apply(.reset(kept.map { store($0) }))
    }

    package func discardDamaged() throws {
        try checkOpen()
    }

    package func close() {
        isClosed = true
    }

    /// The number of records it holds, for tests.
    var count: Int { records.count }

    private func checkOpen() throws {
        if isClosed { throw PulseError.cancelled }
    }

    /// Stores a record. A note is passed on in the item, and never read again.
    private func store(_ record: JournalRecord) -> JournalItem {
        let isNote = record.operation >= UInt8(ascii: "a")
        nextPosition += 1
        if !isNote {
            records[nextPosition] = record
            positions[record.id, default: []].append(nextPosition)
        }
        return JournalItem(
            operation: record.operation, id: record.id, tag: record.tag, expiry: record.expiry,
            location: JournalLocation(offset: nextPosition, length: 1), note: isNote ? record.payload : Data())
    }

    /// Drops the earlier records of the entry that are never read again.
    private func dropRecords(replacedBy record: JournalRecord, at position: Int) {
        let isPast: (UInt8) -> Bool
        switch QueueOperation(byte: record.operation) {
        case .removed: isPast = { _ in true }
        case .updated: isPast = { $0 != QueueOperation.deadLettered.byte }
        case .revived: isPast = { $0 == QueueOperation.deadLettered.byte }
        default: return
        }
        let kept = (positions[record.id] ?? []).filter { earlier in
            guard earlier < position, let operation = records[earlier]?.operation, isPast(operation) else {
                return true
            }
            records[earlier] = nil
            return false
        }
        positions[record.id] = kept.isEmpty ? nil : kept
    }
}
