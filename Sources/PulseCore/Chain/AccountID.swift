// SPDX-License-Identifier: MIT

/// The account that a call is sent for: `context.store[AccountID.self]`.
///
/// The plugin that authenticates calls sets it once for each hop, before the inner plugins run. Plugins that store
/// responses for later calls read it, so that no account gets another account's response. Nil means that no plugin
/// knows the account.
public enum AccountID: ContextKey {
    /// The account's identifier, as the app's token provider names it.
    public typealias Value = String
}

/// The account that a call must be sent for; the call is never sent for another account. Code that resends an earlier
/// call sets it, since another user may have logged in meanwhile. Without it, a call is sent for the current user.
package enum ExpectedAccount: ContextKey {
    package typealias Value = String
}
