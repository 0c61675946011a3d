// SPDX-License-Identifier: MIT

import PulseCore

/// A generic password in the keychain. It builds the dictionaries for the keychain's functions from plain values,
/// because Apple's constants exist on Apple platforms only.
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

    /// The query that matches the item.
    var query: Attributes {
        var query: Attributes = [
            .itemClass: .genericPassword, .service: .text(service), .account: .text(account),
            // Otherwise macOS searches its older keychain, which has neither access groups nor accessibility.
            .usesDataProtectionKeychain: .flag(true),
        ]
        query[.accessGroup] = accessGroup.map { .text($0) }
        return query
    }

    /// The query that matches the item and returns its secret.
    var lookup: Attributes {
        query.merging([.returnsData: .flag(true), .matchLimit: .one]) { $1 }
    }

    /// The attributes to update when the secret is replaced.
    func changes(to secret: Data) -> Attributes {
        [
            .data: .data(secret),
            .accessibility: isForThisDeviceOnly ? .afterFirstUnlockThisDeviceOnly : .afterFirstUnlock,
        ]
    }

    /// The attributes of a new item.
    func addition(of secret: Data) -> Attributes {
        query.merging(changes(to: secret)) { $1 }
    }
}
