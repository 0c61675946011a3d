// SPDX-License-Identifier: MIT

import PulseKit
import Security
import TestSupport
import Testing

/// What the store puts into the keychain. `KeychainSecretStoreTests` of Tests/AppleTests run beside it.
@Suite(.throttled)
struct KeychainItemTests {
    private let service = "PulseKit.\(UUID().uuidString)"

    @Test func anItemIsFoundByItsServiceAndAccountAlone() throws {
        let (store, other) = (KeychainSecretStore(service: service), KeychainSecretStore(service: service + ".other"))
        try store.setSecret(Data("a".utf8), for: "session")
        try store.setSecret(Data("b".utf8), for: "refresh")
        #expect(try store.secret(for: "session") == Data("a".utf8))
        #expect(try store.secret(for: "refresh") == Data("b".utf8))
        #expect(try other.secret(for: "session") == nil)
        try store.removeSecret(for: "session")
        #expect(try store.secret(for: "session") == nil)
        #expect(try store.secret(for: "refresh") == Data("b".utf8))
    }

    @Test func groupsAreSearchedAllOrOneByOne() throws {
        let (first, second) = (
            KeychainSecretStore(service: service, accessGroup: "one"),
            KeychainSecretStore(service: service, accessGroup: "two")
        )
        try first.setSecret(Data("a".utf8), for: "session")
        #expect(try second.secret(for: "session") == nil)
        #expect(try KeychainSecretStore(service: service).secret(for: "session") == Data("a".utf8))
        #expect(KeychainItems.values(of: kSecAttrAccessGroup, service: service) == ["one"])
    }

    @Test(arguments: [(false, "ck"), (true, "cku")])
    func anItemIsReadableAfterTheFirstUnlock(isForThisDeviceOnly: Bool, accessibility: String) throws {
        let store = KeychainSecretStore(service: service, isForThisDeviceOnly: isForThisDeviceOnly)
        try store.setSecret(Data("a".utf8), for: "session")
        try store.setSecret(Data("b".utf8), for: "session")
        #expect(KeychainItems.values(of: kSecAttrAccessible, service: service) == [accessibility])
        #expect(KeychainItems.values(of: kSecUseDataProtectionKeychain, service: service) == ["1"])
        #expect(KeychainItems.values(of: kSecClass, service: service) == ["genp"])
    }

    @Test func tokensAreKeptInTheKeychain() async throws {
        let make = { @Sendable () in
            TokenStore(account: "session", service: service) { _ in throw PulseError.cancelled }
        }
        try await make().logIn(TokenStore.Tokens(accessToken: "a", refreshToken: "r"))
        #expect(try await make().accessToken() == "a")
        #expect(KeychainItems.values(of: kSecAttrAccount, service: service) == ["session"])
    }
}
