// SPDX-License-Identifier: MIT

/// The first line of a ``FileJournal``: `pulsekit-log VERSION CRC`.
enum JournalHeader {
    static let version = 1
    /// The line with its line break.
    static let line = line(version: version)

    enum Finding: Equatable {
        /// The header is intact; records begin at `end`.
        case intact(end: Int)
        /// The file was truncated: it is empty, or has the beginning of a header.
        case torn
        case newer(Int)
        /// The bytes up to `end` are not a header; records begin there.
        case damaged(end: Int)
    }

    static func line(version: Int) -> [UInt8] {
        let text = Array("pulsekit-log \(version) ".utf8)
        let checksum = String(text.withUnsafeBytes { Checksum.of($0) }, radix: 16)
        return text + Array((String(repeating: "0", count: 8 - checksum.count) + checksum + "\n").utf8)
    }

    static func find(in bytes: UnsafeRawBufferPointer) -> Finding {
        if bytes.starts(with: line) { return .intact(end: line.count) }
        // Only the line break is wrong.
        if bytes.count >= line.count, bytes.starts(with: line.dropLast()), bytes[line.count - 1] != 0 {
            return .damaged(end: line.count)
        }
        var limit = bytes.count
        while limit > 0, bytes[limit - 1] == 0 { limit -= 1 }
        if limit < line.count, line.starts(with: bytes[..<limit]) { return .torn }
        guard let lineBreak = bytes.prefix(64).firstIndex(of: UInt8(ascii: "\n")) else { return .damaged(end: 0) }
        let words = String(decoding: bytes[..<lineBreak], as: UTF8.self).split(separator: " ")
        if words.count == 3, let version = Int(words[1]), version > self.version,
            bytes.starts(with: line(version: version))
        {
            return .newer(version)
        }
        return .damaged(end: lineBreak + 1)
    }
}
