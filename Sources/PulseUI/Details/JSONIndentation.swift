// SPDX-License-Identifier: MIT

import PulseCore

/// Indents JSON token by token: only whitespace between tokens changes, so the order of keys, repeated keys and every
/// digit of a number stay.
struct JSONIndentation {
    private enum Expectation {
        case value, valueOrEnd, key, keyOrEnd, colon, commaOrEnd
    }

    /// Deeper values are not indented further: whitespace grows with the square of the depth.
    static let maxDepth = 32

    private let bytes: [UInt8]
    private let isTruncated: Bool
    private var position = 0
    private var output: [UInt8] = []
    /// The open brackets.
    private var open: [UInt8] = []
    private var expected = Expectation.value

    /// The indented text; nil if it is not JSON, or a single scalar.
    ///
    /// A sequence of values, such as JSON Lines, is JSON here.
    ///
    /// - Parameter isTruncated: whether the text is only the beginning of a body, which may end anywhere.
    static func indented(_ text: String, isTruncated: Bool = false) -> String? {
        guard let first = text.utf8.first(where: { !isBlank($0) }),
            first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
        else { return nil }
        var indentation = JSONIndentation(Array(text.utf8), isTruncated)
        return indentation.run() ? String(decoding: indentation.output, as: UTF8.self) : nil
    }

    private init(_ bytes: [UInt8], _ isTruncated: Bool) {
        self.bytes = bytes
        self.isTruncated = isTruncated
        output.reserveCapacity(bytes.count * 2)
    }

    private mutating func run() -> Bool {
        while position < bytes.count {
            let byte = bytes[position]
            if Self.isBlank(byte) {
                position += 1
            } else if !take(byte) {
                return false
            }
            if position > bytes.count { return isTruncated }
        }
        return isTruncated || open.isEmpty && expected == .commaOrEnd
    }

    /// Writes the token that begins with `byte`; false if it is not allowed here.
    private mutating func take(_ byte: UInt8) -> Bool {
        switch (byte, expected) {
        case (UInt8(ascii: ","), .commaOrEnd) where !open.isEmpty:
            write(byte)
            expected = open.last == UInt8(ascii: "{") ? .key : .value
            breakLine()
        case (UInt8(ascii: ":"), .colon):
            write(byte)
            output.append(UInt8(ascii: " "))
            expected = .value
        case (UInt8(ascii: "}"), .keyOrEnd), (UInt8(ascii: "}"), .commaOrEnd): return close(UInt8(ascii: "{"))
        case (UInt8(ascii: "]"), .valueOrEnd), (UInt8(ascii: "]"), .commaOrEnd): return close(UInt8(ascii: "["))
        case (UInt8(ascii: "\""), .key), (UInt8(ascii: "\""), .keyOrEnd):
            beginFirst()
            string()
            expected = .colon
        case (_, .value), (_, .valueOrEnd): return value(byte)
        // The next of several values in a sequence.
        case (_, .commaOrEnd) where open.isEmpty && position > 0 && Self.isBlank(bytes[position - 1]):
            breakLine()
            return value(byte)
        default: return false
        }
        return true
    }

    private mutating func value(_ byte: UInt8) -> Bool {
        beginFirst()
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            write(byte)
            open.append(byte)
            expected = byte == UInt8(ascii: "{") ? .keyOrEnd : .valueOrEnd
            return true
        case UInt8(ascii: "\""): string()
        default: guard word() else { return false }
        }
        expected = .commaOrEnd
        return true
    }

    /// Starts the line of a container's first element.
    private mutating func beginFirst() {
        if expected == .keyOrEnd || expected == .valueOrEnd { breakLine() }
    }

    private mutating func close(_ bracket: UInt8) -> Bool {
        guard open.last == bracket else { return false }
        open.removeLast()
        // An empty container stays on its line.
        if expected == .commaOrEnd { breakLine() }
        write(bytes[position])
        expected = .commaOrEnd
        return true
    }

    private mutating func write(_ byte: UInt8) {
        output.append(byte)
        position += 1
    }

    /// Writes a string unchanged. An unterminated one leaves the position beyond the text.
    private mutating func string() {
        write(bytes[position])
        while position < bytes.count {
            let byte = bytes[position]
            write(byte)
            if byte == UInt8(ascii: "\"") { return }
            if byte == UInt8(ascii: "\\"), position < bytes.count { write(bytes[position]) }
        }
        position += 1
    }

    /// Writes a number, `true`, `false` or `null` unchanged; false if it is none of them.
    private mutating func word() -> Bool {
        let start = position
        while position < bytes.count, !Self.endsWord(bytes[position]) { write(bytes[position]) }
        let word = bytes[start..<position]
        if let first = word.first, first == UInt8(ascii: "-") || Self.digits.contains(first) {
            return word.allSatisfy { Self.digits.contains($0) || "+-.eE".utf8.contains($0) }
        }
        let isCut = isTruncated && position == bytes.count
        return ["true", "false", "null"].contains { name in
            isCut ? name.utf8.starts(with: word) : name.utf8.elementsEqual(word)
        }
    }

    private mutating func breakLine() {
        output.append(UInt8(ascii: "\n"))
        output.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * min(open.count, Self.maxDepth)))
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    private static func endsWord(_ byte: UInt8) -> Bool {
        isBlank(byte) || ",:]}[{\"".utf8.contains(byte)
    }

    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
}
