// SPDX-License-Identifier: MIT

extension JSONValue: CustomStringConvertible, CustomDebugStringConvertible {
    /// The value as JSON on one line, with sorted object keys: equal values have equal texts. Control characters, line
    /// separators and bidirectional controls are escaped.
    ///
    /// A number that is not finite, which JSON cannot represent, is `null`. The text holds everything in the value,
    /// secrets included.
    public var description: String {
        var text: [UInt8] = []
        write(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    public var debugDescription: String { description }

    private func write(to text: inout [UInt8]) {
        switch self {
        case .null: text += "null".utf8
        case .bool(let value): text += (value ? "true" : "false").utf8
        case .integer(let value): text += value.description.utf8
        case .number(let value):
            // An equal integer must have the same text.
            let number = Int64(exactly: value)?.description ?? value.description
            text += (value.isFinite ? number : "null").utf8
        case .string(let value): Self.quote(value, to: &text)
        case .array(let elements):
            text.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                element.write(to: &text)
            }
            text.append(UInt8(ascii: "]"))
        case .object(let members):
            text.append(UInt8(ascii: "{"))
            for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                Self.quote(member.key, to: &text)
                text.append(UInt8(ascii: ":"))
                member.value.write(to: &text)
            }
            text.append(UInt8(ascii: "}"))
        }
    }

    /// A JSON string (RFC 8259, section 7).
    private static func quote(_ string: String, to text: inout [UInt8]) {
        text.append(UInt8(ascii: "\""))
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"", "\\": text += "\\\(scalar)".utf8
            case "\u{8}": text += "\\b".utf8
            case "\t": text += "\\t".utf8
            case "\n": text += "\\n".utf8
            case "\u{C}": text += "\\f".utf8
            case "\r": text += "\\r".utf8
            case _ where scalar.isUnsafeInLog:
                // All of them have at most four digits.
                let digits = String(scalar.value, radix: 16)
                text += "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8
            default: text += String(scalar).utf8
            }
        }
        text.append(UInt8(ascii: "\""))
    }
}
