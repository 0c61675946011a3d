// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform

/// A server's nonce and its use count (RFC 7616, section 3.4). A pure value, apart from the system's hash functions.
struct DigestSession: Sendable {
    private(set) var challenge: DigestChallenge
    private let username: String
    private let clientNonce: String
    /// The hash of name, realm and password.
    private let secret: String
    private var count: UInt32 = 0

    var nonce: String { challenge.nonce }

    /// Nil if the system lacks the challenge's hash function.
    init?(_ challenge: DigestChallenge, username: String, password: String, clientNonce: String) {
        let username = username.precomposedStringWithCanonicalMapping
        let account = "\(username):\(challenge.realm)"
        let password = password.precomposedStringWithCanonicalMapping
        guard var secret = challenge.hash.hex("\(account):\(password)") else { return nil }
        if challenge.isSession {
            guard let first = challenge.hash.hex("\(secret):\(challenge.nonce):\(clientNonce)") else { return nil }
            secret = first
        }
        if challenge.hashesUsername {
            guard let name = challenge.hash.hex(account) else { return nil }
            self.username = name
        } else {
            self.username = username
        }
        self.challenge = challenge
        self.clientNonce = clientNonce
        self.secret = secret
    }

    /// Replaces the nonce by the server's next one (RFC 7616, section 3.5).
    mutating func adopt(_ nonce: String) {
        guard nonce != challenge.nonce else { return }
        challenge.nonce = nonce
        count = 0
    }

    /// The `Authorization` of one request. Each call counts as a use of the nonce.
    ///
    /// - Parameter target: the request's path and query, as sent.
    mutating func authorization(method: String, target: String) -> String? {
        count &+= 1
        let uses = String(count, radix: 16)
        let number = String(repeating: "0", count: 8 - uses.count) + uses
        guard let request = challenge.hash.hex("\(method):\(target)") else { return nil }
        let quality = challenge.hasQuality ? "\(number):\(clientNonce):auth:" : ""
        guard let response = challenge.hash.hex("\(secret):\(nonce):\(quality)\(request)") else { return nil }
        var parts = [
            name, "realm=" + AuthenticationField.quoted(challenge.realm), "nonce=" + AuthenticationField.quoted(nonce),
            "uri=" + AuthenticationField.quoted(target), "response=\"\(response)\"",
        ]
        if let algorithm = challenge.algorithm { parts.append("algorithm=\(algorithm)") }
        if let opaque = challenge.opaque { parts.append("opaque=" + AuthenticationField.quoted(opaque)) }
        if challenge.hasQuality { parts += ["qop=auth", "nc=\(number)", "cnonce=\"\(clientNonce)\""] }
        if challenge.hashesUsername { parts.append("userhash=true") }
        return "Digest " + parts.joined(separator: ", ")
    }

    private var name: String {
        // RFC 2617 servers support no other parameter.
        if !challenge.isUTF8 || username.utf8.allSatisfy({ $0 < 0x80 }) {
            return "username=" + AuthenticationField.quoted(username)
        }
        // RFC 8187, section 3.2.1.
        let escaped = username.addingPercentEncoding(withAllowedCharacters: .digestNameCharacters) ?? ""
        return "username*=UTF-8''\(escaped)"
    }
}

extension CharacterSet {
    fileprivate static let digestNameCharacters = CharacterSet(
        charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$&+-.^_`|~")
}

extension DigestChallenge.Hash {
    /// The hash in lower-case digits; nil if the system lacks the function, for example where MD5 is disabled.
    fileprivate func hex(_ text: String) -> String? {
        switch self {
        case .md5: SystemHashes.library?.md5(text)
        case .sha256: SystemHashes.library?.sha256(text)?.hex
        }
    }
}
