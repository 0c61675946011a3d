// SPDX-License-Identifier: MIT

/// The names of secrets. ASCII case is ignored, and so are all ASCII characters except letters and digits. A form field
/// such as `user[pin]` is searched as a whole and by its parts.
struct SecretNames: Sendable {
    private enum Anchor: Sendable {
        case anywhere
        /// The name ends with the word.
        case end
        /// The name equals the word: for words too short or too common to be searched for inside others.
        case whole
    }

    private struct Pattern: Sendable {
        let text: [UInt8]
        let anchor: Anchor

        init(_ text: String, _ anchor: Anchor) {
            self.text = Array(text.utf8)
            self.anchor = anchor
        }
    }

    private static let anywhere = [
        "accesskey", "apikey", "applicationkey", "authkey", "cardnumber", "codeverifier", "credential", "csrf",
        "encryptionkey", "functionskey", "hmac", "jwt", "passcode", "passphrase", "passwd", "password", "privatekey",
        "secret", "sessid", "sessionid", "sessionkey", "sharedkey", "signature", "signingkey", "subscriptionkey",
        "token", "xsrf",
    ]
    private static let end = ["authorization", "cookie", "pwd"]
    private static let whole = [
        "assertion", "auth", "authentication", "authenticationinfo", "bearer", "clientassertion", "connectsid",
        "cookie2", "cookies", "cvc", "cvv", "cvv2", "otp", "pass", "pin", "proxyauthentication",
        "proxyauthenticationinfo", "samlresponse", "session", "setcookie2", "sid", "sig", "totp", "xauth",
        "xauthentication",
    ]

    /// The standard names by their first two letters. These rule out most positions in most names, and every header of
    /// every request is searched.
    private static let standard: [[Pattern]] = {
        var table = [[Pattern]](repeating: [], count: 26 * 26)
        let all =
            anywhere.map { Pattern($0, .anywhere) } + end.map { Pattern($0, .end) } + whole.map { Pattern($0, .whole) }
        for pattern in all { table[26 * letter(pattern.text[0]) + letter(pattern.text[1])].append(pattern) }
        return table
    }()

    /// For each first letter, a bit mask of the second letters that follow it in a pattern.
    private static let secondLetters: [UInt32] = (0..<26).map { first in
        (0..<26).reduce(0) { standard[26 * first + $1].isEmpty ? $0 : $0 | 1 << $1 }
    }

    /// A header that says whether credentials may be sent, but holds none.
    private static let exempt = Pattern("accesscontrolallowcredentials", .whole)

    /// The names added to the standard ones, each with at least one letter or digit.
    private var added: [Pattern]
    /// The names of items that are secret in queries and forms only: elsewhere they may be common words.
    private var addedItems: [Pattern]

    func adding(_ names: some Sequence<String>) -> SecretNames {
        adding(SecretNames(adding: names))
    }

    func adding(_ names: SecretNames) -> SecretNames {
        var more = self
        more.added += names.added
        more.addedItems += names.addedItems
        return more
    }

    /// Whether there are names beyond the standard ones.
    var hasOwn: Bool { !added.isEmpty || !addedItems.isEmpty }

    init(adding names: some Sequence<String>, items: some Sequence<String> = [String]()) {
        added = Self.patterns(names)
        addedItems = Self.patterns(items)
    }

    private static func patterns(_ names: some Sequence<String>) -> [Pattern] {
        names.map { name in
            let significant = name.utf8.lazy.map(\.asciiLowercased).filter { !Self.isIgnored($0) }
            return Pattern(String(decoding: Array(significant), as: UTF8.self), .whole)
        }
        .filter { !$0.text.isEmpty }
    }

    func contains(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        Self.secondLetters.withUnsafeBufferPointer { secondLetters in
            var isStart = true
            // The position of the previous letter, whether it starts a name, and the letters that may follow it in a
            // pattern.
            var (begin, isBeginning, seconds) = (0, false, UInt32(0))
            for (index, byte) in name.enumerated() {
                let letter = Self.letter(byte.asciiLowercased)
                if letter < 26 {
                    if seconds &>> UInt32(truncatingIfNeeded: letter) & 1 != 0,
                        matchesStandard(name, at: begin, secondLetter: letter, isBeginning)
                    {
                        return !Self.matches(Self.exempt, name, at: 0)
                    }
                    (begin, isBeginning, seconds) = (index, isStart, secondLetters[letter])
                } else if Self.isIgnored(byte) {
                    // The parts of `a[b][c]` are names as well.
                    if Self.isBracket(byte) { isStart = true }
                    continue
                } else {
                    seconds = 0
                }
                if isStart, !added.isEmpty, added.contains(where: { Self.matches($0, name, at: index) }) { return true }
                isStart = false
            }
            return false
        }
    }

    func contains(_ name: ArraySlice<UInt8>) -> Bool {
        name.withUnsafeBufferPointer { contains($0) }
    }

    /// Whether the value of that item of a query or form is secret.
    func containsItem(_ name: ArraySlice<UInt8>) -> Bool {
        if contains(name) { return true }
        return !addedItems.isEmpty
            && name.withUnsafeBufferPointer { name in addedItems.contains { Self.matches($0, name, at: 0) } }
    }

    private func matchesStandard(
        _ name: UnsafeBufferPointer<UInt8>, at index: Int, secondLetter: Int, _ isBeginning: Bool
    ) -> Bool {
        Self.standard[26 * Self.letter(name[index].asciiLowercased) + secondLetter].contains { pattern in
            (isBeginning || pattern.anchor != .whole) && Self.matches(pattern, name, at: index)
        }
    }

    private static func matches(_ pattern: Pattern, _ name: UnsafeBufferPointer<UInt8>, at start: Int) -> Bool {
        var index = start
        for byte in pattern.text {
            while index < name.count, isIgnored(name[index]) { index += 1 }
            guard index < name.count, name[index].asciiLowercased == byte else { return false }
            index += 1
        }
        if pattern.anchor == .anywhere { return true }
        while index < name.count, isIgnored(name[index]) {
            if isBracket(name[index]) { return true }
            index += 1
        }
        return index == name.count
    }

    /// The letter's number, 0 for `a`; 26 or more if it is not a lower-case letter.
    private static func letter(_ byte: UInt8) -> Int {
        Int(byte &- UInt8(ascii: "a"))
    }

    private static func isIgnored(_ byte: UInt8) -> Bool {
        byte < 0x80 && !byte.isASCIILetter && !byte.isASCIIDigit
    }

    private static func isBracket(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]")
    }
}
