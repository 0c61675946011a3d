// SPDX-License-Identifier: MIT

import PulseCore

/// An element of `Sec-WebSocket-Extensions` (RFC 6455, section 9.1).
package struct SocketExtension {
    /// Why a field violates the RFCs, which fails the handshake.
    package struct Failure: Error, Hashable {
        package let reason: String
    }

    /// In lower case, as are the names of the parameters.
    let name: String
    let parameters: [(name: String, value: String?)]

    /// Reads a field, whose lines are joined by commas.
    static func list(_ field: String) throws(Failure) -> [SocketExtension] {
        var scanner = SocketExtensionScanner(field)
        var list: [SocketExtension] = []
        repeat {
            // Recipients ignore empty elements (RFC 9110, section 5.6.1.2).
            if !scanner.isAtElementEnd { list.append(try scanner.element()) }
        } while scanner.skip(UInt8(ascii: ","))
        guard scanner.isAtElementEnd else { throw Failure(reason: "a character that separates nothing") }
        guard !list.isEmpty else { throw Failure(reason: "a list of extensions without one") }
        return list
    }
}

/// The grammar is that of RFC 2616, which allows blanks between all parts (its section 2.1).
private struct SocketExtensionScanner {
    private var rest: ArraySlice<UInt8>

    init(_ field: String) {
        rest = Array(field.utf8)[...]
        skipBlanks()
    }

    var isAtElementEnd: Bool { rest.first == nil || rest.first == UInt8(ascii: ",") }

    /// Skips a separator with the blanks around it, if it is next.
    mutating func skip(_ separator: UInt8) -> Bool {
        skipBlanks()
        guard rest.first == separator else { return false }
        rest.removeFirst()
        skipBlanks()
        return true
    }

    mutating func element() throws(SocketExtension.Failure) -> SocketExtension {
        let name = try token().asciiLowercased
        var parameters: [(name: String, value: String?)] = []
        while skip(UInt8(ascii: ";")) {
            let name = try token().asciiLowercased
            parameters.append((name, skip(UInt8(ascii: "=")) ? try value() : nil))
        }
        return SocketExtension(name: name, parameters: parameters)
    }

    /// A token, which may be quoted.
    private mutating func value() throws(SocketExtension.Failure) -> String {
        guard rest.first == UInt8(ascii: "\"") else { return try token() }
        rest.removeFirst()
        var text: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") {
                let value = String(decoding: text, as: UTF8.self)
                guard value.isHTTPToken else { break }
                return value
            }
            guard let character = byte == UInt8(ascii: "\\") ? rest.popFirst() : byte else { break }
            text.append(character)
        }
        throw SocketExtension.Failure(reason: "a quoted value that is no token")
    }

    private mutating func token() throws(SocketExtension.Failure) -> String {
        let token = rest.prefix(while: \.isHTTPTokenCharacter)
        guard !token.isEmpty else { throw SocketExtension.Failure(reason: "a missing name or value") }
        rest = rest[token.endIndex...]
        return String(decoding: token, as: UTF8.self)
    }

    private mutating func skipBlanks() {
        rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    }
}
