// SPDX-License-Identifier: MIT

import PulseCore

/// A server's challenge for digest authentication (RFC 7616, section 3.3), as far as it can be answered here.
struct DigestChallenge: Sendable, Equatable {
    enum Hash: Sendable {
        case md5, sha256
    }

    let realm: String
    var nonce: String
    let opaque: String?
    let hash: Hash
    /// The algorithm as the server spells it, nil if it names none.
    let algorithm: String?
    /// Name and password are hashed once more with the first nonce: `-sess`.
    let isSession: Bool
    /// The answer covers a count and a nonce of the client's; without it is the form of RFC 2069.
    let hasQuality: Bool
    let hashesUsername: Bool
    /// Name and password were right, the nonce was too old.
    let isStale: Bool

    /// The first challenge that can be answered: servers list what they prefer first (RFC 7616, section 3.7).
    static func first(in headers: HTTPHeaders) -> DigestChallenge? {
        for value in headers.values(for: "WWW-Authenticate") {
            for (scheme, parameters) in AuthenticationField.challenges(in: value)
            where scheme.equalsIgnoringASCIICase("Digest") {
                if let challenge = DigestChallenge(parameters) { return challenge }
            }
        }
        return nil
    }

    init?(_ parameters: [String: String]) {
        guard let realm = parameters["realm"], let nonce = parameters["nonce"] else { return nil }
        let algorithm = parameters["algorithm"]
        switch (algorithm ?? "MD5").asciiLowercased {
        case "md5": (hash, isSession) = (.md5, false)
        case "md5-sess": (hash, isSession) = (.md5, true)
        case "sha-256": (hash, isSession) = (.sha256, false)
        case "sha-256-sess": (hash, isSession) = (.sha256, true)
        default: return nil
        }
        // A list; `auth-int`, which covers the body too, is not supported.
        let qualities = parameters["qop"]?.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        if let qualities, !qualities.contains(where: { $0.equalsIgnoringASCIICase("auth") }) { return nil }
        hasQuality = qualities != nil
        self.realm = realm
        self.nonce = nonce
        self.algorithm = algorithm
        opaque = parameters["opaque"]
        hashesUsername = parameters["userhash"]?.equalsIgnoringASCIICase("true") == true
        isStale = parameters["stale"]?.equalsIgnoringASCIICase("true") == true
    }
}

/// The fields of authentication: challenges, and lists of parameters (RFC 9110, section 11).
enum AuthenticationField {
    /// The challenges in their order, their parameters under names in lower case. What cannot be read is left out.
    static func challenges(in value: String) -> [(scheme: String, parameters: [String: String])] {
        var challenges: [(scheme: String, parameters: [String: String])] = []
        var scanner = Scanner(value)
        while let element = scanner.next() {
            if let text = element.value {
                guard !challenges.isEmpty else { continue }
                challenges[challenges.count - 1].parameters[element.name.asciiLowercased] = text
            } else {
                challenges.append((element.name, [:]))
            }
        }
        return challenges
    }

    /// The parameters of a field without a scheme, such as `Authentication-Info`.
    static func parameters(in value: String) -> [String: String] {
        var parameters: [String: String] = [:]
        var scanner = Scanner(value)
        while let element = scanner.next() {
            if let text = element.value { parameters[element.name.asciiLowercased] = text }
        }
        return parameters
    }

    /// A text as a quoted string (RFC 9110, section 5.6.4).
    static func quoted(_ text: String) -> String {
        // By scalars: a combining mark behind a quote makes one character of both.
        "\"" + text.unicodeScalars.map { $0 == "\\" || $0 == "\"" ? "\\\($0)" : "\($0)" }.joined() + "\""
    }

    /// Reads words, and words with a value. A lone word is a scheme; behind it may stand a `token68`, which looks like
    /// either and means nothing here.
    private struct Scanner {
        private var rest: Substring.UTF8View

        init(_ value: String) {
            rest = Substring(value).utf8
        }

        mutating func next() -> (name: String, value: String?)? {
            while let byte = rest.first {
                let name = takeWord()
                guard !name.isEmpty else {
                    // A separator, or what belongs to nothing.
                    if byte == UInt8(ascii: "\"") { _ = takeQuoted() } else { rest = rest.dropFirst() }
                    continue
                }
                skipBlanks()
                guard rest.first == UInt8(ascii: "=") else { return (name, nil) }
                rest = rest.dropFirst()
                skipBlanks()
                return (name, rest.first == UInt8(ascii: "\"") ? takeQuoted() : takeWord())
            }
            return nil
        }

        private mutating func skipBlanks() {
            rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        }

        private mutating func takeWord() -> String {
            let word = rest.prefix { ASCIISet.token.contains($0) }
            rest = rest.dropFirst(word.count)
            return String(Substring(word))
        }

        /// Without its quotes; one that does not end goes up to the end.
        private mutating func takeQuoted() -> String {
            rest = rest.dropFirst()
            var bytes: [UInt8] = []
            while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
                bytes.append(byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte)
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}
