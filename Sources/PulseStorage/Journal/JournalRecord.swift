// SPDX-License-Identifier: MIT

import PulseCore

/// One line of a ``FileJournal``: `crc op id tag expiry length payload`.
///
/// All fields but the payload are plain text, so that a journal is opened without decoding payloads. The checksum
/// covers the rest of the line.
package struct JournalRecord: Sendable, Equatable {
    /// An ASCII letter. In lower case, the payload is short and is kept in memory when the journal is read. In upper
    /// case, it stays on the disk until it is read.
    package var operation: UInt8
    package var id: UUID
    package var tag: String?
    /// Milliseconds since 1970; 0 for never.
    package var expiry: Int64
    /// Any bytes but line breaks.
    package var payload: Data

    package init(
        _ operation: Character, _ id: UUID, tag: String? = nil, expiry: Int64 = 0, payload: Data = Data()
    ) {
        self.operation = operation.asciiValue ?? UInt8(ascii: "?")
        self.id = id
        self.tag = tag
        self.expiry = expiry
        self.payload = payload
    }

    /// Whether the payload is a note.
    private var isShort: Bool { operation >= UInt8(ascii: "a") }

    func with(operation: UInt8, expiry: Int64) -> JournalRecord {
        var copy = self
        (copy.operation, copy.expiry) = (operation, expiry)
        return copy
    }

    init(_ item: JournalItem, payload: Data) {
        operation = item.operation
        id = item.id
        tag = item.tag
        expiry = item.expiry
        self.payload = payload
    }
}

/// The part of a record that is kept in memory.
package struct JournalItem: Sendable {
    package var operation: UInt8
    package var id: UUID
    package var tag: String?
    package var expiry: Int64
    package var location: JournalLocation
    /// The payload of an operation in lower case; otherwise empty.
    package var note: Data
}

/// The location of a line: starts at its checksum, ends before its line break.
package struct JournalLocation: Sendable, Hashable {
    package var offset: Int
    package var length: Int
}

extension JournalRecord {
    /// Appends the line with its line break. Returns its item, with its location among these bytes. Throws
    /// ``JournalFailure/notOneLine`` and ``JournalFailure/tagTooLong``.
    @discardableResult
    func write(to line: inout [UInt8]) throws -> JournalItem {
        guard !payload.contains(UInt8(ascii: "\n")) else { throw JournalFailure.notOneLine }
        let start = line.count
        line.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: 8))
        line.append(UInt8(ascii: " "))
        line.append(operation)
        line.append(UInt8(ascii: " "))
        withUnsafeBytes(of: id.uuid) { bytes in
            for byte in bytes {
                line.append(Self.digit(byte >> 4))
                line.append(Self.digit(byte & 15))
            }
        }
        line.append(UInt8(ascii: " "))
        let tagStart = line.count
        LogTag.write(tag, to: &line)
        guard line.count - tagStart < JournalScanner.maxTagLength else { throw JournalFailure.tagTooLong }
        let expiry = min(max(0, expiry), Self.latest)
        line.append(contentsOf: " \(expiry) \(payload.count) ".utf8)
        line.append(contentsOf: payload)
        let checksum = line.withUnsafeBytes { Checksum.of(UnsafeRawBufferPointer(rebasing: $0[(start + 9)...])) }
        for index in 0..<8 {
            line[start + index] = Self.digit(UInt8(truncatingIfNeeded: checksum >> UInt32(28 - 4 * index)) & 15)
        }
        let location = JournalLocation(offset: start, length: line.count - start)
        line.append(UInt8(ascii: "\n"))
        return JournalItem(
            operation: operation, id: id, tag: tag, expiry: expiry, location: location, note: isShort ? payload : Data()
        )
    }

    /// The largest number of eighteen digits: some thirty million years.
    private static let latest: Int64 = 999_999_999_999_999_999

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
    }
}

/// A tag as one word: `-` for no tag, `%` for the empty one. Characters that would end the word are percent-encoded.
enum LogTag {
    private static let none = UInt8(ascii: "-")
    private static let escape = UInt8(ascii: "%")

    static func write(_ tag: String?, to line: inout [UInt8]) {
        guard let tag else { return line.append(none) }
        guard !tag.isEmpty else { return line.append(escape) }
        if tag == "-" { return line.append(contentsOf: "%2D".utf8) }
        for byte in tag.utf8 {
            if byte > 0x20, byte != escape, byte != 0x7F {
                line.append(byte)
            } else {
                let digits = Array("0123456789ABCDEF".utf8)
                line.append(contentsOf: [escape, digits[Int(byte >> 4)], digits[Int(byte & 15)]])
            }
        }
    }

    static func read(_ word: UnsafeRawBufferPointer) -> String? {
        if word.count == 1, word[0] == none { return nil }
        if word.count == 1, word[0] == escape { return "" }
        let text = String(decoding: word, as: UTF8.self)
        return word.contains(escape) ? text.removingPercentEncoding ?? text : text
    }
}
