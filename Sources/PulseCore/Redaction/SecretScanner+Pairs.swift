// SPDX-License-Identifier: MIT

/// Pairs: `name=value`, `name: value`, `"name": "value"` and the like.
extension SecretScanner {
    /// The name before a separator.
    struct Name {
        let range: Range<Int>
        /// The closing of a quoted name: backslashes, if the text is itself quoted, and the quote.
        let closing: Range<Int>

        var isQuoted: Bool { !closing.isEmpty }
    }

    /// The maximum length of a name; of a longer name, only that many bytes at its end are read.
    static let maxNameLength = 256

    /// Scans for a pair around the separator at the current position.
    ///
    /// - Parameter width: the length of the separator: 1, or 3 if it is percent-encoded.
    mutating func scanSeparator(width: Int) {
        let separator = position
        position += width
        let isColon = byte(separator) == UInt8(ascii: ":")
        if isColon, byte(position) == UInt8(ascii: ":") {
            position += 1
            return
        }
        if isColon, byte(position) == UInt8(ascii: "/"), byte(position + 1) == UInt8(ascii: "/") {
            return scanURL(from: position + 2)
        }
        // A URL in a JSON string with escaped slashes.
        if isColon, matches(Array("\\/\\/".utf8), at: position) { return scanURL(from: position + 4) }
        let name = name(before: separator).flatMap { isColon && isFile($0) ? nil : $0 }
        let isSecret = name.map(isSecret) ?? false
        // A name cannot span a separator, so no byte is scanned twice.
        nameFloor = position
        guard let name else { return }
        guard isSecret else { return scanEntry(name, isColon: isColon) }
        let start = valueStart(after: position, name, isColon: isColon)
        guard start < end else { return }
        if isColon, !name.isQuoted, isHeaderLine(name) {
            maskLine(from: start, name)
        } else {
            maskValue(from: start, name, isEncoded: width == 3)
        }
    }

    // MARK: The name

    private func name(before separator: Int) -> Name? {
        let nameFloor = max(nameFloor, floor)
        var upper = separator
        while upper > nameFloor, separator - upper < 8, kind(upper - 1).isBlank { upper -= 1 }
        // `AnyHashable("name")`: Swift prints the header keys of an `HTTPURLResponse` like this.
        let isWrapped = upper > nameFloor && bytes[upper - 1] == UInt8(ascii: ")")
        guard let quote = quote(before: isWrapped ? upper - 1 : upper, floor: nameFloor) else {
            var lower = upper
            while lower > nameFloor, upper - lower < Self.maxNameLength, kind(lower - 1).isName { lower -= 1 }
            // `\u0026name`: the digits are not part of the name.
            if upper - lower > 5, endsUnicodeEscape(lower + 5) { lower += 5 }
            return lower == upper ? nil : Name(range: lower..<upper, closing: upper..<upper)
        }
        upper = quote.range.lowerBound
        var lower = upper
        // A mask of this pass, or of an earlier one, ends with a star.
        while lower > nameFloor, upper - lower < Self.maxNameLength, !ends(with: quote, lower),
            bytes[lower - 1] != UInt8(ascii: "*")
        { lower -= 1 }
        return lower == upper ? nil : Name(range: lower..<upper, closing: quote.range)
    }

    /// Whether the name is the last segment of a path: `/etc/passwd: not found`, `/v1/token:revoke`. It is not in
    /// `//token: abc`, `user/password: abc` and `/password:abc`, an option of a command.
    private func isFile(_ name: Name) -> Bool {
        let floor = max(floor, nameFloor)
        let end = name.range.lowerBound
        func isSlash(_ index: Int) -> Bool { index >= floor && bytes[index] == UInt8(ascii: "/") }
        guard !name.isQuoted, isSlash(end - 1), !isSlash(end - 2) else { return false }
        var start = end - 1
        while start > floor, end - start < Self.maxNameLength, kind(start - 1).isName || isSlash(start - 1) {
            start -= 1
        }
        guard isSlash(start) || bytes[start] == UInt8(ascii: ".") else { return false }
        return start < end - 1 || kind(position).isBlank
    }

    private func isSecret(_ name: Name) -> Bool {
        let text = bytes[name.range]
        if text.contains(UInt8(ascii: "%")) {
            // The name may follow other escaped text: `next=%2Fpath%3Ftoken%3D…`.
            let decoded = PercentEncoding.lenientlyDecoded(bytes, in: name.range)
            let before = decoded.lastIndex { "&?#/;,".utf8.contains($0) }
            return names.contains(decoded[(before.map { $0 + 1 } ?? 0)...])
        }
        if name.isQuoted, text.contains(UInt8(ascii: "\\")) {
            return names.contains(JSONText.unescaped(bytes, in: name.range)[...])
        }
        return names.contains(text) || !name.isQuoted && endsTwoWords(name)
    }

    /// Whether the name is the second of two words that are secret together, such as `API key: …`. The first word alone
    /// must not be secret: then the text is prose about it.
    private func endsTwoWords(_ name: Name) -> Bool {
        let floor = max(floor, nameFloor)
        var lower = name.range.lowerBound
        guard lower - 1 > floor, kind(lower - 1).isBlank else { return false }
        let upper = lower - 1
        lower = upper
        while lower > floor, upper - lower < 16, isAlphanumeric(lower - 1) { lower -= 1 }
        return !names.contains(bytes[lower..<upper]) && names.contains(bytes[lower..<name.range.upperBound])
    }

    // MARK: The value

    func valueStart(after separatorEnd: Int, _ name: Name, isColon: Bool) -> Int {
        var start = separatorEnd
        // `:=`, `==`, `=>`
        while start - separatorEnd < 2, byte(start) == UInt8(ascii: "=") || !isColon && byte(start) == UInt8(ascii: ">")
        {
            start += 1
        }
        // `=&gt;`, `=\\u003e`
        if !isColon, let end = bracketEnd(start, UInt8(ascii: ">")) { start = end }
        return skipEscapedBlanks(skipBlanks(start, alsoLines: name.isQuoted))
    }

    /// Skips line breaks and tabs in JSON notation: a quote may follow them.
    private func skipEscapedBlanks(_ start: Int) -> Int {
        var index = start
        while byte(index) == UInt8(ascii: "\\") {
            var letter = index
            while byte(letter) == UInt8(ascii: "\\") { letter += 1 }
            guard "nrt".utf8.contains(byte(letter)) else { break }
            index = skipBlanks(letter + 1)
        }
        return index
    }

    private func isHeaderLine(_ name: Name) -> Bool {
        let letters = bytes[name.range].filter(\.isASCIILetter).map(\.asciiLowercased)
        return Self.lines.contains { letters.suffix($0.count) == $0[...] }
    }

    /// The ends of the names of headers whose values have several parts.
    private static let lines = ["authorization", "authentication", "authenticationinfo", "cookie"]
        .map { Array($0.utf8) }

    /// Masks the rest of the line, which ends early if the line is quoted: `-H 'Cookie: a=b; c=d' https://…`.
    private mutating func maskLine(from start: Int, _ name: Name) {
        let quote = quote(before: name.range.lowerBound, floor: floor).flatMap { kind($0.open).isQuote ? $0 : nil }
        var (stop, run) = (start, 0)
        while stop < end, !kind(stop).isLineBreak {
            if let quote, bytes[stop] == quote.meaning, run <= quote.open - quote.range.lowerBound { break }
            run = bytes[stop] == UInt8(ascii: "\\") ? run + 1 : 0
            stop += 1
        }
        if stop < end, !kind(stop).isLineBreak { stop -= run }
        if start < stop { replace(start..<stop) }
    }

    mutating func maskValue(from start: Int, _ name: Name, isEncoded: Bool) {
        var (start, name) = (start, name)
        while let quote = quote(from: start) {
            let (content, next) = quoted(by: quote)
            let isName = names.contains(bytes[content])
            replace(content)
            position = next
            // `password= "token": "abc"`: the content may be a name.
            guard isName, let value = valueStart(afterName: next) else { return }
            (start, name) = (value, Name(range: content, closing: next..<next))
        }
        if isMask(start) {
            position = start + Redaction.maskBytes.count
            return
        }
        let isComposite = byte(start) == UInt8(ascii: "{") || byte(start) == UInt8(ascii: "[")
        var stop = isComposite ? compositeEnd(start) : start
        if !isComposite || !name.isQuoted { stop = bareEnd(stop, isEncoded: isEncoded) }
        guard start < stop else { return }
        // A number or an object under a quoted name is JSON, and stays JSON.
        replace(start..<stop, with: bytes[name.closing] + Redaction.maskBytes + bytes[name.closing])
    }

    /// The index after the bracket that matches the one at `start`, or the end of the text.
    private func compositeEnd(_ start: Int) -> Int {
        // A round bracket in an object or array is only text.
        let isCall = bytes[start] == UInt8(ascii: "(")
        var index = start
        var depth = 0
        while index < end {
            switch bytes[index] {
            case UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "&"):
                let first = index
                while byte(index) == UInt8(ascii: "\\") { index += 1 }
                if let quote = quote(from: first), quote.meaning == UInt8(ascii: "\"") {
                    index = quoted(by: quote).next
                } else if index == first {
                    index += 1
                }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth == 0 { return index + 1 }
            case UInt8(ascii: "(") where isCall:
                depth += 1
            case UInt8(ascii: ")") where isCall:
                depth -= 1
                if depth == 0 { return index + 1 }
            default: break
            }
            index += 1
        }
        return end
    }

    /// The end of an unquoted value. A byte that could be part of a password ends it only if the following text does
    /// not look like its continuation.
    private func bareEnd(_ start: Int, isEncoded: Bool) -> Int {
        extended(start..<wordEnd(start, isEncoded: isEncoded), isEncoded: isEncoded)
    }

    /// The end of a secret whose first word may be a scheme or a name: `token=Bearer abc`, `password= token: abc`,
    /// `Bearer API key = abc`. Since the scanner cannot know, it masks all of it.
    func extended(_ word: Range<Int>, isEncoded: Bool = false) -> Int {
        var (start, stop) = (word.lowerBound, word.upperBound)
        while let next = nextValue(after: start..<stop) {
            if next.isLine { return lineEnd(next.start) }
            start = next.start
            if let quote = quote(from: start) {
                let (content, end) = quoted(by: quote)
                // A quoted name is followed by its value, which is also masked.
                guard names.contains(bytes[content]), let value = valueStart(afterName: end) else { return end }
                start = value
            }
            stop = valueEnd(start, isEncoded: isEncoded)
        }
        return stop
    }

    /// - Parameter hasMembers: whether a word has the arguments in its brackets, and the rest of the text if one stays
    ///   open.
    func valueEnd(_ start: Int, isEncoded: Bool, hasMembers: Bool = true) -> Int {
        if let quote = quote(from: start) { return quoted(by: quote).next }
        let isComposite = byte(start) == UInt8(ascii: "{") || byte(start) == UInt8(ascii: "[")
        return isComposite ? compositeEnd(start) : wordEnd(start, isEncoded: isEncoded, hasMembers: hasMembers)
    }

    private func nextValue(after word: Range<Int>) -> (start: Int, isLine: Bool)? {
        if kind(word.upperBound).isBlank, scheme(before: word.upperBound) != nil {
            let start = skipBlanks(word.upperBound)
            let credential = quote(from: start) == nil ? credentialStart(start) : start
            return credential < end && !(credential > start && beginsElement(credential)) ? (credential, false) : nil
        }
        var end = word.upperBound
        while end > word.lowerBound, Self.separators.contains(bytes[end - 1]) || bytes[end - 1] == UInt8(ascii: "\\") {
            end -= 1
        }
        var name = end
        while name > word.lowerBound, end - name < Self.maxNameLength, kind(name - 1).isName { name -= 1 }
        // `user[pin]`: a bracket may have ended the word.
        if end == word.upperBound { while end - name < Self.maxNameLength, kind(end).isName { end += 1 } }
        if end - name > 5, endsUnicodeEscape(name + 5) { name += 5 }
        if names.contains(bytes[name..<end]) {
            // `abc\n\u0022token\u0022: …`: an escaped quote may have ended the word.
            let quoteEnd = quote(from: end)?.range.upperBound
            guard let start = valueStart(afterName: end) ?? quoteEnd.flatMap({ valueStart(afterName: $0) }) else {
                return nil
            }
            return (start, isHeaderLine(Name(range: name..<end, closing: end..<end)))
        }
        let second = skipBlanks(end)
        var secondEnd = second
        while secondEnd - second < 16, isAlphanumeric(secondEnd) { secondEnd += 1 }
        guard name < end, end < second, second < secondEnd, names.contains(bytes[name..<secondEnd]) else { return nil }
        return valueStart(afterName: secondEnd).map { ($0, false) }
    }

    /// The start of a value after its separator; nil if there is no separator.
    private func valueStart(afterName end: Int) -> Int? {
        var index = skipBlanks(end)
        let separator = index
        while index - separator < 3, Self.separators.contains(byte(index)) { index += 1 }
        if index > separator, let end = bracketEnd(index, UInt8(ascii: ">")) { index = end }
        index = index > separator ? skipEscapedBlanks(skipBlanks(index)) : self.end
        return index < self.end ? index : nil
    }

    private static let separators = Array(":=>".utf8)

    private func wordEnd(_ start: Int, isEncoded: Bool, hasMembers: Bool = true) -> Int {
        var index = start
        while index < end {
            let kind = kind(index)
            if kind.isBlank || kind.isLineBreak { return index }
            switch bytes[index] {
            case UInt8(ascii: "&"):
                return index
            case UInt8(ascii: ","), UInt8(ascii: ";"):
                if endsValue(index) { return index }
            case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"):
                // `Token(value: "…")`, `a{"name":"pin","value":"…"}`
                if hasMembers, beginsMember(index + 1) {
                    index = compositeEnd(index)
                    continue
                }
                // `Optional("…")`
                if bytes[index] == UInt8(ascii: "("), let quote = quote(from: index + 1) {
                    index = quoted(by: quote).next
                    if byte(index) == UInt8(ascii: ")") { index += 1 }
                    continue
                }
            case UInt8(ascii: "\\"):
                let first = index
                while byte(index) == UInt8(ascii: "\\") { index += 1 }
                // Before a letter it may be part of a password, like an unescaped quote.
                if let quote = quote(from: first),
                    self.kind(index).isQuote || !isAlphanumeric(quote.range.upperBound) || beginsEntry(quote)
                {
                    return first
                }
                continue
            case UInt8(ascii: "%"):
                if isEncoded, PercentEncoding.escape(in: bytes, at: index, end: end) == UInt8(ascii: "&") {
                    return index
                }
            case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: "<"), UInt8(ascii: ">"),
                UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"):
                if !isAlphanumeric(index + 1) { return index }
                if let quote = quote(from: index), beginsEntry(quote) { return index }
            default: break
            }
            index += 1
        }
        return end
    }

    /// Whether a name and its separator start there, the name of an argument or a member.
    func beginsMember(_ start: Int) -> Bool {
        let first = skipEscapedBlanks(skipBlanks(start))
        var end = first
        if let quote = quote(from: first) {
            end = quoted(by: quote, maxLength: Self.maxNameLength).next
        } else {
            // A star: the name may have been masked.
            while end - first < Self.maxNameLength, kind(end).isName || byte(end) == UInt8(ascii: "*") { end += 1 }
        }
        return end > first && isSeparator(skipBlanks(end))
    }

    /// Whether a comma or semicolon is punctuation: another pair or nothing follows it.
    private func endsValue(_ index: Int) -> Bool {
        var next = index + 1
        let kind = kind(next)
        if next >= end || kind.isBlank || kind.isLineBreak || quote(from: next) != nil { return true }
        // A star: the following text may contain a mask of this pass or of an earlier one.
        while next - index < 64, self.kind(next).isName || byte(next) == UInt8(ascii: "*") {
            if isSeparator(next) { break }
            next += 1
        }
        return next > index + 1 && isSeparator(next)
    }

    func isSeparator(_ index: Int) -> Bool {
        let byte = byte(index)
        let meaning = byte == UInt8(ascii: "%") ? PercentEncoding.escape(in: bytes, at: index, end: end) : byte
        return meaning == UInt8(ascii: "=") || meaning == UInt8(ascii: ":")
    }
}
