// SPDX-License-Identifier: MIT

import PulseCore

/// Splits a body, fed in chunks, into JSON texts. It does not validate them.
struct JSONTextSplitter: Sendable {
    enum Format: Sendable {
        /// JSON Lines: a text for each line that is not blank. A byte order mark at the start is skipped.
        case lines
        /// A JSON text sequence (RFC 7464): each text begins with RS and ends with LF.
        case sequence
    }

    /// A text of a sequence that was truncated before its LF, or bytes outside a text. Later texts can still be read.
    struct CutText: Error, CustomStringConvertible {
        let text: Data

        var description: String { "a text of the sequence was cut, or does not begin with RS" }
    }

    private let format: Format
    private let maxLength: Int
    private var lines: LineBuffer
    private var sequence = JSONSequence()

    /// - Parameter maxLength: the limit of a text in bytes, without the end of its line.
    init(_ format: Format, maxLength: Int) {
        self.format = format
        self.maxLength = maxLength
        lines = LineBuffer(skipsByteOrderMark: true, maxLength: maxLength)
    }

    mutating func append(_ chunk: Data) {
        switch format {
        case .lines: lines.append(chunk)
        case .sequence: sequence.append(chunk)
        }
    }

    /// Returns the next text; nil if more bytes are needed. Throws ``CutText``, and
    /// ``PulseError/responseTooLarge(limit:)``, after which the splitter must not be used.
    mutating func next() throws -> Data? {
        switch format {
        case .lines:
            while let line = lines.nextLine() {
                if let text = try text(in: line) { return text }
            }
            // A CR at the end may belong to the line end.
            try check(lines.restLength - 1)
            return nil
        case .sequence:
            let text = try sequence.next()
            // Each text ends with LF.
            try check((text?.count ?? sequence.restLength) - 1)
            return text
        }
    }

    /// Returns the text at the end; nil if there is none. Throws as ``next()`` does.
    mutating func finish() throws -> Data? {
        switch format {
        case .lines: try text(in: lines.takeRest())
        case .sequence: try sequence.finish()
        }
    }

    /// The text in a line; nil if the line is blank.
    private func text(in line: Range<Int>) throws -> Data? {
        try lines.withBytes(in: line) { bytes in
            try check(bytes.last == UInt8(ascii: "\r") ? bytes.count - 1 : bytes.count)
            return bytes.allSatisfy(\.isJSONSpace) ? nil : Data(bytes)
        }
    }

    private func check(_ length: Int) throws {
        guard length <= maxLength else { throw PulseError.responseTooLarge(limit: maxLength) }
    }
}

/// The received bytes of a JSON text sequence that were not returned yet.
///
/// RS alone separates the texts, which may have several lines. A text is returned at the LF after which all of its
/// brackets are closed, since the next RS may arrive much later.
private struct JSONSequence: Sendable {
    private static let separator: UInt8 = 0x1E

    private var bytes: [UInt8] = []
    private var start = 0
    private var searched = 0
    /// Whether the bytes from `start` follow an RS.
    private var isInText = false
    /// Whether they are more than whitespace.
    private var isBegun = false
    private var depth = 0
    private var isInString = false
    private var isEscaped = false

    var restLength: Int { bytes.count - start }

    mutating func append(_ chunk: Data) {
        if start > 0 {
            bytes.removeSubrange(..<start)
            (start, searched) = (0, searched - start)
        }
        chunk.withUnsafeBytes { bytes.append(contentsOf: $0) }
    }

    mutating func next() throws -> Data? {
        let first = searched
        defer { StepCount.add(searched - first) }
        while searched < bytes.count {
            let byte = bytes[searched]
            searched += 1
            // Whitespace before a text is not part of it.
            if byte.isJSONSpace, start == searched - 1 { start = searched }
            if byte == Self.separator {
                let text = try take(upTo: searched - 1, isInText: true)
                if let text { return text }
            } else if isInText, endsText(with: byte), let text = try take(upTo: searched, isInText: false) {
                return text
            }
        }
        return nil
    }

    mutating func finish() throws -> Data? {
        try take(upTo: bytes.count, isInText: false)
    }

    /// Takes the text from `start` and begins the next. Returns nil for a blank text; throws for an incomplete one.
    private mutating func take(upTo end: Int, isInText next: Bool) throws -> Data? {
        let text = bytes[start..<end]
        let isWhole = isInText && text.last == UInt8(ascii: "\n")
        start = next ? end + 1 : end
        (isInText, isBegun, depth, isInString, isEscaped) = (next, false, 0, false, false)
        guard !text.allSatisfy(\.isJSONSpace) else { return nil }
        guard isWhole else { throw JSONTextSplitter.CutText(text: Data(text)) }
        return Data(text)
    }

    /// Whether the byte is an LF with all brackets and strings closed.
    private mutating func endsText(with byte: UInt8) -> Bool {
        if isInString {
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isInString = false
            }
            return false
        }
        if !byte.isJSONSpace { isBegun = true }
        switch byte {
        case UInt8(ascii: "\""): isInString = true
        case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
        default: break
        }
        return byte == UInt8(ascii: "\n") && isBegun && depth <= 0
    }
}

extension UInt8 {
    fileprivate var isJSONSpace: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}
