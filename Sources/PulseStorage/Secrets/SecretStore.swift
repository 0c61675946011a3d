// SPDX-License-Identifier: MIT

public import PulseCore

/// A durable store of secrets by account: ``KeychainSecretStore`` on Apple platforms, ``FileSecretStore`` everywhere.
///
/// The functions may block, and are called from any thread, concurrently. They throw ``SecretStoreFailure``. A store
/// that cannot be read throws: nil means that there is no secret. A failed write leaves the old or the new secret,
/// never a part of one.
public protocol SecretStore: Sendable {
    /// The secret of an account; nil if there is none.
    func secret(for account: String) throws -> Data?

    /// Stores the secret of an account in place of an earlier one. It is durable when the function returns.
    func setSecret(_ secret: Data, for account: String) throws

    /// Removes the secret of an account; does nothing if there is none.
    func removeSecret(for account: String) throws
}
