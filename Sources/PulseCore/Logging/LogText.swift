// SPDX-License-Identifier: MIT

/// The format of log lines, shared by the client's own logger and the plugin.
package enum LogText {
    /// The end of a call's identifier, which distinguishes concurrent calls; the identifiers of one client share their
    /// start.
    package static func shortID(_ id: UUID) -> String {
        let bytes = id.uuid
        return String(unsafeUninitializedCapacity: 8) { text in
            text.writeHex(bytes.12, at: 0)
            text.writeHex(bytes.13, at: 2)
            text.writeHex(bytes.14, at: 4)
            text.writeHex(bytes.15, at: 6)
            return 8
        }
    }

    package static func milliseconds(_ seconds: TimeInterval) -> String {
        // A custom policy or a server may request a wait of any length.
        Int64(exactly: (seconds * 1000).rounded()).map { String($0) + " ms" } ?? "\(seconds) s"
    }

    package static func count(_ count: Int, _ noun: String) -> String {
        self.count(Int64(count), noun)
    }

    package static func count(_ count: Int64, _ noun: String) -> String {
        String(joining: String(count), " ", count == 1 ? noun : noun + "s")
    }

    /// The lines of a text, each as ``Swift/String/onOneLine`` and indented, so that none looks like the heading of a
    /// block.
    package static func indented(_ text: String) -> String {
        text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { line in
            let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            return line.isEmpty ? "" : "    " + String(decoding: line, as: UTF8.self).onOneLine
        }
        .joined(separator: "\n")
    }

    /// Splits a block for a log that truncates long entries, at line breaks where possible. Each piece has at most
    /// `limit` bytes, and later pieces start with the tag of the block.
    package static func pieces(of block: String, upTo limit: Int) -> [String] {
        guard block.utf8.count > limit else { return [block] }
        let tag = block.hasPrefix("[") ? String(block.prefix { $0 != " " && $0 != "\n" }) + " …\n" : ""
        let room = max(16, limit - tag.utf8.count)
        var pieces: [String] = []
        var rest = Array(block.utf8)[...]
        while !rest.isEmpty {
            var piece = rest.prefix(room)
            if piece.endIndex < rest.endIndex {
                let lineBreak = piece.lastIndex(of: UInt8(ascii: "\n")) ?? piece.startIndex
                piece = lineBreak > piece.startIndex ? piece[..<lineBreak] : piece.wholeScalars
            }
            pieces.append((pieces.isEmpty ? "" : tag) + String(decoding: piece, as: UTF8.self))
            rest = rest[piece.endIndex...]
            if rest.first == UInt8(ascii: "\n") { rest.removeFirst() }
        }
        return pieces
    }
}

extension String {
    /// The text with control characters and line breaks escaped as in a Swift literal. Characters that change the
    /// writing direction are escaped too.
    ///
    /// Text from an endpoint or a server must not look like a line of a log, control the terminal, or look different
    /// from its content.
    package var onOneLine: String {
        // Most texts are plain ASCII and need no scan of the scalars.
        if utf8.allSatisfy({ $0 &- 0x20 < 0x5F }) { return self }
        guard unicodeScalars.contains(where: \.isUnsafeInLog) else { return self }
        return unicodeScalars.reduce(into: "") { text, scalar in
            if scalar.isUnsafeInLog {
                text += scalar.escaped(asASCII: true)
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
    }
}

extension Unicode.Scalar {
    var isUnsafeInLog: Bool {
        if value < 0x7F { return value < 0x20 }
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: return true
        default: return properties.isBidiControl
        }
    }
}

extension ArraySlice<UInt8> {
    /// The bytes without a UTF-8 scalar that is cut at the end.
    var wholeScalars: ArraySlice<UInt8> {
        guard let lead = suffix(4).lastIndex(where: { $0 & 0xC0 != 0x80 }), self[lead] >= 0xC0 else { return self }
        let length = self[lead] >= 0xF0 ? 4 : self[lead] >= 0xE0 ? 3 : 2
        return endIndex - lead < length ? self[..<lead] : self
    }
}
