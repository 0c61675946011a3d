// SPDX-License-Identifier: MIT

/// Any bytes as text for a POSIX shell (IEEE Std 1003.1, Shell Command Language, section 2.2), safe to paste into a
/// terminal: a pasted control character acts as a key, and the interrupt key would end the quotes.
enum ShellText {
    /// One word with those bytes as its value, up to the first NUL, which no word can hold.
    ///
    /// It is in single quotes, where no character has a meaning. Control characters except line feed, and bytes that
    /// are not UTF-8, are written by `printf`. A line feed is not: a substitution drops it at its end.
    static func word(_ bytes: some Sequence<UInt8>) -> String {
        let pieces = Piece.pieces(of: bytes.prefix { $0 != 0 }, keepsLineFeeds: true)
        guard !pieces.isEmpty else { return "''" }
        return pieces.map { piece in
            piece.isPlain ? "'\(piece.text.replacing(["'": quote]))'" : "\"$(printf '\(piece.octal)')\""
        }
        .joined()
    }

    /// A format for `printf`, in single quotes, that writes exactly those bytes, with NUL and line feeds.
    static func printfFormat(_ bytes: some Sequence<UInt8>) -> String {
        let format = Piece.pieces(of: bytes, keepsLineFeeds: false).map { piece in
            piece.isPlain ? piece.text.replacing(["\\": "\\\\", "%": "%%", "'": quote]) : piece.octal
        }
        .joined()
        // Otherwise it would be read as an option.
        return format.utf8.first == UInt8(ascii: "-") ? "'\\055\(Substring(format.utf8.dropFirst()))'" : "'\(format)'"
    }

    /// Ends the quotes, adds one, and begins them anew.
    private static let quote = "'\\''"

    /// A run of bytes of one kind.
    private struct Piece {
        var bytes: [UInt8] = []
        let isPlain: Bool

        var text: String { String(decoding: bytes, as: UTF8.self) }

        /// `\015\000`
        var octal: String {
            bytes.map { byte in
                let digits = String(byte, radix: 8)
                return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
            }
            .joined()
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

        /// The scalar that is encoded at an index, or nil and a length of one byte if there is none.
        private static func scalar(in bytes: [UInt8], at index: Int) -> (Unicode.Scalar?, length: Int) {
            var decoder = UTF8()
            var input = bytes[index..<min(index + 4, bytes.count)].makeIterator()
            guard case .scalarValue(let scalar) = decoder.decode(&input) else { return (nil, 1) }
            return (scalar, UTF8.width(scalar))
        }
    }
}

extension String {
    /// The text with scalars replaced, not characters, as the shell reads it: a mark after a quote makes one character
    /// with it, but the quote is still a quote.
    fileprivate func replacing(_ replacements: [Unicode.Scalar: String]) -> String {
        unicodeScalars.reduce(into: "") { text, scalar in
            text.unicodeScalars.append(contentsOf: (replacements[scalar] ?? String(scalar)).unicodeScalars)
        }
    }
}
