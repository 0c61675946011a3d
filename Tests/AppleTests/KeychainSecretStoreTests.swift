// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage
import Testing

/// The keychain, as far as a process without an app's entitlements gets.
@Suite(.serialized, .timeLimit(.minutes(15)))
struct KeychainSecretStoreTests {
    private let store = KeychainSecretStore(service: "PulseKit.AppleTests.\(UUID().uuidString)")

    @Test func aSecretIsReadReplacedAndRemovedOrEveryFunctionIsRefused() throws {
        do {
            try store.setSecret(Data("first".utf8), for: "session")
        } catch let failure as SecretStoreFailure where failure.reason == .notPermitted {
            #expect(throws: SecretStoreFailure(.read, .notPermitted)) { try store.secret(for: "session") }
            #expect(throws: SecretStoreFailure(.remove, .notPermitted)) { try store.removeSecret(for: "session") }
            return
        }
        #expect(try store.secret(for: "session") == Data("first".utf8))
        try store.setSecret(Data("second".utf8), for: "session")
        #expect(try store.secret(for: "session") == Data("second".utf8))
        #expect(try store.secret(for: "another") == nil)
        try store.removeSecret(for: "session")
        #expect(try store.secret(for: "session") == nil)
        try store.removeSecret(for: "session")
    }
}
