// SPDX-License-Identifier: MIT

#if canImport(Security)
public import PulseCore
import Security

/// Stores secrets in the keychain, as generic passwords that are accessible after the first unlock since boot: a
/// background call works while the device is locked. This has not run on Apple hardware.
///
/// ```swift
/// let store = KeychainSecretStore(service: "com.example.app")
/// try store.setSecret(Data(token.utf8), for: "session")
/// let secret = try store.secret(for: "session")
/// ```
///
/// On macOS, the store uses the data protection keychain, which requires a signed app with an entitlement: in a plain
/// command-line tool every function throws ``SecretStoreFailure/Reason/notPermitted``.
public struct KeychainSecretStore: SecretStore {
    private let service: String
    private let accessGroup: String?
    private let isForThisDeviceOnly: Bool

    /// - Parameters:
    ///   - service: the name of the app's secrets. An extension that shares them uses the same name.
    ///   - accessGroup: one of the app's keychain access groups, to share secrets with other apps or extensions. Nil
    ///     searches all of the app's groups, and adds to the first.
    ///   - isForThisDeviceOnly: whether a backup that is restored on another device omits the secrets.
    public init(service: String, accessGroup: String? = nil, isForThisDeviceOnly: Bool = false) {
        self.service = service
        self.accessGroup = accessGroup
        self.isForThisDeviceOnly = isForThisDeviceOnly
    }

    public func secret(for account: String) throws -> Data? {
        try SystemKeychain().secret(of: item(account))
    }

    public func setSecret(_ secret: Data, for account: String) throws {
        try SystemKeychain().setSecret(secret, of: item(account))
    }

    public func removeSecret(for account: String) throws {
        try SystemKeychain().remove(item(account))
    }

    private func item(_ account: String) -> KeychainItem {
        KeychainItem(
            service: service, accessGroup: accessGroup, isForThisDeviceOnly: isForThisDeviceOnly, account: account)
    }
}

private struct SystemKeychain: Keychain {
    func copy(_ lookup: KeychainItem.Attributes) -> (status: Int32, data: Data?) {
        var result: CFTypeRef?
        let status = SecItemCopyMatching(lookup.dictionary, &result)
        return (status, result as? Data)
    }

    func add(_ addition: KeychainItem.Attributes) -> Int32 {
        SecItemAdd(addition.dictionary, nil)
    }

    func update(_ query: KeychainItem.Attributes, to changes: KeychainItem.Attributes) -> Int32 {
        SecItemUpdate(query.dictionary, changes.dictionary)
    }

    func delete(_ query: KeychainItem.Attributes) -> Int32 {
        SecItemDelete(query.dictionary)
    }
}

extension KeychainItem.Attributes {
    fileprivate var dictionary: CFDictionary {
        var dictionary: [AnyHashable: Any] = [:]
        for (key, value) in self { dictionary[key.constant] = value.object }
        return NSDictionary(dictionary: dictionary) as CFDictionary
    }
}

extension KeychainItem.Key {
    fileprivate var constant: CFString {
        switch self {
        case .itemClass: kSecClass
        case .service: kSecAttrService
        case .account: kSecAttrAccount
        case .accessGroup: kSecAttrAccessGroup
        case .usesDataProtectionKeychain: kSecUseDataProtectionKeychain
        case .accessibility: kSecAttrAccessible
        case .data: kSecValueData
        case .returnsData: kSecReturnData
        case .matchLimit: kSecMatchLimit
        }
    }
}

extension KeychainItem.Value {
    fileprivate var object: Any {
        switch self {
        case .text(let text): text
        case .flag(let flag): flag
        case .data(let data): data
        case .genericPassword: kSecClassGenericPassword
        case .afterFirstUnlock: kSecAttrAccessibleAfterFirstUnlock
        case .afterFirstUnlockThisDeviceOnly: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
        case .one: kSecMatchLimitOne
        }
    }
}
#endif
