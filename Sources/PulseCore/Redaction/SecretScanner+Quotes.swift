// SPDX-License-Identifier: MIT

/// Quotes in all notations: `"`, `\"` and `\u0022` in JSON, `&quot;` and `&#34;` in markup, `"""` in GraphQL.
extension SecretScanner {
    struct Quote {
        /// The whole quote with its backslashes: the text may itself be quoted.
        let range: Range<Int>
        /// The index after the backslashes.
        let open: Int
        /// The quote character that the notation encodes.
        let meaning: UInt8
    }

    /// The quote that starts at `start` with its backslashes, if there is one.
    func quote(from start: Int) -> Quote? {
        var open = start
        while byte(open) == UInt8(ascii: "\\") { open += 1 }
        if kind(open).isQuote { return Quote(range: start..<(open + 1), open: open, meaning: bytes[open]) }
        // The last backslash may belong to an escape.
        guard let escape = escape(open > start && byte(open) != UInt8(ascii: "&") ? open - 1 : open),
            Self.isQuote(escape.meaning)
        else { return nil }
        return Quote(range: start..<escape.end, open: open, meaning: escape.meaning)
    }

    /// The quote that ends at `end`, with at most 63 of its backslashes.
    func quote(before end: Int, floor: Int) -> Quote? {
        guard end > floor else { return nil }
        var open = end - 1
        var meaning = bytes[open]
        if !kind(open).isQuote {
            guard let start = escapeStart(before: end, floor: floor), let escape = escape(start), escape.end == end,
                Self.isQuote(escape.meaning)
            else { return nil }
            open = bytes[start] == UInt8(ascii: "\\") ? start + 1 : start
            meaning = escape.meaning
        }
        var start = open
        while start > floor, bytes[start - 1] == UInt8(ascii: "\\"), open - start < 63 { start -= 1 }
        return Quote(range: start..<end, open: open, meaning: meaning)
    }

    /// Whether the same quote, with any backslashes, ends at `end`.
    func ends(with quote: Quote, _ end: Int) -> Bool {
        let sign = quote.open..<quote.range.upperBound
        return bytes[end - 1] == bytes[sign.upperBound - 1]
            && (sign.count == 1 || end - sign.count >= floor && repeats(sign, at: end - sign.count))
    }

    /// The content of a quoted text, and the index after its closing quote. Without one, both end with the text, or at
    /// the maximum length.
    func quoted(by quote: Quote, maxLength: Int = .max) -> (content: Range<Int>, next: Int) {
        let mark = quote.range
        let backslashes = quote.open - mark.lowerBound
        let isBlock = repeats(mark, at: mark.upperBound) && repeats(mark, at: mark.upperBound + mark.count)
        let start = mark.upperBound + (isBlock ? 2 * mark.count : 0)
        let end = start + min(self.end - start, maxLength)
        var (index, run, found) = (start, 0, 0)
        while index < end {
            if bytes[index] == UInt8(ascii: "\\") {
                run += 1
                index += 1
                continue
            }
            if bytes[index] == bytes[quote.open], repeats(quote.open..<mark.upperBound, at: index) {
                index += mark.upperBound - quote.open
                if isBlock {
                    // Inside a block string, GraphQL writes three quotes as `\"""`.
                    found = run == backslashes ? found + 1 : 0
                    if found == 3 { return (start..<(index - 3 * mark.count), index) }
                } else if closes(quote, run: run, backslashes) {
                    return (start..<(index - min(run, backslashes) - mark.upperBound + quote.open), index)
                }
            } else {
                found = 0
                index += 1
            }
            run = 0
        }
        return (start..<end, end)
    }

    private func closes(_ quote: Quote, run: Int, _ backslashes: Int) -> Bool {
        // A different number of backslashes means a quote of another level.
        if bytes[quote.open] == UInt8(ascii: "u") { return run == backslashes }
        // Each level of quoting doubles the backslashes of the inner level, and adds one for the quote.
        return run <= backslashes || (run - backslashes) / (backslashes + 1) % 2 == 0
    }

    private static func isQuote(_ byte: UInt8) -> Bool {
        ByteClass.table[Int(byte)].isQuote
    }

    /// Whether the bytes of a range also occur at `start`.
    func repeats(_ range: Range<Int>, at start: Int) -> Bool {
        start + range.count <= end && bytes[start..<(start + range.count)].elementsEqual(bytes[range])
    }

    // MARK: Escapes

    /// Follows the `&` once for each additional time that the text was escaped.
    private static let ampersand = Array("amp;".utf8)
    private static let longestEntity = 32

    private static let entities: [(name: [UInt8], meaning: UInt8)] = [
        ("lt;", "<"), ("#60;", "<"), ("#x3c;", "<"), ("gt;", ">"), ("#62;", ">"), ("#x3e;", ">"),
        ("quot;", "\""), ("#34;", "\""), ("#034;", "\""), ("#x22;", "\""),
        ("apos;", "'"), ("#39;", "'"), ("#039;", "'"), ("#x27;", "'"),
    ].map { (Array($0.0.utf8), UInt8(ascii: $0.1)) }

    /// The quote or angle bracket that is escaped at `index`, as in `&lt;` or `\u003c`.
    func escape(_ index: Int) -> (meaning: UInt8, end: Int)? {
        switch byte(index) {
        case UInt8(ascii: "&"):
            guard "#aglq".utf8.contains(byte(index + 1).asciiLowercased) else { return nil }
            var start = index + 1
            while start - index < Self.longestEntity - 8, matches(Self.ampersand, at: start) {
                start += Self.ampersand.count
            }
            guard let entity = Self.entities.first(where: { matches($0.name, at: start) }) else { return nil }
            return (entity.meaning, start + entity.name.count)
        case UInt8(ascii: "\\"):
            guard let character = asciiEscape(index), "\"'<>".utf8.contains(character) else { return nil }
            return (character, index + 6)
        default:
            return nil
        }
    }

    /// The index after that angle bracket, in any notation; nil if it is not at `start`.
    func bracketEnd(_ start: Int, _ bracket: UInt8) -> Int? {
        if byte(start) == bracket { return start + 1 }
        var index = start
        while byte(index + 1) == UInt8(ascii: "\\") { index += 1 }
        guard let escape = escape(index), escape.meaning == bracket else { return nil }
        return escape.end
    }

    /// The character of the `\u00XX` whose backslash is at `index`.
    func asciiEscape(_ index: Int) -> UInt8? {
        guard index + 6 <= end, bytes[(index + 1)..<(index + 4)].elementsEqual("u00".utf8),
            let high = bytes[index + 4].hexDigitValue, let low = bytes[index + 5].hexDigitValue
        else { return nil }
        return high << 4 | low
    }

    /// The start of an escape that may end at `end`.
    private func escapeStart(before end: Int, floor: Int) -> Int? {
        if bytes[end - 1] == UInt8(ascii: ";") {
            return bytes[max(floor, end - Self.longestEntity)..<end].lastIndex(of: UInt8(ascii: "&"))
        }
        return end - 6 >= floor && bytes[end - 6] == UInt8(ascii: "\\") ? end - 6 : nil
    }
}
