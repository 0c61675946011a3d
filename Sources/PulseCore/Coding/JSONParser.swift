// SPDX-License-Identifier: MIT

/// Parses a JSON text (RFC 8259) into a ``JSONValue``, reading each byte once.
///
/// It accepts the same texts as Foundation's decoder and, like Foundation, uses the first value of a repeated name.
/// Through a `Decoder`, each value must be tried as one type after another, and each wrong try creates an error whose
/// coding path costs the square of the depth.
struct JSONParser {
    /// Foundation's limit. Deeper text is rejected.
    static let maxDepth = 512

    /// An array or object whose end has not been read yet.
    private struct Container {
        let isObject: Bool
        var elements: [JSONValue] = []
        var members: [String: JSONValue] = [:]
        var name = ""
    }

    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    private var open: [Container] = []

    /// Throws `DecodingError.dataCorrupted` for invalid JSON, and for JSON that is nested too deeply.
    static func value(of data: Data) throws -> JSONValue {
        let data = try utf8(data)
        return try data.withUnsafeBytes { bytes in
            var parser = JSONParser(bytes: bytes.bindMemory(to: UInt8.self))
            return try parser.parse()
        }
    }

    private init(bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    // MARK: Structure

    private mutating func parse() throws -> JSONValue {
        while true {
            guard var value = try valueOrOpening() else { continue }
            // The value may be the last in one or more containers.
            while true {
                guard !open.isEmpty else {
                    guard next() == nil else { throw fault("more than one value") }
                    return value
                }
                add(value)
                guard let closed = try separatorOrClosing() else { break }
                value = closed
            }
        }
    }

    /// The value at the current position; nil after the opening bracket of a non-empty container.
    private mutating func valueOrOpening() throws -> JSONValue? {
        StepCount.add()
        guard let byte = next() else { throw fault("the end of the text instead of a value") }
        switch byte {
        case UInt8(ascii: "["), UInt8(ascii: "{"):
            guard open.count < Self.maxDepth else { throw fault("more than \(Self.maxDepth) levels") }
            position += 1
            open.append(Container(isObject: byte == UInt8(ascii: "{")))
            return try closedOrName()
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func add(_ value: JSONValue) {
        let last = open.count - 1
        if open[last].isObject {
            let name = open[last].name
            if let first = open[last].members.updateValue(value, forKey: name) { open[last].members[name] = first }
        } else {
            open[last].elements.append(value)
        }
    }

    /// Reads the byte after a value in a container: nil after a comma, else the complete container.
    private mutating func separatorOrClosing() throws -> JSONValue? {
        guard next() == UInt8(ascii: ",") else {
            guard let closed = closed() else { throw fault("neither a comma nor the end of a container") }
            return closed
        }
        position += 1
        return try closedOrName()
    }

    /// The container, if it ends here: Foundation accepts a trailing comma. Otherwise reads the next name of an object.
    private mutating func closedOrName() throws -> JSONValue? {
        if let closed = closed() { return closed }
        guard open[open.count - 1].isObject else { return nil }
        guard next() == UInt8(ascii: "\"") else { throw fault("no member name") }
        open[open.count - 1].name = try string()
        guard next() == UInt8(ascii: ":") else { throw fault("no colon after a name") }
        position += 1
        return nil
    }

    private mutating func closed() -> JSONValue? {
        guard let byte = next(), let last = open.last,
            byte == (last.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"))
        else { return nil }
        position += 1
        open.removeLast()
        return last.isObject ? .object(last.members) : .array(last.elements)
    }

    /// The next byte that is not whitespace.
    private mutating func next() -> UInt8? {
        while position < bytes.count {
            let byte = bytes[position]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return byte }
            StepCount.add()
            position += 1
        }
        return nil
    }

    private func fault(_ reason: String) -> DecodingError {
        let text = "The given data was not valid JSON: \(reason) at byte \(position)."
        return .dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: text))
    }

    // MARK: Words and numbers

    private mutating func word(_ word: StaticString, _ value: JSONValue) throws -> JSONValue {
        let end = position + word.utf8CodeUnitCount
        let matches = word.withUTF8Buffer { end <= bytes.count && bytes[position..<end].elementsEqual($0) }
        guard matches else { throw fault("an unknown word") }
        StepCount.add(word.utf8CodeUnitCount)
        position = end
        return value
    }

    private mutating func number() throws -> JSONValue {
        let start = position
        skip(UInt8(ascii: "-"))
        let first = position
        let count = digits()
        guard count == 1 || count > 1 && bytes[first] != UInt8(ascii: "0") else { throw fault("no value") }
        let integerEnd = position
        if skip(UInt8(ascii: ".")), digits() == 0 { throw fault("no digit after a point") }
        if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
            if !skip(UInt8(ascii: "+")) { skip(UInt8(ascii: "-")) }
            guard digits() > 0 else { throw fault("no digit in an exponent") }
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if position == integerEnd, let integer = Int64(text) { return .integer(integer) }
        if position > integerEnd, let integer = wholeNumber(start..<position) { return .integer(integer) }
        guard let number = Double(text), number.isFinite else { throw fault("a number out of range") }
        return .number(number)
    }

    /// The exact value of a whole number that is written with a point or an exponent; nil for any other number.
    private func wholeNumber(_ range: Range<Int>) -> Int64? {
        let end = bytes[range].firstIndex { $0 | 0x20 == UInt8(ascii: "e") } ?? range.upperBound
        // A large exponent is valid: as many zeros among the digits may offset it.
        let written =
            end < range.upperBound ? Int64(String(decoding: bytes[(end + 1)..<range.upperBound], as: UTF8.self)) : 0
        guard var exponent = written, abs(exponent / 2) < 1 << 60 else { return nil }
        var digits = bytes[range.lowerBound..<end].filter { $0 != UInt8(ascii: "-") }
        if let point = digits.firstIndex(of: UInt8(ascii: ".")) {
            exponent -= Int64(digits.count - point - 1)
            digits.remove(at: point)
        }
        guard let last = digits.lastIndex(where: { $0 != UInt8(ascii: "0") }) else { return 0 }
        exponent += Int64(digits.count - last - 1)
        guard 0...18 ~= exponent else { return nil }
        let zeros = String(repeating: "0", count: Int(exponent))
        let text = String(decoding: digits[...last], as: UTF8.self) + zeros
        return Int64(bytes[range.lowerBound] == UInt8(ascii: "-") ? "-" + text : text)
    }

    @discardableResult
    private mutating func skip(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func digits() -> Int {
        let start = position
        while position < bytes.count, bytes[position].isASCIIDigit { position += 1 }
        StepCount.add(position - start)
        return position - start
    }

    // MARK: Strings

    private mutating func string() throws -> String {
        let start = position + 1
        var (index, isASCII, hasEscapes) = (start, true, false)
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
            let byte = bytes[index]
            guard byte >= 0x20 else { throw fault("a control character in a string") }
            if byte == UInt8(ascii: "\\") { (hasEscapes, index) = (true, index + 1) }
            if byte >= 0x80 { isASCII = false }
            index += 1
        }
        guard index < bytes.count else { throw fault("an unterminated string") }
        StepCount.add(index - start)
        position = index + 1
        let content = hasEscapes ? try unescaped(start..<index) : Array(bytes[start..<index])
        let text = String(decoding: content, as: UTF8.self)
        // Decoding replaces malformed UTF-8. On iOS 15 only this comparison detects it.
        guard isASCII || text.utf8.elementsEqual(content) else { throw fault("text that is not UTF-8") }
        return text
    }

    private func unescaped(_ range: Range<Int>) throws -> [UInt8] {
        var output: [UInt8] = []
        var index = range.lowerBound
        while index < range.upperBound {
            guard bytes[index] == UInt8(ascii: "\\") else {
                output.append(bytes[index])
                index += 1
                continue
            }
            switch bytes[index + 1] {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): output.append(bytes[index + 1])
            case UInt8(ascii: "b"): output.append(0x08)
            case UInt8(ascii: "f"): output.append(0x0C)
            case UInt8(ascii: "n"): output.append(0x0A)
            case UInt8(ascii: "r"): output.append(0x0D)
            case UInt8(ascii: "t"): output.append(0x09)
            case UInt8(ascii: "u"):
                let (scalar, length) = try scalar(at: index, end: range.upperBound)
                output.append(contentsOf: String(Character(scalar)).utf8)
                index += length
                continue
            default: throw fault("an unknown escape")
            }
            index += 2
        }
        return output
    }

    /// The scalar of `\uXXXX` or of a surrogate pair.
    private func scalar(at index: Int, end: Int) throws -> (Unicode.Scalar, length: Int) {
        let first = try unit(at: index, end: end)
        if let scalar = Unicode.Scalar(first) { return (scalar, 6) }
        if first < 0xDC00, case let second = try unit(at: index + 6, end: end), (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
        {
            return (scalar, 12)
        }
        throw fault("an unpaired surrogate")
    }

    private func unit(at index: Int, end: Int) throws -> UInt16 {
        guard index + 6 <= end, bytes[index] == UInt8(ascii: "\\"), bytes[index + 1] == UInt8(ascii: "u") else {
            throw fault("an incomplete escape")
        }
        return try bytes[(index + 2)..<(index + 6)].reduce(0) { value, digit in
            guard let digit = digit.hexDigitValue else { throw fault("an unknown escape") }
            return value << 4 | UInt16(digit)
        }
    }

    // MARK: Encodings

    /// The text in UTF-8, without a byte order mark. UTF-16 and UTF-32 are detected by their marks, or by the zero
    /// bytes of the first two characters, which are ASCII in any JSON (RFC 4627, section 3).
    static func utf8(_ data: Data) throws -> Data {
        let start = [UInt8](data.prefix(4))
        if start.starts(with: [0xEF, 0xBB, 0xBF]) { return data.dropFirst(3) }
        guard let encoding = encoding(start) else { return data }
        guard let text = String(data: data, encoding: encoding) else {
            let text = "The given data was not valid JSON: its encoding differs from that of its start."
            throw DecodingError.dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: text))
        }
        return Data(text.utf8)
    }

    private static func encoding(_ start: [UInt8]) -> String.Encoding? {
        if start == [0, 0, 0xFE, 0xFF] || start == [0xFF, 0xFE, 0, 0] { return .utf32 }
        if start.starts(with: [0xFE, 0xFF]) || start.starts(with: [0xFF, 0xFE]) { return .utf16 }
        guard start.count == 4 else {
            guard start.count == 2 else { return nil }
            return start[0] == 0 ? .utf16BigEndian : start[1] == 0 ? .utf16LittleEndian : nil
        }
        switch start.map({ $0 == 0 }) {
        case [true, true, true, false]: return .utf32BigEndian
        case [false, true, true, true]: return .utf32LittleEndian
        case [true, false, true, false], [true, false, false, false]: return .utf16BigEndian
        case [false, true, false, true], [false, true, false, false]: return .utf16LittleEndian
        default: return nil
        }
    }
}
