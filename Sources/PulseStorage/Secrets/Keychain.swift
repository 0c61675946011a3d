// SPDX-License-Identifier: MIT

import PulseCore

/// The functions of the keychain, which return an `OSStatus`. Tests replace them.
protocol Keychain: Sendable {
    /// `SecItemCopyMatching`: the data of the item that a lookup finds.
    func copy(_ lookup: KeychainItem.Attributes) -> (status: Int32, data: Data?)
    /// `SecItemAdd`.
    func add(_ addition: KeychainItem.Attributes) -> Int32
    /// `SecItemUpdate`.
    func update(_ query: KeychainItem.Attributes, to changes: KeychainItem.Attributes) -> Int32
    /// `SecItemDelete`.
    func delete(_ query: KeychainItem.Attributes) -> Int32
}

/// The values of `SecBase.h` that are handled. They are part of the system's binary interface.
enum KeychainStatus {
    static let success: Int32 = 0
    static let diskFull: Int32 = -34
    static let noAccessForItem: Int32 = -25243
    static let authFailed: Int32 = -25293
    static let duplicateItem: Int32 = -25299
    static let itemNotFound: Int32 = -25300
    static let interactionNotAllowed: Int32 = -25308
    static let decode: Int32 = -26275
    static let missingEntitlement: Int32 = -34018
}

extension Keychain {
    func secret(of item: KeychainItem) throws -> Data? {
        let (status, data) = copy(item.lookup)
        switch status {
        case KeychainStatus.success:
            guard let data else { throw SecretStoreFailure(.read, .damaged) }
            return data
        case KeychainStatus.itemNotFound:
            return nil
        default:
            throw SecretStoreFailure(.read, status: status)
        }
    }

    func setSecret(_ secret: Data, of item: KeychainItem) throws {
        var status = update(item.query, to: item.changes(to: secret))
        if status == KeychainStatus.itemNotFound {
            status = add(item.addition(of: secret))
            // Another process added it in the meantime.
            if status == KeychainStatus.duplicateItem { status = update(item.query, to: item.changes(to: secret)) }
        }
        guard status == KeychainStatus.success else { throw SecretStoreFailure(.write, status: status) }
    }

    func remove(_ item: KeychainItem) throws {
        let status = delete(item.query)
        guard [KeychainStatus.success, KeychainStatus.itemNotFound].contains(status) else {
            throw SecretStoreFailure(.remove, status: status)
        }
    }
}
