// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// Keeps the answers of users apart: nobody is ever given what was stored for somebody else.
enum CachePartition {
    /// The partition of a request as the cache sees it: of the account if one is known, since its tokens change, else
    /// of the credentials that the request carries; empty for a request without any.
    ///
    /// Without a hash function the credentials themselves are the name: such a partition is for memory alone.
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

    /// The name for the credentials seen last, which are mostly those of the next call too. A fingerprint stands for
    /// them, since they would stay in memory after a logout.
    private static let last = Locked<(fingerprint: Fingerprint, name: String)?>(nil)

    /// 128 bits that nobody outside this process can make collide.
    private struct Fingerprint: Equatable {
        let high: Int
        let low: Int

        init(_ credentials: [(name: String, value: String)]) {
            var (first, second) = (Hasher(), Hasher())
            second.combine(1 as UInt8)
            for (name, value) in credentials {
                for var text in [name, value] {
                    // As bytes, since two texts that Swift calls equal may be two credentials. With their length, which
                    // tells where each ends.
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

    /// By bytes where they matter: Swift compares texts by characters, and would take two such accounts for one.
    private static func byBytes(_ text: String) -> String {
        text.utf8.allSatisfy { $0 < 0x80 }
            ? ":" + text : " bytes:" + text.utf8.map { String($0, radix: 16) }.joined(separator: " ")
    }

    /// The first credential of the sent request that the cache did not see, in words: the answer would be stored where
    /// others find it. Signatures are for one request only and tell no users apart.
    static func unseenCredential(
        in sent: URLRequest, seen: [String: String], at url: URL?, isSecret: (String) -> Bool
    ) -> String? {
        let header = sent.allHTTPHeaderFields?.first { name, value in
            isSecret(name) && !isSignature(name) && seen.header(name) != value
        }
        if let header { return "header \(header.key.asciiLowercased)" }
        // A plugin further in may have put it into the URL.
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
