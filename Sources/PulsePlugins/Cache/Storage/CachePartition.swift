// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// Separates the stored responses of different users: no call gets a response stored for another user.
enum CachePartition {
    /// The partition of a request: of its account if known, since tokens change; otherwise of its credentials. Empty
    /// for a request without credentials.
    ///
    /// Without a hash function, the credentials themselves are the name. Such a partition is for memory only.
    static func name(account: String?, _ headers: [String: String], isSecret: (String) -> Bool) -> String {
        if let account { return name(account: account) }
        var credentials: [(name: String, value: String)] = []
        for (name, value) in headers where isSecret(name) { credentials.append((name, value)) }
        guard !credentials.isEmpty else { return "" }
        if credentials.count > 1 { credentials.sort { $0.name < $1.name } }
        let fingerprint = Fingerprint(credentials)
        if let last = last.withLock({ $0 }), last.fingerprint == fingerprint { return last.name }
        let text = credentials.map { "\($0.name.asciiLowercased):\($0.value)" }.sorted().joined(separator: "\n")
        guard let digest = CacheDigest.hex(text) else { return prefix + byBytes(text) }
        let name = prefix + ":" + digest
        last.withLock { $0 = (fingerprint, name) }
        return name
    }

    private static let prefix = "credentials"

    /// The name for the latest credentials, which the next call usually has too. A fingerprint replaces the
    /// credentials, which would otherwise stay in memory after a logout.
    private static let last = Locked<(fingerprint: Fingerprint, name: String)?>(nil)

    /// 128 bits. Collisions cannot be forced from outside this process.
    private struct Fingerprint: Equatable {
        let high: Int
        let low: Int

        init(_ credentials: [(name: String, value: String)]) {
            var (first, second) = (Hasher(), Hasher())
            second.combine(1 as UInt8)
            for (name, value) in credentials {
                for var text in [name, value] {
                    // Compares bytes: strings that Swift considers equal may be different credentials. The length marks
                    // where each text ends.
                    text.withUTF8 { bytes in
                        first.combine(bytes.count)
                        first.combine(bytes: UnsafeRawBufferPointer(bytes))
                        second.combine(bytes.count)
                        second.combine(bytes: UnsafeRawBufferPointer(bytes))
                    }
                }
            }
            (high, low) = (first.finalize(), second.finalize())
        }
    }

    static func name(account: String) -> String {
        "account" + byBytes(account)
    }

    /// Encodes non-ASCII names as bytes: Swift compares strings by canonical equivalence, and would treat two different
    /// accounts as one.
    private static func byBytes(_ text: String) -> String {
        text.utf8.allSatisfy { $0 < 0x80 }
            ? ":" + text : " bytes:" + text.utf8.map { String($0, radix: 16) }.joined(separator: " ")
    }

    /// A description of the first credential or `Host` of the sent request that the cache has not seen; nil if there is
    /// none. Without this check, the response would be stored for all users. Signatures belong to one request and do
    /// not identify a user.
    static func unseenCredential(in sent: URLRequest, seenIn request: URLRequest, of call: Call) -> String? {
        let (seen, url) = (request.allHTTPHeaderFields ?? [:], request.url)
        func isSecret(_ name: String) -> Bool { call.isCredential(header: name) }
        let header = sent.allHTTPHeaderFields?.first { name, value in
            isSecret(name) && !isSignature(name) && seen.header(name) != value
        }
        if let header { return "header \(header.key.asciiLowercased)" }
        let host = CacheURL.namedOrigin(in: sent.allHTTPHeaderFields, for: url)
        if let host, host != CacheURL.namedOrigin(in: seen, for: url) { return "header host" }
        // An inner plugin may have added a credential to the URL.
        guard let target = sent.url, target != url else { return nil }
        let (then, now) = (
            url.flatMap { URLComponents(url: $0, resolvingAgainstBaseURL: true) },
            URLComponents(url: target, resolvingAgainstBaseURL: true)
        )
        guard now?.percentEncodedUser == then?.percentEncodedUser,
            now?.percentEncodedPassword == then?.percentEncodedPassword
        else { return "user information in the URL" }
        let known = then?.queryItems ?? []
        let item = now?.queryItems?.first { isSecret($0.name) && !isSignature($0.name) && !known.contains($0) }
        return item.map { "query item \($0.name)" }
    }

    private static func isSignature(_ name: String) -> Bool {
        let name = name.asciiLowercased
        return name.contains("signature") || name.contains("hmac")
    }
}
