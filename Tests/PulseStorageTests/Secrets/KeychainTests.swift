// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseStorage

@Suite(.throttled)
struct KeychainTests {
    private let item = KeychainItem(
        service: "com.example.app", accessGroup: nil, isForThisDeviceOnly: false, account: "session")

    private func item(_ change: (inout KeychainItem) -> Void) -> KeychainItem {
        var item = item
        change(&item)
        return item
    }

    // MARK: Dictionaries

    @Test func aLookupHasTheseKeys() {
        #expect(
            item.lookup == [
                .itemClass: .genericPassword, .service: .text("com.example.app"), .account: .text("session"),
                .usesDataProtectionKeychain: .flag(true), .returnsData: .flag(true), .matchLimit: .one,
            ])
        let shared = item { $0.accessGroup = "ABCDE.group" }
        #expect(shared.lookup == item.lookup.merging([.accessGroup: .text("ABCDE.group")]) { $1 })
    }

    @Test func anAdditionHasTheseKeys() {
        let secret = Data("a-secret".utf8)
        #expect(
            item.addition(of: secret) == [
                .itemClass: .genericPassword, .service: .text("com.example.app"), .account: .text("session"),
                .usesDataProtectionKeychain: .flag(true), .data: .data(secret), .accessibility: .afterFirstUnlock,
            ])
        let local = item { $0.isForThisDeviceOnly = true }
        #expect(
            local.addition(of: secret)
                == item.addition(of: secret).merging([.accessibility: .afterFirstUnlockThisDeviceOnly]) { $1 })
    }

    @Test func anUpdateChangesTheSecretAndItsAccessibilityAlone() {
        let secret = Data("a-secret".utf8)
        #expect(item.changes(to: secret) == [.data: .data(secret), .accessibility: .afterFirstUnlock])
        #expect(item.query[.data] == nil && item.query[.accessibility] == nil && item.query[.returnsData] == nil)
    }

    // MARK: Functions

    @Test func fulfilsTheContract() throws {
        try SecretStoreContract.check(FakeKeychainStore())
    }

    @Test func anItemThatAnotherProcessAddsMeanwhileIsUpdated() throws {
        let keychain = FakeKeychain()
        keychain.state.withLock { $0.onMiss = Data("another".utf8) }
        try keychain.setSecret(Data("own".utf8), of: item)
        #expect(try keychain.secret(of: item) == Data("own".utf8))
        #expect(keychain.state.withLock { $0.calls } == ["update", "add", "update", "copy"])
    }

    @Test func aStatusIsATypedErrorOfItsOperation() {
        let statuses: [(Int32, SecretStoreFailure.Reason)] = [
            (-25308, .locked), (-34018, .notPermitted), (-25293, .notPermitted), (-25243, .notPermitted),
            (-26275, .damaged), (-34, .noSpace), (-25291, .system(code: -25291)), (-50, .system(code: -50)),
        ]
        for (status, reason) in statuses {
            let keychain = FakeKeychain()
            keychain.state.withLock { $0.status = status }
            #expect(throws: SecretStoreFailure(.read, reason)) { _ = try keychain.secret(of: item) }
            #expect(throws: SecretStoreFailure(.write, reason)) {
                try keychain.setSecret(Data("s3cr3t".utf8), of: item)
            }
            #expect(throws: SecretStoreFailure(.remove, reason)) { try keychain.remove(item) }
        }
    }

    @Test func aSuccessWithoutDataIsDamage() {
        let keychain = FakeKeychain()
        keychain.state.withLock { $0.status = 0 }
        #expect(throws: SecretStoreFailure(.read, .damaged)) { _ = try keychain.secret(of: item) }
    }

    @Test func aFailureTellsItsReasonInEveryText() {
        let failure = SecretStoreFailure(.write, .locked)
        let text = "writing in the secret store failed: the device has not been unlocked since it was started"
        #expect("\(failure)" == text)
        #expect(failure.localizedDescription == text)
        // The redaction leaves the reason.
        #expect("\(PulseError.custom(failure))".hasSuffix(text))
        #expect("\(SecretStoreFailure(.read, .system(code: -50)))".hasSuffix("failed: the system's error is -50"))
    }
}

/// A keychain in memory. As Apple documents: an addition of an existing item fails, as does an update of a missing one.
private final class FakeKeychain: Keychain {
    struct State {
        var items: [KeychainItem.Attributes: KeychainItem.Attributes] = [:]
        /// The status of every function.
        var status: Int32?
        /// The secret that another process adds when an update finds no item.
        var onMiss: Data?
        var calls: [String] = []
    }

    let state = Locked(State())

    func copy(_ lookup: KeychainItem.Attributes) -> (status: Int32, data: Data?) {
        state.withLock { state in
            state.calls.append("copy")
            if let status = state.status { return (status, nil) }
            var query = lookup
            guard query.removeValue(forKey: .returnsData) == .flag(true), query.removeValue(forKey: .matchLimit) == .one
            else { return (-50, nil) }
            guard case .data(let data)? = state.items[query]?[.data] else { return (-25300, nil) }
            return (0, data)
        }
    }

    func add(_ addition: KeychainItem.Attributes) -> Int32 {
        state.withLock { state in
            state.calls.append("add")
            if let status = state.status { return status }
            let query = addition.filter { ![.data, .accessibility].contains($0.key) }
            guard state.items[query] == nil else { return -25299 }
            state.items[query] = addition
            return 0
        }
    }

    func update(_ query: KeychainItem.Attributes, to changes: KeychainItem.Attributes) -> Int32 {
        state.withLock { state in
            state.calls.append("update")
            if let status = state.status { return status }
            guard state.items[query] != nil else {
                if let data = state.onMiss { state.items[query] = [.data: .data(data)] }
                return -25300
            }
            state.items[query]?.merge(changes) { $1 }
            return 0
        }
    }

    func delete(_ query: KeychainItem.Attributes) -> Int32 {
        state.withLock { state in
            state.calls.append("delete")
            if let status = state.status { return status }
            return state.items.removeValue(forKey: query) == nil ? -25300 : 0
        }
    }
}

/// As `KeychainSecretStore`, which only Apple platforms have.
private struct FakeKeychainStore: SecretStore {
    let keychain = FakeKeychain()

    func secret(for account: String) throws -> Data? { try keychain.secret(of: item(account)) }
    func setSecret(_ secret: Data, for account: String) throws { try keychain.setSecret(secret, of: item(account)) }
    func removeSecret(for account: String) throws { try keychain.remove(item(account)) }

    private func item(_ account: String) -> KeychainItem {
        KeychainItem(service: "com.example.app", accessGroup: nil, isForThisDeviceOnly: false, account: account)
    }
}
