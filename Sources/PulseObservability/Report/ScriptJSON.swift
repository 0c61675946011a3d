// SPDX-License-Identifier: MIT

import PulseCore

/// Encodes JSON that is safe inside a `script` element.
enum ScriptJSON {
    /// The JSON of a value; `null` if it cannot be encoded.
    static func text(of value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let json = try? encoder.encode(value) else { return "null" }
        return escaped(json)
    }

    /// Escapes the characters that HTML or JavaScript may interpret. In JSON they occur only in strings, where an
    /// escape has the same meaning.
    static func escaped(_ json: Data) -> String {
        var output: [UInt8] = []
        output.reserveCapacity(json.count + json.count / 16)
        var index = json.startIndex
        while index < json.endIndex {
            let byte = json[index]
            switch byte {
            case UInt8(ascii: "<"): output += #"\u003c"#.utf8
            case UInt8(ascii: ">"): output += #"\u003e"#.utf8
            case UInt8(ascii: "&"): output += #"\u0026"#.utf8
            case 0xE2 where json[index...].starts(with: [0xE2, 0x80, 0xA8]):
                output += #"\u2028"#.utf8
                index += 2
            case 0xE2 where json[index...].starts(with: [0xE2, 0x80, 0xA9]):
                output += #"\u2029"#.utf8
                index += 2
            default: output.append(byte)
            }
            index += 1
        }
        return String(decoding: output, as: UTF8.self)
    }
}
