// SPDX-License-Identifier: MIT

/// The account on whose behalf a call goes out: `context.store[AccountID.self]`.
///
/// The plugin that authenticates calls writes it, once for each hop and before the plugins further in run. Plugins that
/// keep answers for later calls read it, so that no account gets another's. Nil means that no plugin knows the account.
public enum AccountID: ContextKey {
    /// The account's identifier, as the app's token provider names it.
    public typealias Value = String
}

/// The account that a call must go out for, or not at all. It is set by code that repeats an earlier call, when another
/// user may have logged in since. Without it a call goes out for whoever is logged in.
package enum ExpectedAccount: ContextKey {
    package typealias Value = String
}
