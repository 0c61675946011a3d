// SPDX-License-Identifier: MIT

import PulseCore

/// Reads the lines of a ``FileJournal``. A pure function of the bytes: no input makes it trap. An intact record is
/// found whatever bytes precede it.
struct JournalScanner {
    private(set) var items: [JournalItem] = []
    /// The damaged parts, neither records nor the unfinished end, as offsets in the file.
    private(set) var damaged: [Range<Int>] = []
    /// The offset after the last valid line, where the next line goes.
    private(set) var end: Int
    /// The number of bytes after `end` that a crash left.
    private(set) var tornCount = 0
    /// Whether the last record lacks its line break.
    private(set) var lacksBreak = false

    private let base: Int
    private var lastTag: (word: Range<Int>, tag: String?)?
    /// The first line break at or after the last search position, or the end of the bytes.
    private var lineEnd = -1

    /// - Parameter base: the offset of the first byte in the file.
    init(_ bytes: UnsafeRawBufferPointer, base: Int) {
        self.base = base
        end = base
        // The trailing zeros are reserved for later lines.
        var limit = bytes.count
        while limit > 0, bytes[limit - 1] == 0 { limit -= 1 }
        scan(bytes, limit)
    }

    private mutating func scan(_ bytes: UnsafeRawBufferPointer, _ limit: Int) {
        var position = 0
        while position < limit {
            // Not once per record: the records of a damaged file may share one line.
            if lineEnd < position {
                lineEnd = bytes[position..<limit].firstIndex(of: Self.lineBreak) ?? limit
                StepCount.add(lineEnd - position)
            }
            if let (item, recordEnd) = record(bytes, position, limit) {
                items.append(item)
                position = recordEnd
                lacksBreak = recordEnd == limit
                if recordEnd < limit {
                    if bytes[recordEnd] != Self.lineBreak { addDamage(recordEnd..<recordEnd + 1) }
                    position += 1
                }
                end = base + position
            } else if lineEnd < limit {
                addDamage(position..<lineEnd + 1)
                position = lineEnd + 1
                end = base + position
            } else {
                tornCount = limit - position
                return
            }
        }
    }

    private mutating func addDamage(_ range: Range<Int>) {
        let range = base + range.lowerBound..<base + range.upperBound
        if let last = damaged.last, last.upperBound == range.lowerBound {
            damaged[damaged.count - 1] = last.lowerBound..<range.upperBound
        } else {
            damaged.append(range)
        }
    }

    // MARK: One record

    private static let lineBreak = UInt8(ascii: "\n")
    private static let space = UInt8(ascii: " ")
    /// Longer tags are never written. The limit bounds the search in a damaged line.
    static let maxTagLength = 4096

    /// The record at `start`, and its end; nil if there is none.
    private mutating func record(
        _ bytes: UnsafeRawBufferPointer, _ start: Int, _ limit: Int
    ) -> (JournalItem, Int)? {
        // Checksum, operation, id, and the shortest tag, expiry and length.
        guard limit - start >= 51, let checksum = Self.hex(bytes, start), bytes[start + 8] == Self.space,
            bytes[start + 10] == Self.space, bytes[start + 43] == Self.space
        else { return nil }
        let tagStart = start + 44
        let tagLimit = min(lineEnd, tagStart + Self.maxTagLength)
        guard tagStart < tagLimit, let tagEnd = bytes[tagStart..<tagLimit].firstIndex(of: Self.space),
            tagEnd > tagStart
        else { return nil }
        var position = tagEnd + 1
        guard let expiry = Self.number(bytes, &position, limit), let length = Self.number(bytes, &position, limit),
            // No payload contains a line break, so a wrong length costs no more than its own line.
            length <= Int64(lineEnd - position)
        else { return nil }
        let recordEnd = position + Int(length)
        StepCount.add(recordEnd - start)
        guard Checksum.of(UnsafeRawBufferPointer(rebasing: bytes[(start + 9)..<recordEnd])) == checksum,
            let id = Self.identifier(bytes, start + 11)
        else { return nil }
        let operation = bytes[start + 9]
        let isShort = operation >= UInt8(ascii: "a")
        let item = JournalItem(
            operation: operation, id: id, tag: tag(bytes, tagStart..<tagEnd), expiry: expiry,
            location: JournalLocation(offset: base + start, length: recordEnd - start),
            note: isShort ? Data(bytes[position..<recordEnd]) : Data())
        return (item, recordEnd)
    }

    /// Most lines have the tag of the line before. Reusing it needs no new string.
    private mutating func tag(_ bytes: UnsafeRawBufferPointer, _ word: Range<Int>) -> String? {
        if let (last, tag) = lastTag, last.count == word.count, bytes[last].elementsEqual(bytes[word]) { return tag }
        let tag = LogTag.read(UnsafeRawBufferPointer(rebasing: bytes[word]))
        lastTag = (word, tag)
        return tag
    }

    private static func hex(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> UInt32? {
        var value: UInt32 = 0
        for index in start..<start + 8 {
            guard let digit = digit(bytes[index]) else { return nil }
            value = value << 4 | UInt32(digit)
        }
        return value
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    private static func identifier(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> UUID? {
        var halves: (UInt64, UInt64) = (0, 0)
        for index in 0..<16 {
            guard let high = digit(bytes[start + index]), let low = digit(bytes[start + 16 + index]) else { return nil }
            halves.0 = halves.0 << 4 | UInt64(high)
            halves.1 = halves.1 << 4 | UInt64(low)
        }
        return UUID(
            uuid: unsafeBitCast((halves.0.bigEndian, halves.1.bigEndian), to: uuid_t.self))
    }

    /// Reads digits and the space after them.
    private static func number(_ bytes: UnsafeRawBufferPointer, _ position: inout Int, _ limit: Int) -> Int64? {
        var value: Int64 = 0
        let start = position
        while position < limit, position - start < 19 {
            let byte = bytes[position]
            position += 1
            if byte == space { return position - start > 1 ? value : nil }
            guard position - start < 19 else { return nil }
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            // At most 18 digits cannot overflow.
            value = value * 10 + Int64(byte - UInt8(ascii: "0"))
        }
        return nil
    }
}
