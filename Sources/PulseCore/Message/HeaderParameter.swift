// SPDX-License-Identifier: MIT

/// The parameters after a header value: `form-data; name="a"; filename="b"` (RFC 9110, section 5.6.6).
package enum HeaderParameter {
    /// The value of a parameter, whose name is given in lower case, or of its extended form (`name*`, RFC 8187).
    package static func value(of name: String, in header: [UInt8]) -> [UInt8]? {
        var index = semicolon(header, from: 0) + 1
        while index < header.count {
            while index < header.count, header[index] == 0x20 || header[index] == 0x09 { index += 1 }
            let end = semicolon(header, from: index)
            if let sign = header[index..<end].firstIndex(of: UInt8(ascii: "=")) {
                let found = String(decoding: header[index..<sign], as: UTF8.self).asciiLowercased
                    .trimmingCharacters(in: .whitespaces)
                if found == name { return unquoted(trimmed(header[(sign + 1)..<end])) }
                if found == name + "*" {
                    let last = header[sign..<end].lastIndex(of: UInt8(ascii: "'")) ?? sign
                    return PercentEncoding.lenientlyDecoded(header, in: (last + 1)..<end)
                }
            }
            index = end + 1
        }
        return nil
    }

    /// The next semicolon outside quotes, or the end.
    private static func semicolon(_ header: [UInt8], from start: Int) -> Int {
        var isQuoted = false
        var index = start
        while index < header.count {
            switch header[index] {
            case UInt8(ascii: "\\") where isQuoted: index += 1
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: ";") where !isQuoted: return index
            default: break
            }
            index += 1
        }
        return header.count
    }

    private static func trimmed(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        let text = value.drop(while: isBlank)
        return text.prefix(upTo: text.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? text.startIndex)
    }

    private static func unquoted(_ value: ArraySlice<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        var isEscaped = false
        for byte in value {
            if !isEscaped, byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else {
                if isEscaped || byte != UInt8(ascii: "\"") { output.append(byte) }
                isEscaped = false
            }
        }
        return output
    }
}
