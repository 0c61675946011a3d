// SPDX-License-Identifier: MIT

import PulseCore

/// A generic password in the keychain. It makes the dictionaries that the keychain's functions take, as plain values:
/// Apple's constants exist on Apple platforms only.
struct KeychainItem: Sendable {
    enum Key: Sendable, Hashable, CaseIterable {
        case itemClass, service, account, accessGroup, usesDataProtectionKeychain
        case accessibility, data
        case returnsData, matchLimit
    }

    enum Value: Sendable, Hashable {
        case text(String), flag(Bool), data(Data)
        case genericPassword
        case afterFirstUnlock, afterFirstUnlockThisDeviceOnly
        case one
    }

    typealias Attributes = [Key: Value]

    var service: String
    var accessGroup: String?
    var isForThisDeviceOnly: Bool
    var account: String

    /// What finds the item.
    var query: Attributes {
        var query: Attributes = [
            .itemClass: .genericPassword, .service: .text(service), .account: .text(account),
            // Otherwise macOS searches its older keychain, which has neither access groups nor accessibility.
            .usesDataProtectionKeychain: .flag(true),
        ]
        query[.accessGroup] = accessGroup.map { .text($0) }
        return query
    }

    /// What finds the item and returns its secret.
    var lookup: Attributes {
        query.merging([.returnsData: .flag(true), .matchLimit: .one]) { $1 }
    }

    /// What changes when the item gets another secret.
    func changes(to secret: Data) -> Attributes {
        [
            .data: .data(secret),
            .accessibility: isForThisDeviceOnly ? .afterFirstUnlockThisDeviceOnly : .afterFirstUnlock,
        ]
    }

    /// A new item with a secret.
    func addition(of secret: Data) -> Attributes {
        query.merging(changes(to: secret)) { $1 }
    }
}
