// SPDX-License-Identifier: MIT

import PulseCore

/// Splits a body, fed in chunks, into lines. A line ends with LF or CRLF only, not with CR or U+2028.
struct LineSplitter: Sendable {
    private let maxLength: Int
    private var buffer: LineBuffer

    /// - Parameter maxLength: the limit of a line in bytes, without its end.
    init(maxLength: Int, skipsByteOrderMark: Bool) {
        self.maxLength = maxLength
        buffer = LineBuffer(skipsByteOrderMark: skipsByteOrderMark, maxLength: maxLength)
    }

    mutating func append(_ chunk: Data) {
        buffer.append(chunk)
    }

    /// Returns the next line without its end; nil if more bytes are needed. Throws
    /// ``PulseError/responseTooLarge(limit:)``, after which the splitter must not be used.
    mutating func next() throws -> String? {
        guard let line = buffer.nextLine() else {
            // A CR at the end may belong to the line end.
            try check(buffer.restLength - 1)
            return nil
        }
        return try text(line)
    }

    /// Returns the last line, if it has no end; nil if there is none.
    mutating func finish() throws -> String? {
        let line = buffer.takeRest()
        guard !line.isEmpty else { return nil }
        try check(line.count)
        return buffer.withBytes(in: line) { String(decoding: $0, as: UTF8.self) }
    }

    private func text(_ line: Range<Int>) throws -> String {
        try buffer.withBytes(in: line) { bytes in
            let end = bytes.last == UInt8(ascii: "\r") ? bytes.count - 1 : bytes.count
            try check(end)
            return String(decoding: bytes[..<end], as: UTF8.self)
        }
    }

    private func check(_ length: Int) throws {
        guard length <= maxLength else { throw PulseError.responseTooLarge(limit: maxLength) }
    }
}
