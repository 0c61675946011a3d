// SPDX-License-Identifier: MIT

import PulseCore

/// A log that ends with the process, for a queue that is not to write to the disk. It keeps no more than may be asked
/// for again. Safe from any thread.
package actor MemoryLog: RecordLog {
    /// The records by their place.
    private var records: [Int: LogRecord] = [:]
    private var places: [UUID: [Int]] = [:]
    private var nextPlace = 0
    private var isClosed = false
    private let apply: @Sendable (LogChange) -> Void

    package init(apply: @escaping @Sendable (LogChange) -> Void) {
        self.apply = apply
    }

    /// Compacting gains nothing: the log forgets by itself.
    package nonisolated var size: Int { 0 }

    package func append(_ records: [LogRecord], admission: (@Sendable () throws -> [LogRecord])?) throws {
        try checkOpen()
        let all = try admission.map { try $0() + records } ?? records
        let items = all.map { keep($0) }
        apply(.appended(items))
        for (record, item) in zip(all, items) { forget(replacedBy: record, at: item.location.offset) }
    }

    package func read(_ locate: @escaping @Sendable () -> LogLocation?) throws -> LogRecord? {
        try checkOpen()
        return locate().flatMap { records[$0.offset] }
    }

    package func refresh(_ body: @escaping @Sendable () throws -> Void) throws {
        try checkOpen()
        try body()
    }

    package func compact(_ contents: @escaping @Sendable () -> [LogContent]?) throws {
        try checkOpen()
        guard let contents = contents() else { return }
        let kept = contents.compactMap { content -> LogRecord? in
            switch content {
            case .record(let record): record
            case .copy(let location): records[location.offset]
            case .changed(let location, let operation, let expiry):
                records[location.offset]?.with(operation: operation, expiry: expiry)
            }
        }
        (records, places) = ([:], [:])
        apply(.reset(kept.map { keep($0) }))
    }

    package func discardDamaged() throws {
        try checkOpen()
    }

    package func close() {
        isClosed = true
    }

    /// How many records it holds: for tests.
    var count: Int { records.count }

    private func checkOpen() throws {
        if isClosed { throw PulseError.cancelled }
    }

    /// A note is handed out now, and never asked for again.
    private func keep(_ record: LogRecord) -> LogItem {
        let isNote = record.operation >= UInt8(ascii: "a")
        nextPlace += 1
        if !isNote {
            records[nextPlace] = record
            places[record.id, default: []].append(nextPlace)
        }
        return LogItem(
            operation: record.operation, id: record.id, tag: record.tag, expiry: record.expiry,
            location: LogLocation(offset: nextPlace, length: 1), note: isNote ? record.payload : Data())
    }

    /// Forgets the earlier records of the entry that are never asked for again.
    private func forget(replacedBy record: LogRecord, at place: Int) {
        let isPast: (UInt8) -> Bool
        switch QueueOperation(byte: record.operation) {
        case .removed: isPast = { _ in true }
        case .updated: isPast = { $0 != QueueOperation.deadLettered.byte }
        case .revived: isPast = { $0 == QueueOperation.deadLettered.byte }
        default: return
        }
        let kept = (places[record.id] ?? []).filter { earlier in
            guard earlier < place, let operation = records[earlier]?.operation, isPast(operation) else { return true }
            records[earlier] = nil
            return false
        }
        places[record.id] = kept.isEmpty ? nil : kept
    }
}
