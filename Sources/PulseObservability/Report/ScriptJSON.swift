// SPDX-License-Identifier: MIT

import PulseCore

/// JSON that may stand inside a `script` element, whatever is in it.
enum ScriptJSON {
    /// `null` for what cannot be encoded.
    static func text(of value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let json = try? encoder.encode(value) else { return "null" }
        return escaped(json)
    }

    /// Without anything that HTML or JavaScript reads as more than a character of a string: outside strings JSON has
    /// none of these, and inside an escape means the same.
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
