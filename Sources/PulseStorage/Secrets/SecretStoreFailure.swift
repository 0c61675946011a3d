// SPDX-License-Identifier: MIT

public import PulseCore

/// The reason why a secret could not be read, written or removed. It holds neither the secret nor its account.
///
/// It reaches callers inside ``PulseError/custom(_:)``.
public struct SecretStoreFailure: Error, Sendable, Hashable {
    /// An operation of a store.
    public enum Operation: Sendable, Hashable {
        /// Reading a secret.
        case read
        /// Storing a secret.
        case write
        /// Removing a secret.
        case remove
    }

    /// The reason for a failure.
    public enum Reason: Sendable, Hashable {
        /// The device has not been unlocked since it was started. Try again later.
        case locked
        /// The file belongs to another user, or the app lacks the entitlement for the keychain or its access group.
        /// On a device that has not been unlocked since it was started, a file is not permitted either.
        case notPermitted
        /// Other users may read the file or change its directory, or the file is a symbolic link. Another user may know
        /// the secret, or have planted it.
        case notPrivate
        /// The stored bytes are corrupt. They stay until the secret is written again or removed.
        case damaged
        /// The account's name is too long for a file.
        case invalidAccount
        /// The secret is larger than the store allows.
        case tooLarge
        /// The disk, or the user's quota, is full.
        case noSpace
        /// Any other failure, with the system's error number: an `OSStatus` of the keychain, an `errno` of a file.
        case system(code: Int32)
    }

    /// The operation that failed.
    public let operation: Operation
    /// Why it failed.
    public let reason: Reason

    /// Creates a failure, for a custom store.
    public init(_ operation: Operation, _ reason: Reason) {
        self.operation = operation
        self.reason = reason
    }
}

extension SecretStoreFailure {
    init(_ operation: Operation, because failure: JournalFailure) {
        let reason: Reason =
            switch failure {
            case .noSpace: .noSpace
            case .notPermitted: .notPermitted
            case .notPrivate: .notPrivate
            // A symbolic link.
            case .system(_, ELOOP): .notPrivate
            default: failure.code.map { .system(code: $0) } ?? .damaged
            }
        self.init(operation, reason)
    }

    /// - Parameter status: an `OSStatus` of `SecBase.h`, which other platforms lack.
    init(_ operation: Operation, status: Int32) {
        let reason: Reason =
            switch status {
            case KeychainStatus.interactionNotAllowed: .locked
            case KeychainStatus.missingEntitlement, KeychainStatus.authFailed, KeychainStatus.noAccessForItem:
                .notPermitted
            case KeychainStatus.decode: .damaged
            case KeychainStatus.diskFull: .noSpace
            default: .system(code: status)
            }
        self.init(operation, reason)
    }
}

extension SecretStoreFailure: CustomStringConvertible, LocalizedError {
    public var description: String {
        let work =
            switch operation {
            case .read: "reading"
            case .write: "writing"
            case .remove: "removing"
            }
        return "\(work) in the secret store failed: \(reason.text)"
    }

    public var errorDescription: String? { description }
}

extension SecretStoreFailure.Reason {
    fileprivate var text: String {
        switch self {
        case .locked: "the device has not been unlocked since it was started"
        case .notPermitted: "the app may not use it"
        case .notPrivate: "other users may read or replace it"
        case .damaged: "the stored bytes are damaged"
        case .invalidAccount: "the account's name is too long"
        case .tooLarge: "the data is too large"
        case .noSpace: "there is no space left on the disk"
        case .system(let code): "the system's error is \(code)"
        }
    }
}
