// SPDX-License-Identifier: MIT

/// Masks secrets in JSON (RFC 8259) and leaves every other byte unchanged.
///
/// A sequence of values is also well-formed: JSON Lines, RFC 7464. In truncated or malformed JSON, the scanner handles
/// the member with the error and everything after it.
struct JSONRedaction {
    private enum Expected {
        case value, valueOrEnd, key, keyOrEnd, colon, commaOrEnd
    }

    private struct Malformed: Error {}

    /// An object or array around the current position.
    private struct Container {
        let bracket: UInt8
        /// Whether the value of a member is the name of a secret: `{"name": "password", …}`.
        var namesSecret = false
        /// The start of the value that such a member makes secret.
        var valueStart: Int?

        var isObject: Bool { bracket == UInt8(ascii: "{") }
    }

    /// The scanner handles deeper JSON, since it does not track the depth.
    private static let maxDepth = 10_000

    private let bytes: [UInt8]
    private let end: Int
    private let names: SecretNames
    private var position: Int
    private var expected = Expected.value
    /// The containers around the current position, outermost first.
    private var open: [Container] = []
    /// The start of the value under a secret name, and the number of brackets around it; nil outside such a value.
    private var secret: (start: Int, depth: Int)?
    private var isSecretKey = false
    private var role: EntryRole?
    /// The starts of values whose names follow them. A second pass masks these.
    private var lateSecrets: Set<Int> = []
    private var replacements: Replacements

    /// The start of the current member, name included. No secret is open there.
    private var memberStart: Int
    /// The replacements made before that position.
    private var memberMark: Replacements.Mark
    /// Whether a preceding member of its object names a secret.
    private var isMemberNamed = false

    /// The JSON with its secrets masked, or nil if there are none.
    static func masked(_ bytes: [UInt8], in range: Range<Int>, names: SecretNames) -> [UInt8]? {
        var redaction = JSONRedaction(bytes: bytes, range: range, names: names)
        redaction.maskAll()
        if !redaction.lateSecrets.isEmpty {
            redaction = JSONRedaction(bytes: bytes, range: range, names: names, lateSecrets: redaction.lateSecrets)
            redaction.maskAll()
        }
        return redaction.replacements.result()
    }

    private init(bytes: [UInt8], range: Range<Int>, names: SecretNames, lateSecrets: Set<Int> = []) {
        self.bytes = bytes
        self.names = names
        self.lateSecrets = lateSecrets
        end = range.upperBound
        position = range.lowerBound
        memberStart = range.lowerBound
        replacements = Replacements(of: bytes, in: range)
        memberMark = replacements.mark
    }

    private mutating func maskAll() {
        do {
            try run()
        } catch {
            maskRest()
        }
    }

    private mutating func run() throws {
        while true {
            skipWhitespace()
            guard position < end else { break }
            switch expected {
            case .colon:
                guard bytes[position] == UInt8(ascii: ":") else { throw Malformed() }
                position += 1
                expected = .value
            case .commaOrEnd: try readCommaOrEnd()
            case .key, .keyOrEnd: try readKey()
            case .value, .valueOrEnd: try readValue()
            }
        }
        guard open.isEmpty, expected == .value else { throw Malformed() }
    }

    private mutating func maskRest() {
        // The scanner must see the whole member: a part that has already been masked may be the name of another secret.
        replacements.rewind(to: memberMark)
        let rest = memberStart..<end
        if let masked = SecretScanner.masked(bytes, in: rest, names: names, isNamed: isMemberNamed) {
            replacements.replace(rest, with: masked)
        }
    }

    /// Notes the start of a member. Called only where no pair of any other syntax can be cut: the scanner must see
    /// whole pairs.
    private mutating func memberBegins() {
        guard secret == nil else { return }
        (memberStart, memberMark) = (position, replacements.mark)
        isMemberNamed = open.last?.namesSecret == true
    }

    private mutating func skipWhitespace() {
        // RS starts a record of RFC 7464.
        while position < end, [0x20, 0x0A, 0x0D, 0x09, 0x1E].contains(bytes[position]) { position += 1 }
    }

    private mutating func readCommaOrEnd() throws {
        if bytes[position] == UInt8(ascii: ",") {
            position += 1
            expected = open.last?.isObject == true ? .key : .value
            memberBegins()
        } else {
            try close()
        }
    }

    private mutating func close() throws {
        // In ASCII, a closing bracket is its opening bracket plus 2.
        guard let container = open.popLast(), bytes[position] == container.bracket + 2 else { throw Malformed() }
        position += 1
        valueEnded()
    }

    private mutating func readKey() throws {
        if expected == .keyOrEnd, bytes[position] == UInt8(ascii: "}") { return try close() }
        let content = try readString()
        expected = .colon
        guard secret == nil else { return }
        let name = text(content)
        isSecretKey = names.contains(name)
        if isSecretKey { return }
        role = EntryRole(name)
        mask(content)
    }

    private func text(_ content: Range<Int>) -> ArraySlice<UInt8> {
        bytes[content].contains(UInt8(ascii: "\\")) ? JSONText.unescaped(bytes, in: content)[...] : bytes[content]
    }

    private mutating func readValue() throws {
        if expected == .valueOrEnd, bytes[position] == UInt8(ascii: "]") { return try close() }
        let role = role
        self.role = nil
        if role == .value { open[open.count - 1].valueStart = position }
        if isSecretKey || role == .value && open[open.count - 1].namesSecret || lateSecrets.contains(position) {
            secret = secret ?? (position, open.count)
            isSecretKey = false
        }
        switch bytes[position] {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard open.count < Self.maxDepth else { throw Malformed() }
            let container = Container(bracket: bytes[position])
            expected = container.isObject ? .keyOrEnd : .valueOrEnd
            open.append(container)
            position += 1
            memberBegins()
        case UInt8(ascii: "\""):
            let content = try readString()
            if secret == nil {
                if role == .name || role == .identifier, names.contains(text(content)) { memberNamesSecret() }
                mask(content)
            }
            valueEnded()
        default:
            let start = position
            while position < end,
                bytes[position].isASCIILetter || bytes[position].isASCIIDigit
                    || "+-.".utf8.contains(bytes[position])
            { position += 1 }
            guard Self.isScalar(bytes[start..<position]) else { throw Malformed() }
            valueEnded()
        }
    }

    private mutating func memberNamesSecret() {
        open[open.count - 1].namesSecret = true
        if let start = open[open.count - 1].valueStart { lateSecrets.insert(start) }
    }

    /// Whether the text is a literal or roughly a number, not a word of other text.
    private static func isScalar(_ text: ArraySlice<UInt8>) -> Bool {
        guard let first = text.first else { return false }
        if first.isASCIIDigit || first == UInt8(ascii: "-") {
            return text.allSatisfy { $0.isASCIIDigit || "+-.eE".utf8.contains($0) }
        }
        return ["true", "false", "null"].contains { text.elementsEqual($0.utf8) }
    }

    private mutating func valueEnded() {
        expected = open.isEmpty ? .value : .commaOrEnd
        guard let begun = secret, begun.depth == open.count else { return }
        replacements.replace(
            begun.start..<position, with: [UInt8(ascii: "\"")] + Redaction.maskBytes + [UInt8(ascii: "\"")])
        secret = nil
    }

    /// Reads the string that starts at the current position and moves past it. Returns the range of its content.
    private mutating func readString() throws -> Range<Int> {
        guard bytes[position] == UInt8(ascii: "\"") else { throw Malformed() }
        let start = position + 1
        var index = start
        while index < end, bytes[index] != UInt8(ascii: "\"") {
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard index < end else { throw Malformed() }
        position = index + 1
        return start..<index
    }

    /// Masks secrets in a text that is not secret as a whole: a URL, or JSON in a string.
    private mutating func mask(_ content: Range<Int>) {
        guard bytes[content].contains(UInt8(ascii: "\\")) else {
            if let masked = SecretScanner.masked(bytes, in: content, names: names) {
                replacements.replace(content, with: masked)
            }
            return
        }
        let text = JSONText.unescaped(bytes, in: content)
        if let masked = SecretScanner.masked(text, in: 0..<text.count, names: names) {
            replacements.replace(content, with: JSONText.escaped(masked))
        }
    }
}
