// SPDX-License-Identifier: MIT

/// Reads the parameters of a header field: `; name=token; name="quoted text"` (RFC 9110, section 5.6.6), also where
/// blanks surround the `=` or a value is missing.
struct ParameterScanner {
    var rest: ArraySlice<UInt8>
    /// Whether a comma ends the parameters, since the field is a list.
    let isList: Bool

    /// The next parameter; nil after the last. The name is in lower case, the value nil without a `=`.
    mutating func parameter() -> (name: String, value: [UInt8]?)? {
        let isList = isList
        let isEnd = { (byte: UInt8) in byte == UInt8(ascii: ";") || isList && byte == UInt8(ascii: ",") }
        skip(while: \.isBlank)
        guard rest.first == UInt8(ascii: ";") else {
            // Skips text that is not a parameter, up to the next list member.
            skip { !isList || $0 != UInt8(ascii: ",") }
            return nil
        }
        skip { $0.isBlank || $0 == UInt8(ascii: ";") }
        let octets = take { !$0.isBlank && $0 != UInt8(ascii: "=") && !isEnd($0) }
        let name = String(decoding: octets, as: UTF8.self).asciiLowercased
        skip(while: \.isBlank)
        guard rest.first == UInt8(ascii: "=") else { return (name, nil) }
        rest.removeFirst()
        skip(while: \.isBlank)
        return (name, rest.first == UInt8(ascii: "\"") ? quotedText() : take { !$0.isBlank && !isEnd($0) })
    }

    /// Takes the quoted string at the start (RFC 9110, section 5.6.4). An unterminated one ends with the field line.
    private mutating func quotedText() -> [UInt8] {
        rest.removeFirst()
        var text: [UInt8] = []
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            if byte != UInt8(ascii: "\\") {
                text.append(byte)
            } else if let escaped = rest.popFirst() {
                text.append(escaped)
            }
        }
        return text
    }

    mutating func skip(while condition: (UInt8) -> Bool) {
        rest = rest.drop(while: condition)
    }

    mutating func take(while condition: (UInt8) -> Bool) -> [UInt8] {
        let taken = rest.prefix(while: condition)
        rest = rest[taken.endIndex...]
        return Array(taken)
    }
}

extension UInt8 {
    /// A space or a tab.
    var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}
