// SPDX-License-Identifier: MIT

/// The members of a JSON object as slices of its text, to decode each of them separately.
///
/// Only the structure of the object itself is checked; the decoder of a member checks its content. As in Foundation,
/// the first of several members with one name counts.
package struct JSONMembers {
    private let text: Data
    private let ranges: [(name: String, value: Range<Int>)]

    /// Throws `DecodingError.dataCorrupted` if the text is not a JSON object.
    package init(of data: Data) throws {
        text = try JSONParser.utf8(data)
        ranges = try text.withUnsafeBytes { bytes in
            var reader = Reader(bytes: bytes.bindMemory(to: UInt8.self))
            return try reader.members()
        }
    }

    /// The text of a member; nil if there is none, or if it is null.
    package subscript(name: String) -> Data? {
        guard let member = ranges.first(where: { $0.name == name }) else { return nil }
        return text.withUnsafeBytes { bytes in
            bytes[member.value].elementsEqual("null".utf8) ? nil : Data(bytes[member.value])
        }
    }

    /// Whether there is a member with this name, null or not.
    package func has(_ name: String) -> Bool {
        ranges.contains { $0.name == name }
    }
}

private struct Reader {
    let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0

    init(bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    mutating func members() throws -> [(name: String, value: Range<Int>)] {
        var members: [(name: String, value: Range<Int>)] = []
        try skip(UInt8(ascii: "{"))
        while next() != UInt8(ascii: "}") {
            guard next() == UInt8(ascii: "\"") else { throw fault("no member name") }
            let name = try text(of: string())
            try skip(UInt8(ascii: ":"))
            members.append((name, try value()))
            if next() == UInt8(ascii: ",") {
                position += 1
            } else if next() != UInt8(ascii: "}") {
                throw fault("neither a comma nor the end of the object")
            }
        }
        position += 1
        guard next() == nil else { throw fault("more than one value") }
        return members
    }

    /// The range of a value, without the whitespace around it.
    private mutating func value() throws -> Range<Int> {
        guard next() != nil else { throw fault("no value") }
        let start = position
        var depth = 0
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""): _ = try string()
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: "}") where depth == 0, UInt8(ascii: ",") where depth == 0:
                guard position > start else { throw fault("no value") }
                return start..<end(after: start)
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                position += 1
            default: position += 1
            }
        }
        throw fault("the end of the text within a value")
    }

    /// The position after the last byte that is not whitespace.
    private func end(after start: Int) -> Int {
        var end = position
        while end > start, Self.isSpace(bytes[end - 1]) { end -= 1 }
        return end
    }

    private func text(of string: Range<Int>) throws -> String {
        guard bytes[string].contains(UInt8(ascii: "\\")) else { return String(decoding: bytes[string], as: UTF8.self) }
        let quoted = Data(bytes[(string.lowerBound - 1)...string.upperBound])
        guard case .string(let text) = try JSONParser.value(of: quoted) else { throw fault("no member name") }
        return text
    }

    /// The range of the string at the position, without its quotes.
    private mutating func string() throws -> Range<Int> {
        let start = position + 1
        position = start
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard position < bytes.count else { throw fault("the end of the text within a string") }
        position += 1
        return start..<(position - 1)
    }

    private mutating func skip(_ byte: UInt8) throws {
        guard next() == byte else { throw fault("no \(Character(Unicode.Scalar(byte)))") }
        position += 1
    }

    /// The next byte that is not whitespace.
    private mutating func next() -> UInt8? {
        while position < bytes.count, Self.isSpace(bytes[position]) { position += 1 }
        return position < bytes.count ? bytes[position] : nil
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    private func fault(_ reason: String) -> DecodingError {
        let text = "The given data was not valid JSON: \(reason) at byte \(position)."
        return .dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: text))
    }
}
