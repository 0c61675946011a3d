// SPDX-License-Identifier: MIT

/// A scanner that finds secrets in any text.
///
/// It stops at the few bytes that can follow the start of a secret (`=` and `:` after a name, the blank after
/// `Bearer`). It looks back a bounded number of bytes, and skips the text that it masks. It rewinds only to a value
/// whose name follows it, and only once over the same text. So no input makes it slow.
struct SecretScanner {
    let names: SecretNames
    let bytes: [UInt8]
    let end: Int
    let depth: Int
    var position: Int
    /// The index from which names may start.
    var nameFloor: Int
    /// The members of the entry at the current position: see ``scanEntry(_:isColon:)``.
    var entry = Entry()
    /// The open start tags with secret names, outermost first: an attribute may hold escaped markup.
    private var secretTags: [Tag] = []
    private var replacements: Replacements

    private struct Tag {
        /// `<` or its escaped form.
        let mark: Range<Int>
        /// The name with its prefix.
        let name: Range<Int>
    }

    private init(names: SecretNames, bytes: [UInt8], range: Range<Int>, depth: Int) {
        self.names = names
        self.bytes = bytes
        self.depth = depth
        end = range.upperBound
        position = range.lowerBound
        nameFloor = range.lowerBound
        replacements = Replacements(of: bytes, in: range)
    }

    /// The text with its secrets masked, or nil if there are none.
    ///
    /// - Parameter isNamed: whether the text continues an entry whose name is that of a secret.
    static func masked(
        _ bytes: [UInt8], in range: Range<Int>, names: SecretNames, depth: Int = 0, isNamed: Bool = false
    ) -> [UInt8]? {
        maskedPart(bytes, in: range, names: names, depth: depth, isNamed: isNamed)?.bytes
    }

    /// The same as ``masked(_:in:names:depth:isNamed:)``, with the end of the last mask.
    static func maskedPart(
        _ bytes: [UInt8], in range: Range<Int>, names: SecretNames, depth: Int, isNamed: Bool = false
    ) -> Replacements.Masked? {
        var scanner = SecretScanner(names: names, bytes: bytes, range: range, depth: depth)
        if isNamed { scanner.entry.name = (range.lowerBound, isSecret: true) }
        scanner.run()
        return scanner.replacements.masked
    }

    private mutating func run() {
        while position < end {
            switch ByteClass.table[Int(bytes[position])].trigger {
            case .none: position += 1
            case .separator: scanSeparator(width: 1)
            case .blank: scanCredentials(width: 1)
            case .percent: scanEscape()
            case .slash: scanNetworkPath()
            case .tagStart: scanTag(width: 1)
            case .tagEnd: scanElement(width: 1)
            case .escape: scanEscapedBracket()
            case .letterJ: scanWebToken()
            case .tokenMark: scanToken()
            case .letterB: scanPrivateKey()
            }
        }
    }

    /// The index before which nothing is scanned again: the text up to the last mask is done.
    var floor: Int { replacements.maskedEnd }

    var mark: Replacements.Mark { replacements.mark }

    /// Undoes all replacements after the mark, and moves back to that position.
    mutating func rewind(to mark: Replacements.Mark, at start: Int) {
        replacements.rewind(to: mark)
        (position, nameFloor) = (start, start)
    }

    /// Replaces those bytes and moves past them.
    mutating func replace(_ range: Range<Int>, with replacement: [UInt8] = Redaction.maskBytes) {
        replacements.replace(range, with: replacement)
        position = range.upperBound
    }

    /// Replaces those bytes with a masked part and moves past them.
    mutating func replace(_ range: Range<Int>, with masked: Replacements.Masked) {
        replacements.replace(range, with: masked)
        position = range.upperBound
    }

    private mutating func scanEscape() {
        switch PercentEncoding.escape(in: bytes, at: position, end: end) {
        case UInt8(ascii: "="), UInt8(ascii: ":"): scanSeparator(width: 3)
        case UInt8(ascii: " "): scanCredentials(width: 3)
        default: position += 1
        }
    }

    // MARK: Input of the rules

    /// The byte at an index, or 0 beyond the end: no pattern contains NUL.
    func byte(_ index: Int) -> UInt8 {
        index < end ? bytes[index] : 0
    }

    func kind(_ index: Int) -> ByteClass {
        ByteClass.table[Int(byte(index))]
    }

    func isAlphanumeric(_ index: Int) -> Bool {
        kind(index).isAlphanumeric
    }

    /// Whether the text at `start` is `word` in any case; `word` is in lower case.
    func matches(_ word: [UInt8], at start: Int) -> Bool {
        guard start >= floor, start + word.count <= end else { return false }
        for (offset, expected) in word.enumerated() where bytes[start + offset].asciiLowercased != expected {
            return false
        }
        return true
    }

    func skipBlanks(_ start: Int, alsoLines: Bool = false) -> Int {
        var index = start
        while kind(index).isBlank || alsoLines && kind(index).isLineBreak { index += 1 }
        return index
    }

    func lineEnd(_ start: Int) -> Int {
        var index = start
        while index < end, !kind(index).isLineBreak { index += 1 }
        return index
    }

    // MARK: Standalone rules

    /// Whether the byte before `start` ends an escape, `%20`, `\n` or `\u0022`, and is not part of the word at `start`.
    func isEscaped(_ start: Int) -> Bool {
        if start - 2 >= floor, bytes[start - 2] == UInt8(ascii: "\\") || endsUnicodeEscape(start) { return true }
        return start - 3 >= floor && bytes[start - 3] == UInt8(ascii: "%")
    }

    /// Whether an escape such as `\u0022` ends before `end`.
    func endsUnicodeEscape(_ end: Int) -> Bool {
        end - 6 >= floor && bytes[end - 6] == UInt8(ascii: "\\") && asciiEscape(end - 6) != nil
    }

    /// Masks the content of a private key in PEM (RFC 7468) or OpenPGP's armor (RFC 9580), or the rest of the text if
    /// the last line is missing.
    private mutating func scanPrivateKey() {
        let start = position
        position += 1
        guard matches(Array("-----begin ".utf8), at: start - 5) else { return }
        var index = start + 6
        let limit = min(end, start + 64)
        while index < limit, byte(index) != UInt8(ascii: "-") { index += 1 }
        guard
            matches(Array("private key-----".utf8), at: index - 11)
                || matches(Array("private key block-----".utf8), at: index - 17)
        else { return }
        let first = index + 5
        let last = Array("-----end".utf8)
        index = first
        while index < end, !(bytes[index] == UInt8(ascii: "-") && matches(last, at: index)) { index += 1 }
        replace(first..<index)
    }

    private mutating func scanEscapedBracket() {
        switch escape(position) {
        case (UInt8(ascii: "<"), let end)?: scanTag(width: end - position)
        case (UInt8(ascii: ">"), let end)?: scanElement(width: end - position)
        default: position += 1
        }
    }

    private mutating func scanTag(width: Int) {
        let mark = position..<(position + width)
        position += width
        let first = position
        var start = first
        var index = start
        while isAlphanumeric(index) || byte(index) >= 0x80 || "-_.:".utf8.contains(byte(index)) {
            index += 1
            // The preceding text is a namespace prefix.
            if bytes[index - 1] == UInt8(ascii: ":") { start = index }
        }
        // A star follows: part of the name has already been masked.
        let isSecret = byte(index) != UInt8(ascii: "*") && names.contains(bytes[start..<index])
        if !secretTags.isEmpty { secretTags.removeAll { $0.mark.count >= width } }
        if isSecret { secretTags.append(Tag(mark: mark, name: first..<index)) }
    }

    /// Masks `<password>…</password>`, with nested CDATA and elements; attributes are handled as pairs.
    private mutating func scanElement(width: Int) {
        let close = position
        position += width
        // Some encoders escape only `<`, not `>`.
        guard !secretTags.isEmpty, let tag = secretTags.first(where: { $0.mark.count >= width }) else { return }
        secretTags.removeAll { $0.mark.count >= width }
        guard close == floor || bytes[close - 1] != UInt8(ascii: "/") else { return }
        var index = position
        let data = Array("<![cdata[".utf8)
        if tag.mark.count == 1, matches(data, at: index) {
            let first = index + data.count
            let last = Array("]]>".utf8)
            index = first
            while index < end, !(bytes[index] == UInt8(ascii: "]") && matches(last, at: index)) { index += 1 }
            if index >= end || byte(index + 3) == UInt8(ascii: "<") && byte(index + 4) == UInt8(ascii: "/") {
                return replace(first..<index)
            }
            index = position
        }
        while index < end, !isTag(index, like: tag) { index += 1 }
        // The content is more than text: mask all of it, to the end of the element or of the text.
        if beginsContent(index, of: tag) { index = elementEnd(from: index, tag) }
        if skipBlanks(position, alsoLines: true) < index { replace(position..<index) }
    }

    /// Whether a tag starts at `index`: in the notation of `tag`, or unescaped, which ends the escaped text.
    private func isTag(_ index: Int, like tag: Tag) -> Bool {
        bytes[index] == UInt8(ascii: "<") || bytes[index] == bytes[tag.mark.lowerBound] && repeats(tag.mark, at: index)
    }

    /// Whether an element, a comment, CDATA or a processing instruction starts at `index`.
    private func beginsContent(_ index: Int, of tag: Tag) -> Bool {
        guard repeats(tag.mark, at: index) else { return false }
        let next = byte(index + tag.mark.count)
        return next.isASCIILetter || next >= 0x80 || "_!?".utf8.contains(next)
    }

    /// The index of the matching end tag, skipping nested elements of the same name; else the end of the text or of the
    /// escaped text.
    private func elementEnd(from start: Int, _ tag: Tag) -> Int {
        let name = bytes[tag.name].map(\.asciiLowercased)
        var (index, depth) = (start, 1)
        while index < end {
            defer { index += 1 }
            guard isTag(index, like: tag) else { continue }
            guard repeats(tag.mark, at: index) else { return index }
            let tagStart = index + tag.mark.count
            if tag.mark.count == 1, byte(tagStart) == UInt8(ascii: "!") {
                index = sectionEnd(from: index)
                continue
            }
            let isEnd = byte(tagStart) == UInt8(ascii: "/")
            let first = tagStart + (isEnd ? 1 : 0)
            guard matches(name, at: first) else { continue }
            let next = kind(first + name.count)
            let after = byte(first + name.count)
            guard
                next.isBlank || next.isLineBreak || after == UInt8(ascii: ">") || after == UInt8(ascii: "/")
                    || tag.mark.count > 1 && after == bytes[tag.mark.lowerBound]
            else { continue }
            if isEnd {
                depth -= 1
                if depth == 0 { return index }
            } else {
                index = first + name.count
                while index < end, !isTagEnd(index, of: tag) { index += 1 }
                if index >= end || bytes[index - 1] != UInt8(ascii: "/") { depth += 1 }
            }
        }
        return end
    }

    private func isTagEnd(_ index: Int, of tag: Tag) -> Bool {
        bytes[index] == UInt8(ascii: ">") || tag.mark.count > 1 && escape(index)?.meaning == UInt8(ascii: ">")
    }

    /// The index of the last byte of the comment or CDATA that starts at `start`, whatever tags are in it; else
    /// `start`.
    private func sectionEnd(from start: Int) -> Int {
        let (data, comment) = (Array("<![cdata[".utf8), Array("<!--".utf8))
        guard matches(data, at: start) || matches(comment, at: start) else { return start }
        let last = Array((matches(data, at: start) ? "]]>" : "-->").utf8)
        var index = start
        while index < end, !(bytes[index] == last[0] && matches(last, at: index)) { index += 1 }
        return min(index + 2, end)
    }
}
