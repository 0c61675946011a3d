// SPDX-License-Identifier: MIT

/// Quotes bytes for a POSIX shell (IEEE Std 1003.1, Shell Command Language, section 2.2). The text is safe to paste
/// into a terminal: a pasted control character acts as a key, and the interrupt key would end the quotes.
enum ShellText {
    /// A shell word with those bytes as its value, up to the first NUL, which no word can contain.
    ///
    /// It is in single quotes, where no character is special. `printf` writes control characters except line feed, and
    /// bytes that are not UTF-8. A line feed is quoted instead, since command substitution strips trailing ones.
    static func word(_ bytes: some Sequence<UInt8>) -> String {
        var word: [UInt8] = []
        write(bytes, to: &word)
        return String(decoding: word, as: UTF8.self)
    }

    /// Appends the same word in one pass.
    static func write(_ bytes: some Sequence<UInt8>, to word: inout some RangeReplaceableCollection<UInt8>) {
        let pieces = Piece.pieces(of: bytes.prefix { $0 != 0 }, keepsLineFeeds: true)
        if pieces.isEmpty { word.append(contentsOf: "''".utf8) }
        for piece in pieces {
            word.append(contentsOf: (piece.isPlain ? "'" : "\"$(printf '").utf8)
            piece.write(to: &word, escapes: [UInt8(ascii: "'"): quote])
            word.append(contentsOf: (piece.isPlain ? "'" : "')\"").utf8)
        }
    }

    /// A format for `printf`, in single quotes, that writes exactly those bytes, including NUL and line feeds.
    static func printfFormat(_ bytes: some Sequence<UInt8>) -> String {
        var format: [UInt8] = []
        for piece in Piece.pieces(of: bytes, keepsLineFeeds: false) {
            piece.write(to: &format, escapes: formatEscapes)
        }
        // Otherwise it would be parsed as an option.
        let isOption = format.first == UInt8(ascii: "-")
        let rest = String(decoding: isOption ? format[1...] : format[...], as: UTF8.self)
        return isOption ? "'\\055\(rest)'" : "'\(rest)'"
    }

    /// Closes the quotes, adds a quote, and opens the quotes again.
    private static let quote = "'\\''"

    private static let formatEscapes: [UInt8: String] = [
        UInt8(ascii: "\\"): "\\\\", UInt8(ascii: "%"): "%%", UInt8(ascii: "'"): quote,
    ]

    /// A run of bytes of one kind.
    private struct Piece {
        var bytes: [UInt8] = []
        let isPlain: Bool

        /// Appends plain bytes with the given escapes, and others as octal numbers, `\015\000`.
        func write(to output: inout some RangeReplaceableCollection<UInt8>, escapes: [UInt8: String]) {
            for byte in bytes {
                if !isPlain {
                    let digits = String(byte, radix: 8)
                    output.append(contentsOf: ("\\" + String(repeating: "0", count: 3 - digits.count) + digits).utf8)
                } else if let escape = escapes[byte] {
                    output.append(contentsOf: escape.utf8)
                } else {
                    output.append(byte)
                }
            }
        }

        static func pieces(of bytes: some Sequence<UInt8>, keepsLineFeeds: Bool) -> [Piece] {
            let bytes = Array(bytes)
            var pieces: [Piece] = []
            var index = 0
            while index < bytes.count {
                let (scalar, length) = scalar(in: bytes, at: index)
                let isPlain = scalar.map { !$0.isUnsafeInLog || keepsLineFeeds && $0 == "\n" } ?? false
                if pieces.last?.isPlain != isPlain { pieces.append(Piece(isPlain: isPlain)) }
                pieces[pieces.count - 1].bytes += bytes[index..<(index + length)]
                index += length
            }
            return pieces
        }

        /// The scalar encoded at an index, or nil and a length of one byte if there is none.
        private static func scalar(in bytes: [UInt8], at index: Int) -> (Unicode.Scalar?, length: Int) {
            var decoder = UTF8()
            var input = bytes[index..<min(index + 4, bytes.count)].makeIterator()
            guard case .scalarValue(let scalar) = decoder.decode(&input) else { return (nil, 1) }
            return (scalar, UTF8.width(scalar))
        }
    }
}
