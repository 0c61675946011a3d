// SPDX-License-Identifier: MIT

/// Credentials anywhere in a text: `Bearer …`, `Basic …`, `Digest …` (RFC 9110, section 11.4).
extension SecretScanner {
    static let schemes = ["bearer", "basic", "digest", "negotiate", "ntlm", "apikey"].map { Array($0.utf8) }

    /// Words that follow a scheme in prose: "the Bearer token is missing".
    private static let prose = Set(
        [
            "and", "auth", "authentication", "authorization", "challenge", "credential", "credentials", "error", "for",
            "format", "from", "header", "headers", "in", "is", "not", "of", "or", "scheme", "the", "to", "token",
            "tokens",
            "was", "with",
        ].map { Array($0.utf8) })

    private static let challengeParameters = [
        "realm", "scope", "error", "error_description", "charset", "resource_metadata",
    ]
    .map { Array($0.utf8) }

    /// Scans for a credential after the blank at the current position.
    ///
    /// - Parameter width: the length of the blank: 1, or 3 if it is percent-encoded.
    mutating func scanCredentials(width: Int) {
        let blank = position
        position += width
        guard let scheme = scheme(before: blank) else { return }
        let start = credentialStart(skipBlanks(position))
        let stop = credentialEnd(start)
        guard start < stop, !isMask(start) else { return }
        if start > skipBlanks(position), quote(from: skipBlanks(position)) == nil, beginsElement(start) { return }
        if scheme == Array("digest".utf8), bytes[start..<stop].contains(UInt8(ascii: "=")) {
            // Its parameters allow guessing the password offline.
            replace(start..<lineEnd(start))
        } else if !isChallenge(start..<stop),
            isCredential(bytes[start..<stop], of: bytes[(blank - scheme.count)..<blank])
        {
            replace(start..<extended(start..<stop))
        }
    }

    func scheme(before blank: Int) -> [UInt8]? {
        guard blank > floor, isAlphanumeric(blank - 1) else { return nil }
        for scheme in Self.schemes where scheme.last == bytes[blank - 1].asciiLowercased {
            let start = blank - scheme.count
            guard matches(scheme, at: start) else { continue }
            return start == floor || !isAlphanumeric(start - 1) || isEscaped(start) ? scheme : nil
        }
        return nil
    }

    /// Whether a mask of an earlier pass begins at `start`, possibly followed by punctuation.
    func isMask(_ start: Int) -> Bool {
        bytes[start..<end].starts(with: Redaction.maskBytes) && !kind(start + Redaction.maskBytes.count).isBase64URL
    }

    /// Whether the word after an angle bracket is a secret name: then the element's content is the secret.
    func beginsElement(_ start: Int) -> Bool {
        names.contains(bytes[start..<credentialEnd(start)])
    }

    /// The index after an optional quote or angle bracket around the text that follows a scheme.
    func credentialStart(_ start: Int) -> Int {
        if let quote = quote(from: start) { return quote.range.upperBound }
        return bracketEnd(start, UInt8(ascii: "<")) ?? start
    }

    private func credentialEnd(_ start: Int) -> Int {
        var index = start
        while index < end {
            let kind = kind(index)
            if kind.isBlank || kind.isLineBreak || kind.isQuote || ",;)]}<>&\\".utf8.contains(bytes[index]) { break }
            if "([{".utf8.contains(bytes[index]), beginsMember(index + 1) { break }
            index += 1
        }
        return index
    }

    /// Whether the word starts a challenge, `Bearer realm="…", error="…"`, which a server sends and is not secret.
    private func isChallenge(_ word: Range<Int>) -> Bool {
        guard let sign = bytes[word].firstIndex(of: UInt8(ascii: "=")) else { return false }
        return Self.challengeParameters.contains(bytes[word.lowerBound..<sign].map(\.asciiLowercased))
    }

    private func isCredential(_ text: ArraySlice<UInt8>, of scheme: ArraySlice<UInt8>) -> Bool {
        var word = text
        while let last = word.last, ".:!?".utf8.contains(last) { word.removeLast() }
        if Self.prose.contains(word.map(\.asciiLowercased)) { return false }
        // The word ends with a mask: its credential has already been masked.
        if word.last == Redaction.maskBytes.last, word.suffix(Redaction.maskBytes.count) == Redaction.maskBytes[...] {
            return false
        }
        // A capitalized `Bearer` is hardly prose; `Basic` starts sentences.
        if scheme.elementsEqual("Bearer".utf8) { return true }
        // A star is part of a mask: a credential in the word has already been masked.
        if word.contains(UInt8(ascii: "*")) { return false }
        return word.count >= 20
            || word.dropFirst().contains {
                $0.isASCIIDigit || $0 &- UInt8(ascii: "A") < 26 || "+/=_.~|:".utf8.contains($0)
            }
    }
}
