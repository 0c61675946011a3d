// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// Whose answers are whose: nobody is ever given what was stored for somebody else.
enum CachePartition {
    /// The partition of a request as the cache sees it: of the account if one is known, since its tokens change, else of
    /// the credentials that the request carries; empty for a request without any.
    ///
    /// Without a hash function the credentials themselves are the name: such a partition is for memory alone.
    static func name(account: String?, _ headers: [String: String], isSecret: (String) -> Bool) -> String {
        if let account { return name(account: account) }
        var credentials: [String] = []
        for (name, value) in headers where isSecret(name) {
            credentials.append("\(name.asciiLowercased):\(value)")
        }
        guard !credentials.isEmpty else { return "" }
        let text = credentials.sorted().joined(separator: "\n")
        return "credentials:" + (digest(of: text) ?? text)
    }

    /// Of the credentials that were seen last, which are mostly those of the next call too. Not the credentials: they would
    /// stay in memory after a logout.
    private static let last = Locked<(fingerprint: Fingerprint, digest: String)?>(nil)

    /// 128 bits that nobody outside of this process can make collide.
    private struct Fingerprint: Equatable {
        let high: Int
        let low: Int

        init(_ text: String) {
            (high, low) = (Self.half(text, 0), Self.half(text, 1))
        }

        private static func half(_ text: String, _ salt: Int) -> Int {
            var (hasher, text) = (Hasher(), text)
            hasher.combine(salt)
            // As bytes: two texts that Swift calls equal may be two credentials.
            text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
            return hasher.finalize()
        }
    }

    private static func digest(of text: String) -> String? {
        let fingerprint = Fingerprint(text)
        if let last = last.withLock({ $0 }), last.fingerprint == fingerprint { return last.digest }
        guard let digest = CacheDigest.hex(text) else { return nil }
        last.withLock { $0 = (fingerprint, digest) }
        return digest
    }

    static func name(account: String) -> String {
        "account:" + account
    }

    /// The first header by which the request that was sent carries a credential that the cache did not see: an answer to
    /// it would be stored where others find it. Signatures are for one request alone and tell nobody apart.
    static func unseenCredential(
        in sent: [String: String], seen: [String: String], isSecret: (String) -> Bool
    ) -> String? {
        sent.first { name, value in
            isSecret(name) && !isSignature(name) && seen.header(name) != value
        }?.key
    }

    private static func isSignature(_ name: String) -> Bool {
        let name = name.asciiLowercased
        return name.contains("signature") || name.contains("hmac")
    }
}
