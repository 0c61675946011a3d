// SPDX-License-Identifier: MIT

/// The file name that a server suggests for a body: `attachment; filename="report.pdf"` (RFC 6266).
package enum ContentDisposition {
    /// The name in a `Content-Disposition`, as the server sent it; nil without one. `filename*` comes first (section
    /// 4.3), unless its value is malformed.
    package static func name(in field: [UInt8]) -> String? {
        var scanner = ParameterScanner(rest: field[...], isList: false)
        _ = scanner.take { $0 != UInt8(ascii: ";") }
        var (plain, extended): (String?, String?)
        while let (name, value) = scanner.parameter() {
            let rest = scanner.take { $0 != UInt8(ascii: ";") }
            guard let value else { continue }
            if name == "filename", plain == nil {
                // Many servers do not quote a name with blanks, and all browsers accept it.
                plain = text(rest.allSatisfy(\.isBlank) ? value : value + rest)
            }
            if name == "filename*", extended == nil { extended = extendedText(value) }
        }
        return extended ?? plain
    }

    /// Decodes UTF-8, or else ISO-8859-1: servers send both.
    private static func text(_ octets: [UInt8]) -> String {
        utf8(octets) ?? latin1(octets)
    }

    /// Nil for octets that are not UTF-8.
    private static func utf8(_ octets: [UInt8]) -> String? {
        let text = String(decoding: octets, as: UTF8.self)
        return Array(text.utf8) == octets ? text : nil
    }

    private static func latin1(_ octets: [UInt8]) -> String {
        String(String.UnicodeScalarView(octets.map { Unicode.Scalar($0) }))
    }

    /// `UTF-8'en'na%C3%AFve.txt` (RFC 8187, section 3.2); nil if it is malformed.
    private static func extendedText(_ octets: [UInt8]) -> String? {
        let parts = octets.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        var decoded: [UInt8] = []
        var rest = parts[2]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                decoded.append(byte)
                continue
            }
            guard rest.count >= 2, rest.prefix(2).allSatisfy(\.isHexDigit),
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            else { return nil }
            decoded.append(value)
            rest = rest.dropFirst(2)
        }
        switch String(decoding: parts[0], as: UTF8.self).asciiLowercased {
        case "utf-8": return utf8(decoded)
        case "iso-8859-1": return latin1(decoded)
        default: return nil
        }
    }
}

/// A name that is safe for a new file.
package enum SafeFileName {
    /// In bytes of UTF-8. File systems allow 255; the rest is for a number, or for the name of a companion file.
    private static let limit = 200

    /// The last component of a name from a server, without anything that could change the directory, hide the file or
    /// disguise its type: control and formatting characters, and dots and blanks at its ends. Nil if nothing remains.
    package static func from(_ text: String) -> String? {
        // Scalars, since a separator and a mark or joiner after it form one character, which equals neither.
        let visible = text.unicodeScalars.filter { !isHidden($0) }
        var name = visible.split(omittingEmptySubsequences: false) { $0 == "/" || $0 == "\\" }.last ?? visible[...]
        while let first = name.first, first == "." || first.properties.isWhitespace { name.removeFirst() }
        while let last = name.last, last == "." || last.properties.isWhitespace { name.removeLast() }
        guard !name.isEmpty else { return nil }
        let whole = String(String.UnicodeScalarView(name))
        let (stem, ending) = parts(whole)
        return ending.utf8.count > limit / 4
            ? prefix(of: whole, bytes: limit) : prefix(of: stem, bytes: limit - ending.utf8.count) + ending
    }

    /// The start of a text, of at most that many bytes.
    package static func prefix(of text: String, bytes: Int) -> String {
        var count = 0
        let start = text.unicodeScalars.prefix { scalar in
            count += UTF8.width(scalar)
            return count <= bytes
        }
        return String(start)
    }

    /// The name with a number, as for a second file of that name: `report (1).pdf`.
    package static func numbered(_ name: String, _ number: Int) -> String {
        let (stem, ending) = parts(name)
        return "\(stem) (\(number))\(ending)"
    }

    /// The name without its ending, and the ending with its dot.
    private static func parts(_ name: String) -> (stem: String, ending: String) {
        let scalars = name.unicodeScalars
        guard let dot = scalars.lastIndex(of: "."), dot > scalars.startIndex else { return (name, "") }
        return (String(scalars[..<dot]), String(scalars[dot...]))
    }

    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: true
        default: false
        }
    }
}

extension UInt8 {
    fileprivate var isHexDigit: Bool { Character(Unicode.Scalar(self)).isHexDigit }
}
