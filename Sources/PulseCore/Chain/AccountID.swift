// SPDX-License-Identifier: MIT

/// The account on whose behalf a call goes out: `context.store[AccountID.self]`.
///
/// The plugin that authenticates calls writes it, once a hop and before what stands further in. What keeps answers for
/// later calls reads it, so that no account gets another's. Nil: nobody said.
public enum AccountID: ContextKey {
    public typealias Value = String
}

/// The account that a call must go out for, or not at all: set by whoever repeats a call that was made earlier, when
/// somebody else may have been logged in. Without it a call goes out for whoever is.
package enum ExpectedAccount: ContextKey {
    package typealias Value = String
}
