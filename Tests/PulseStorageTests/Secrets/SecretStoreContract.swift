// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage
import Testing

/// What every secret store promises.
enum SecretStoreContract {
    static func check(_ store: any SecretStore) throws {
        let accounts = [
            "session", "Session", "a.b", "a_b", "a/b", "../a", ".", "..", "", "ada@example.com", "Grüße", "a\0b", "_61",
            String(repeating: "Ä", count: 40),
        ]
        for account in accounts {
            #expect(try store.secret(for: account) == nil)
            try store.removeSecret(for: account)
        }
        for (index, account) in accounts.enumerated() { try store.setSecret(secret(index), for: account) }
        for (index, account) in accounts.enumerated() {
            #expect(try store.secret(for: account) == secret(index))
            try store.setSecret(secret(index + 1), for: account)
            #expect(try store.secret(for: account) == secret(index + 1))
        }
        for (index, account) in accounts.enumerated() {
            #expect(try store.secret(for: account) == secret(index + 1))
            try store.removeSecret(for: account)
            #expect(try store.secret(for: account) == nil)
        }
    }

    /// All bytes, and line breaks; the first one is empty.
    private static func secret(_ index: Int) -> Data {
        Data((0..<(100 * index)).map { UInt8(truncatingIfNeeded: $0 &* (index + 1)) })
    }
}
