// SPDX-License-Identifier: MIT

import PulseCore

/// A server's challenge for digest authentication (RFC 7616, section 3.3), as far as it is supported.
struct DigestChallenge: Sendable, Equatable {
    enum Hash: Sendable {
        case md5, sha256
    }

    let realm: String
    var nonce: String
    let opaque: String?
    let hash: Hash
    /// The algorithm as the server spells it; nil if it names none.
    let algorithm: String?
    /// Whether name and password are hashed again with the first nonce: `-sess`.
    let isSession: Bool
    /// Whether the response covers a count and a client nonce. False is the form of RFC 2069.
    let hasQuality: Bool
    let hashesUsername: Bool
    /// Whether the server asks for UTF-8, and so supports RFC 7616.
    let isUTF8: Bool
    /// Whether name and password were correct, but the nonce was too old.
    let isStale: Bool

    /// The first supported challenge: servers list the preferred ones first (RFC 7616, section 3.7).
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
        // A list; an empty one counts as absent. `auth-int`, which also covers the body, is not supported.
        let qualities = parameters["qop"]?.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty }
        hasQuality = qualities?.isEmpty == false
        if hasQuality, qualities?.contains(where: { $0.equalsIgnoringASCIICase("auth") }) != true { return nil }
        self.realm = realm
        self.nonce = nonce
        self.algorithm = algorithm
        opaque = parameters["opaque"]
        hashesUsername = parameters["userhash"]?.equalsIgnoringASCIICase("true") == true
        isUTF8 = parameters["charset"]?.equalsIgnoringASCIICase("UTF-8") == true
        isStale = parameters["stale"]?.equalsIgnoringASCIICase("true") == true
    }
}

/// Parses authentication fields: challenges and parameter lists (RFC 9110, section 11).
enum AuthenticationField {
    /// The challenges in order, with lower-case parameter names. Unreadable parts are skipped.
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

    /// A string as a quoted string (RFC 9110, section 5.6.4).
    static func quoted(_ text: String) -> String {
        // By scalars: a quote and a combining mark would form one character.
        "\"" + text.unicodeScalars.map { $0 == "\\" || $0 == "\"" ? "\\\($0)" : "\($0)" }.joined() + "\""
    }

    /// Reads tokens with or without a value. A token without a value is a scheme. A `token68` after a scheme looks like
    /// either and is ignored.
    private struct Scanner {
        private var rest: Substring.UTF8View

        init(_ value: String) {
            rest = Substring(value).utf8
        }

        mutating func next() -> (name: String, value: String?)? {
            while let byte = rest.first {
                let name = takeWord()
                guard !name.isEmpty else {
                    // A separator or stray text.
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

        /// Takes a quoted string, without its quotes. An unterminated string extends to the end.
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
