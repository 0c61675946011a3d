// SPDX-License-Identifier: MIT

import PulseCore

/// Encoded lines to append to a ``FileJournal``, with their items.
struct JournalBatch: Sendable {
    private(set) var bytes: [UInt8] = []
    /// The items of the lines. Their locations are offsets in `bytes`.
    private var items: [JournalItem] = []

    /// Throws ``JournalFailure``.
    init(_ records: [JournalRecord] = []) throws {
        for record in records { try append(record) }
    }

    mutating func append(_ record: JournalRecord) throws {
        items.append(try record.write(to: &bytes))
    }

    static func += (lines: inout JournalBatch, more: JournalBatch) {
        lines.items += more.items(from: lines.bytes.count)
        lines.bytes += more.bytes
    }

    /// The items, located in a file that contains these bytes at `offset`.
    func items(from offset: Int) -> [JournalItem] {
        guard offset > 0 else { return items }
        return items.map { item in
            var moved = item
            moved.location.offset += offset
            return moved
        }
    }
}
