// SPDX-License-Identifier: MIT

/// URLs, parsed by their own syntax (RFC 3986) instead of as prose.
extension SecretScanner {
    /// The depth to which nested URLs are searched; each level is another pass over its content.
    private static let maxDepth = 3

    /// Scans for `//user:password@host`, a URL without its scheme (RFC 3986, section 4.2).
    mutating func scanNetworkPath() {
        let start = position + 2
        position += 1
        guard byte(position) == UInt8(ascii: "/") else { return }
        // After a word it is a path with an empty segment.
        guard start - 2 == floor || !isAlphanumeric(start - 3) || isEscaped(start - 2) else { return }
        var index = start
        while index < end, !kind(index).isBlank, !kind(index).isLineBreak, !kind(index).isQuote,
            !"/?#@<>".utf8.contains(bytes[index])
        { index += 1 }
        if byte(index) == UInt8(ascii: "@") { scanURL(from: start) }
    }

    /// Masks secrets in the URL whose authority starts at `start`, in the middle of a text.
    mutating func scanURL(from start: Int) {
        var stop = lineBreakEscape(in: start..<urlEnd(start))
        // The URL is done, masked or not.
        nameFloor = stop
        if stop > start, kind(stop).isBlank, let lastName = lastName(in: start..<stop) {
            // Its value follows the blank.
            stop -= 1
            nameFloor = lastName
        }
        position = stop
        guard depth < Self.maxDepth else {
            // Such deep nesting hides something, or tries to be expensive.
            if bytes[start..<stop].contains(where: { "@=%".utf8.contains($0) }) { replace(start..<stop) }
            return
        }
        if let masked = Self.maskedURL(bytes, in: start..<stop, names: names, depth: depth) {
            replace(start..<stop, with: masked)
        }
    }

    /// The start of the name at the end of a URL, before `=` or `:`. Before a colon, the host or the last segment of
    /// the path is no name: `file:///etc/passwd: not found`.
    private func lastName(in url: Range<Int>) -> Int? {
        let sign = bytes[url.upperBound - 1]
        guard ":=".utf8.contains(sign) else { return nil }
        let delimiter = bytes[url].dropLast().lastIndex { "/?#&;,=:@".utf8.contains($0) }
        if sign == UInt8(ascii: ":"), delimiter.map({ "/@".utf8.contains(bytes[$0]) }) ?? true { return nil }
        return delimiter.map { $0 + 1 } ?? url.lowerBound
    }

    /// The start of a line break or tab in JSON notation, which ends a URL unless it is in a password; else the end.
    private func lineBreakEscape(in url: Range<Int>) -> Int {
        var start = url.lowerBound
        let authority = bytes[url].prefix { !"/?#\\".utf8.contains($0) }
        if byte(authority.endIndex) == UInt8(ascii: "\\"), !authority.contains(UInt8(ascii: "@")),
            let sign = bytes[url].lastIndex(of: UInt8(ascii: "@"))
        {
            start = sign
        }
        for index in start..<url.upperBound where bytes[index] == UInt8(ascii: "\\") {
            if "nrt".utf8.contains(byte(index + 1)) { return index }
        }
        return url.upperBound
    }

    /// The index where the URL ends. Quotes, brackets and punctuation belong to the surrounding text if no more of the
    /// URL follows.
    private func urlEnd(_ start: Int) -> Int {
        var index = start
        while index < end {
            let kind = kind(index)
            if kind.isBlank || kind.isLineBreak || "<>".utf8.contains(bytes[index]) { return index }
            if "\"'`)]},;".utf8.contains(bytes[index]), !continuesURL(index + 1) { return index }
            if bytes[index] == UInt8(ascii: "\\"), self.kind(index + 1).isQuote { return index }
            if kind.trigger == .escape, endsURL(index) { return index }
            index += 1
        }
        return end
    }

    /// Whether an escaped bracket or quote that does not belong to the URL starts there.
    private func endsURL(_ index: Int) -> Bool {
        guard let escape = escape(index) else { return false }
        return "<>".utf8.contains(escape.meaning) || !continuesURL(escape.end)
    }

    private func continuesURL(_ index: Int) -> Bool {
        index < end && (isAlphanumeric(index) || "/?#&=%@:+-_~*!$".utf8.contains(bytes[index]))
    }

    /// A URL from its authority on, with its secrets masked; nil if it has none.
    static func maskedURL(
        _ bytes: [UInt8], in range: Range<Int>, names: SecretNames, depth: Int
    ) -> Replacements.Masked? {
        var replacements = Replacements(of: bytes, in: range)
        let authority = range.lowerBound..<authorityEnd(bytes, in: range)
        var host = authority
        if let userInfo = userInfo(bytes, authority: authority, end: range.upperBound) {
            replacements.replace(userInfo)
            host = userInfo.upperBound..<authorityEnd(bytes, in: userInfo.upperBound..<range.upperBound)
        }
        // More than a host and a port: some tools put pairs there. Otherwise the port would be the value in
        // `http://token:80`.
        if !bytes[host].allSatisfy({ hostAndPort.contains($0) }),
            let masked = maskedPart(bytes, in: host, names: names, depth: depth + 1)
        {
            replacements.replace(host, with: masked)
        }
        maskPathAndQuery(bytes, in: host.upperBound..<range.upperBound, names: names, depth: depth, &replacements)
        return replacements.masked
    }

    private static let hostAndPort = ASCIISet.alphanumerics.union(ASCIISet("-._:@[]"))

    private static func authorityEnd(_ bytes: [UInt8], in range: Range<Int>) -> Int {
        bytes[range].firstIndex { byte in
            switch byte {
            case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "\\"): true
            default: false
            }
        } ?? range.upperBound
    }

    /// The range before the last `@` of the authority. If there is none and the port is not a number, a raw `/`, `?` or
    /// `#` in a password cut the authority short. Then the `@` comes later.
    private static func userInfo(_ bytes: [UInt8], authority: Range<Int>, end: Int) -> Range<Int>? {
        var sign = bytes[authority].lastIndex(of: UInt8(ascii: "@"))
        if sign == nil, let colon = bytes[authority].firstIndex(of: UInt8(ascii: ":")),
            bytes[authority.lowerBound] != UInt8(ascii: "["),
            !bytes[(colon + 1)..<authority.upperBound].allSatisfy(\.isASCIIDigit)
        {
            sign = bytes[colon..<end].lastIndex(of: UInt8(ascii: "@"))
        }
        guard let sign, sign > authority.lowerBound else { return nil }
        return authority.lowerBound..<sign
    }

    static func maskPathAndQuery(
        _ bytes: [UInt8], in range: Range<Int>, names: SecretNames, depth: Int, _ replacements: inout Replacements
    ) {
        let pathEnd = bytes[range].firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? range.upperBound
        let path = range.lowerBound..<pathEnd
        if let masked = maskedPart(bytes, in: path, names: names, depth: depth + 1) {
            replacements.replace(path, with: masked)
        }
        var start = pathEnd
        while start < range.upperBound {
            // The query, then the fragment, which OAuth uses for tokens (RFC 6749, section 4.2.2).
            let next = bytes[(start + 1)..<range.upperBound].firstIndex(of: UInt8(ascii: "#")) ?? range.upperBound
            maskItems(bytes, in: (start + 1)..<next, names: names, depth: depth, &replacements)
            start = next
        }
    }

    /// Masks secrets in `name=value&name=value`, the syntax of queries and forms.
    static func maskItems(
        _ bytes: [UInt8], in range: Range<Int>, names: SecretNames, depth: Int, _ replacements: inout Replacements
    ) {
        var start = range.lowerBound
        while start < range.upperBound {
            let end = bytes[start..<range.upperBound].firstIndex(of: UInt8(ascii: "&")) ?? range.upperBound
            let sign = bytes[start..<end].firstIndex(of: UInt8(ascii: "="))
            if let sign, hasSecret(bytes, in: start..<sign, names, depth) {
                // Text that is not a pair may have its secret on both sides of the sign: `{"password":"a=b"}`.
                replacements.replace(start..<end)
            } else if let sign, isSecretItem(bytes, start..<sign, names) {
                if sign + 1 < end { replacements.replace((sign + 1)..<end) }
            } else {
                maskItemText(
                    bytes, in: start..<end, valueStart: sign.map { $0 + 1 } ?? start, names, depth, &replacements)
            }
            start = end + 1
        }
    }

    private static func isSecretItem(_ bytes: [UInt8], _ name: Range<Int>, _ names: SecretNames) -> Bool {
        // The fragment of a single-page app may contain a query: `#/login?token=…`.
        let decoded = PercentEncoding.lenientlyDecoded(bytes, in: name)
        // The name may follow the rest of an escaped `&`: `&amp;` in markup, `\u0026` in a script.
        let start = decoded.lastIndex { itemStarts.contains($0) }
        var own = decoded[(start.map { $0 + 1 } ?? 0)...]
        if start.map({ decoded[$0] == UInt8(ascii: "\\") }) == true, own.starts(with: ampersandInScript) {
            own = own.dropFirst(ampersandInScript.count)
        }
        return names.containsItem(own)
    }

    private static let itemStarts = Array("?/;\\".utf8)
    private static let ampersandInScript = Array("u0026".utf8)

    /// Masks secrets in an item whose name is not secret: a nested URL, or a bare token.
    private static func maskItemText(
        _ bytes: [UInt8], in item: Range<Int>, valueStart: Int, _ names: SecretNames, _ depth: Int,
        _ replacements: inout Replacements
    ) {
        let value = valueStart..<item.upperBound
        if hasEscapes(bytes[value]) {
            // A secret found after decoding has no range in the escaped text, so the whole value is masked.
            if hasSecret(bytes, in: value, names, depth) { replacements.replace(value) }
        } else if let masked = maskedPart(bytes, in: value, names: names, depth: depth + 1) {
            replacements.replace(value, with: masked)
        }
    }

    /// Whether the name or value of an item contains a secret, as written or after decoding.
    private static func hasSecret(_ bytes: [UInt8], in range: Range<Int>, _ names: SecretNames, _ depth: Int) -> Bool {
        if masked(bytes, in: range, names: names, depth: depth + 1) != nil { return true }
        guard hasEscapes(bytes[range]) else { return false }
        let decoded = PercentEncoding.lenientlyDecoded(bytes, in: range, plusIsSpace: true)
        return masked(decoded, in: 0..<decoded.count, names: names, depth: depth + 1) != nil
    }

    private static func hasEscapes(_ text: ArraySlice<UInt8>) -> Bool {
        text.contains { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }
    }
}
