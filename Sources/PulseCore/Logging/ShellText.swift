// SPDX-License-Identifier: MIT

/// Any bytes as text for a POSIX shell (IEEE Std 1003.1, Shell Command Language, section 2.2), safe to paste into a
/// terminal: a control character there is a key, and the interrupt key would end the quotes.
enum ShellText {
    /// One word whose value is those bytes up to the first NUL, which no word can hold.
    ///
    /// In single quotes, where nothing means anything. Control characters but a line feed, and what is no UTF-8, are made by
    /// `printf`; a line feed is not, since a substitution drops it at its end.
    static func word(_ bytes: some Sequence<UInt8>) -> String {
        let pieces = Piece.pieces(of: bytes.prefix { $0 != 0 }, keepsLineFeeds: true)
        guard !pieces.isEmpty else { return "''" }
        return pieces.map { piece in
            piece.isPlain ? "'\(piece.text.replacing(["'": quote]))'" : "\"$(printf '\(piece.octal)')\""
        }
        .joined()
    }

    /// A format for `printf`, in single quotes, that writes exactly those bytes, NUL and line feeds among them.
    static func printfFormat(_ bytes: some Sequence<UInt8>) -> String {
        let format = Piece.pieces(of: bytes, keepsLineFeeds: false).map { piece in
            piece.isPlain ? piece.text.replacing(["\\": "\\\\", "%": "%%", "'": quote]) : piece.octal
        }
        .joined()
        // Else it would be read as an option.
        return format.utf8.first == UInt8(ascii: "-") ? "'\\055\(Substring(format.utf8.dropFirst()))'" : "'\(format)'"
    }

    /// Ends the quotes, and begins them anew behind one.
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

        /// The scalar that is encoded there, or nil and one byte if there is none.
        private static func scalar(in bytes: [UInt8], at index: Int) -> (Unicode.Scalar?, length: Int) {
            var decoder = UTF8()
            var input = bytes[index..<min(index + 4, bytes.count)].makeIterator()
            guard case .scalarValue(let scalar) = decoder.decode(&input) else { return (nil, 1) }
            return (scalar, UTF8.width(scalar))
        }
    }
}

extension String {
    /// By scalars, as the shell reads them: a mark behind a quote makes one character of both, and the quote is one still.
    fileprivate func replacing(_ replacements: [Unicode.Scalar: String]) -> String {
        unicodeScalars.reduce(into: "") { text, scalar in
            text.unicodeScalars.append(contentsOf: (replacements[scalar] ?? String(scalar)).unicodeScalars)
        }
    }
}
