// SPDX-License-Identifier: MIT

import PulseCore

/// Encoded lines to append to an ``AppendLog``, with their items.
struct LogLines: Sendable {
    private(set) var bytes: [UInt8] = []
    /// The items of the lines. Their locations are offsets in `bytes`.
    private var items: [LogItem] = []

    /// Throws ``JournalFailure``.
    init(_ records: [LogRecord] = []) throws {
        for record in records { try append(record) }
    }

    mutating func append(_ record: LogRecord) throws {
        items.append(try record.write(to: &bytes))
    }

    static func += (lines: inout LogLines, more: LogLines) {
        lines.items += more.items(from: lines.bytes.count)
        lines.bytes += more.bytes
    }

    /// The items, located in a file that contains these bytes at `offset`.
    func items(from offset: Int) -> [LogItem] {
        guard offset > 0 else { return items }
        return items.map { item in
            var moved = item
            moved.location.offset += offset
            return moved
        }
    }
}
